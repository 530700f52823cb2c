"""The comparison of methods, end to end in a few steps, and what its failings must show."""

import json

import pytest
import torch

import hecka
from hecka.experiments import method_comparison, method_failings
from hecka.experiments.method_comparison import LAST, Row, compare, cost, rows, score, train
from hecka.inference.independent import Independent
from hecka.inference.input_gradients import InputGradients
from hecka.inference.repulsive import Repulsive
from hecka.members.ddu import DDU
from hecka.networks.mlp import MLP


def test_it_writes_a_table_a_picture_and_its_numbers(tmp_path, monkeypatch):
    few = [row for row in rows() if row.name in ("ensemble", "DDU", "hypernetwork, OOD HE-CKA")]
    assert len(few) == 3
    monkeypatch.setattr(method_comparison, "rows", lambda: few)
    monkeypatch.setattr(method_failings, "WIDTHS", (4, 8))
    monkeypatch.setattr(method_failings, "DIMENSIONS", (1, 2))
    said = []
    printed = compare(tmp_path, seeds=2, steps=2, say=said.append)
    for row in few:
        assert row.name in said
        assert f"| {row.name} " in printed
    assert (tmp_path / "methods.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "methods.md").read_text().startswith("| method ")
    content = json.loads((tmp_path / "methods.json").read_text())
    assert content["steps"] == 2
    assert [[run["seed"] for run in runs] for runs in content["rows"].values()] == [[0, 1]] * 3
    assert content["cost"]["ensemble"] == 1.0
    with pytest.raises(hecka.InputError, match="at least 1 seed"):
        compare(tmp_path, seeds=0)


def test_costs_are_counted():
    """Input gradients cost at least a way back through everything for each of five members."""
    assert cost(Row("gradients", InputGradients())) > 5 * cost(Row("ensemble", Independent()))
    assert cost(Row("ensemble", Independent())) == pytest.approx(5 * cost(Row("one", Independent(), kind="single")))
    every, last = (cost(Row("repulsive", Repulsive(gamma=1.0), taps=taps)) for taps in (MLP.taps, LAST))
    # Each layer that is compared: the members' Gram matrices of 64 images, made as two strips up to the diagonal, which
    # are three quarters, and whole on the way back; and these matrices' products, twice.
    grams, cosines = 5 * (64 * 64) * (864 + 256 + 120 + 84), 4 * (5 * 5) * (64 * 64)
    assert every - last == 2 * ((0.75 + 1) * grams + 2 * cosines)


@pytest.mark.slow
def test_every_row_trains_and_is_scored():
    for row in rows():
        members = train(row, seed=0, steps=1)
        assert isinstance(members, DDU) == (row.kind == "DDU")
        found = score(members, seed=0)
        assert 0 <= found.entropy_far <= 1.3863
        assert (found.cka is None) == (row.kind in ("single", "DDU"))


def test_repulsion_on_weights_fades_and_on_features_does_not():
    curves = method_failings.repulsion_shares((4, 64))
    (weights, wide_weights), (features, wide_features) = (
        list(curves[name].values()) for name in ("RBF on weights", "HE-CKA on features")
    )
    assert wide_weights < 0.2 * weights
    assert wide_features > 0.5 * features


@pytest.mark.slow
def test_variance_is_lost_in_many_dimensions_and_kde_loses_most():
    """SVGD and Stein's estimators come to rest at the same points: both where K times the score is K's gradient."""
    found = method_failings.variances(300, (1, 8))
    for name in ("SVGD", "sge-WGD", "ssge-WGD"):
        assert found[name][1] > 0.8 > 0.4 > found[name][8]
        assert found[name][1] > found["kde-WGD"][1] + 0.05
        assert found[name][8] > found["kde-WGD"][8] + 0.05


def test_the_posteriors_variance_is_in_its_own_units():
    """Exact draws of the same posterior have a fraction of 1, whatever its axes."""
    draws = torch.randn(20_000, 3, generator=torch.Generator().manual_seed(0))
    root = torch.tensor([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.3, 0.1]])
    assert method_failings.fraction(draws @ root.T, torch.linalg.inv(root @ root.T)) == pytest.approx(1, abs=0.02)
