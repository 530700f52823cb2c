"""Settings as JSON, and back to the very same."""

import json
from pathlib import Path

import pytest

from hecka.errors import InputError
from hecka.experiments.methods import IndependentSettings, ParticleSettings, RepulsiveSettings, TermSettings
from hecka.experiments.plain import differences, from_plain, to_plain
from hecka.experiments.recipe import DataSettings, HypernetworkSettings, MembersSettings, NetworkSettings, Recipe

RECIPE = Recipe(
    "mine",
    DataSettings("mnist", root=Path("a/b")),
    NetworkSettings("mlp", width=3, taps=("a", "b")),
    MembersSettings(2, HypernetworkSettings(widths=())),
    start_from=Path("run"),
    ood=("x",),
)


@pytest.mark.parametrize(
    "method",
    [
        IndependentSettings(),
        RepulsiveSettings(),
        RepulsiveSettings(TermSettings(weights=(1.0, 0.5)), gamma=2.0, gamma_ood=0.1),
        ParticleSettings("wgd", term=TermSettings(energy="cka"), data_size="train", prior_std=1.0),
        ParticleSettings(data_size=5),
    ],
)
def test_what_is_written_is_read(method):
    from dataclasses import replace

    recipe = replace(RECIPE, method=method)
    again = from_plain(Recipe, json.loads(json.dumps(to_plain(recipe))))
    assert again == recipe
    assert type(again.method) is type(method)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("epochs",), "many", "config.epochs: expected a value of type int"),
        (("epochs",), True, "config.epochs: expected a value of type int"),
        (("data", "fraction"), "all", "config.data.fraction: expected a number"),
        (("optimizer", "name"), "adma", "config.optimizer.name: expected one of"),
        (("ood",), "x", "config.ood: expected a list"),
        (("method", "gamma"), "strong", "config.method.gamma: expected"),
        (("method", "settings"), "Repulsion", "did you mean 'RepulsiveSettings'"),
        (("surprise",), 1, "surprise"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(path, value, message):
    plain = to_plain(RECIPE)
    node = plain
    for name in path[:-1]:
        node = node[name]
    node[path[-1]] = value
    with pytest.raises(InputError, match=message):
        from_plain(Recipe, plain)


def test_a_file_of_an_earlier_version_means_what_was_done_then():
    plain = to_plain(RECIPE)
    del plain["capture"], plain["network"]["execution"]
    assert from_plain(Recipe, plain) == RECIPE
    del plain["network"]["factory"]
    with pytest.raises(InputError, match=r"config.network: .*\(factory on one side alone\)"):
        from_plain(Recipe, plain)


def test_differences_are_named_by_their_path():
    other = to_plain(RECIPE)
    other["method"]["term"]["s"] = 3.0
    other["ood"] = []
    assert differences(to_plain(RECIPE), other) == [
        "method.term.s: expected 2.0, came 3.0",
        "ood: expected ['x'], came []",
    ]
    assert differences(other, other) == []
