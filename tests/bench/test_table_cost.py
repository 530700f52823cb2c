"""The cost table has a row a method and counts what a step holds; how long steps take is not tested."""

import csv
import json

import pytest
import torch

from hecka import InputError
from hecka.bench.table_cost import METHODS, OneStep, table_cost
from hecka.types import Batch


def test_every_method_stands_beside_the_paper_and_a_narrow_network_says_so(tmp_path):
    printed = table_cost(members=(2, 5), width=2, batch_size=4, repeats=1, device="cpu", out=tmp_path)
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [(row["method"], row["members"]) for row in rows] == [(name, count) for count in (2, 5) for name in METHODS]
    assert [row["ratio"] for row in rows if row["method"] == "Deep Ensemble"] == [1.0, 1.0]
    lines = list(csv.reader((tmp_path / "table.csv").read_text().splitlines()))
    assert lines[10][:2] == ["HE-CKA", "5"]
    assert (lines[10][3], lines[10][5], lines[10][7]) == ("1.65", "163 ± 34", "2.17")
    assert lines[5][3] == "-"  # the paper has no ensemble of two
    assert printed.count("width 2 instead of 64") == 10
    assert printed.count("batches of 4 instead of 128") == 10


def test_what_is_held_is_members_gradients_momentum_and_statistics():
    batch = Batch(torch.randn(4, 3, 32, 32), torch.arange(4))
    step = OneStep(METHODS["Deep Ensemble"], 2, 2, batch)
    weights = sum(each.numel() for each in step.ensemble.parameters())
    statistics = sum(each.nbytes for each in step.ensemble.buffers())
    assert step.held() == 4 * weights + statistics
    step()
    assert step.held() == 3 * 4 * weights + statistics


def test_counts_below_one_are_refused(tmp_path):
    with pytest.raises(InputError, match="members to be at least 1"):
        table_cost(members=(0,), out=tmp_path)
