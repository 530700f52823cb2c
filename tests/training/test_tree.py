import json

import pytest
import torch

from hecka.errors import InputError
from hecka.training.tree import pack, unpack


def test_a_tree_survives_json_with_all_its_types():
    tree = {
        "groups": [{"lr": 0.1, "betas": (0.9, 0.999), "fused": None, "params": [0, 1]}],
        "state": {0: {"step": torch.tensor(3.0), "name": "a"}, 1: {"on": True}},
        "empty": ({}, [], ()),
        "0": float("inf"),
    }
    skeleton, tensors = pack(tree)
    again = unpack(json.loads(json.dumps(skeleton)), tensors.__getitem__)
    assert again["state"][0].pop("step") == tree["state"][0].pop("step") == 3.0
    assert again == tree
    assert list(tensors) == ["state/0/step"]


def test_equal_looking_paths_stay_apart():
    tree = {"a": {"b": torch.zeros(1)}, "a/b": torch.ones(1)}
    with pytest.raises(InputError, match="a/b"):
        pack(tree)


@pytest.mark.parametrize("leaf", [object(), {1.5: 2}, {"x": {3}}])
def test_what_json_cannot_hold_is_refused_with_its_place(leaf):
    with pytest.raises(InputError, match=r"at 'top(/x)?'"):
        pack({"top": leaf})
