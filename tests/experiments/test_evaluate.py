"""An evaluation holds what its definitions say, and does nothing twice."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from hecka.data.load import load
from hecka.experiments import evaluate as module
from hecka.experiments.alikeness import Alikeness, cka_grid, cka_summary
from hecka.experiments.evaluate import evaluate_run
from hecka.experiments.extremes import Pictures, extremes
from hecka.experiments.inputs import in_order
from hecka.experiments.recipe import MembersSettings
from hecka.experiments.recipes import find
from hecka.experiments.sources import inliers
from hecka.experiments.train import restore, train
from hecka.scores.accuracy import nll
from hecka.scores.disagreement import cka_per_layer
from hecka.scores.evaluate import evaluate
from hecka.scores.predictive import Prediction

RECIPE = replace(find("digits/ensemble-ood-he"), steps=15, device="cpu", members=MembersSettings(3))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    train(RECIPE, folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def result(run):
    return evaluate_run(run, progress=False)


def test_numbers_are_those_of_the_whole_set(run, result):
    members = restore(run)[1]
    test = load("digits", "test")
    inverted = replace(test, images=255 - test.images)
    direct = evaluate(members, (test.whitened(), test.labels), {"inverted": inverted.whitened(test.whitening)})
    expected = direct.to_dict()
    for name, value in result["scores"].items():
        assert value == pytest.approx(expected[name], rel=1e-5), name
    for score in ("entropy", "mutual_information"):
        assert result["outliers"]["inverted"][score] == pytest.approx(expected["outliers"]["inverted"][score], rel=1e-3)
    assert result["scores"]["nll"] == pytest.approx(nll(members.predict(test.whitened()).logits, test.labels), rel=1e-5)


def test_the_reliability_table_gives_the_calibration_error(result):
    rows = [row for row in result["reliability"] if row["examples"]]
    total = sum(row["examples"] * abs(row["accuracy"] - row["confidence"]) for row in rows)
    assert total / 500 == pytest.approx(result["scores"]["ece"])
    empty = [row for row in result["reliability"] if not row["examples"]]
    assert empty
    assert all(row["confidence"] is None and row["accuracy"] is None for row in empty)


def test_similarity_is_that_of_the_members_features(run, result):
    members = restore(run)[1]
    with torch.no_grad():
        direct = cka_per_layer(members(load("digits", "test").whitened()).features, unbiased=True)
    assert result["cka"]["per_layer"] == pytest.approx(direct, abs=1e-3)
    assert result["cka"]["mean"] == pytest.approx(sum(direct.values()) / len(direct), abs=1e-3)
    layers = np.array(result["cka"]["layers"])
    assert layers.diagonal() == pytest.approx(list(direct.values()), abs=1e-3)
    assert layers == pytest.approx(layers.T, abs=1e-5)
    assert result["cka"]["examples"] == 500


def test_the_mean_over_pairs_leaves_out_a_member_with_itself():
    values = torch.rand(2, 3, 2, 3, generator=torch.Generator().manual_seed(0)).double()
    layers = cka_summary(Alikeness(values, ("a", "b"), 4))["layers"]
    for first in (0, 1):
        for second in (0, 1):
            pairs = [values[first, i, second, j] for i in range(3) for j in range(3) if i != j]
            assert layers[first][second] == pytest.approx(float(sum(pairs) / 6), abs=1e-6)


def test_similarity_takes_its_share_of_each_part(run, monkeypatch):
    monkeypatch.setattr("hecka.experiments.alikeness.MOST", 50)
    source = inliers("digits", "test")
    seen = []
    members = restore(run)[1]
    plain = members.run
    monkeypatch.setattr(members, "run", lambda params, inputs: seen.append(inputs) or plain(params, inputs))
    grid = cka_grid(members, in_order(source.images, source.labels, source.whitening, torch.device("cpu")))
    assert grid.examples == sum(map(len, seen)) == 50
    rows = torch.linspace(0, 499, 50).long()
    torch.testing.assert_close(torch.cat(seen), source.whitening(source.images[rows]))


def test_extremes_are_the_surest_and_the_least_sure_and_no_image_twice():
    class Flat:
        def predict(self, inputs, batch_size=1):
            return Prediction(torch.zeros(1, len(inputs), 4))

    group = torch.arange(60) // 2
    entropy = torch.arange(60.0).flip(0)
    images = group.byte()[:, None, None, None].expand(-1, 1, 2, 2).contiguous()
    source = inliers("digits", "test")
    feed = in_order(images, group, source.whitening, torch.device("cpu"))
    found = extremes(Pictures(images, torch.arange(60), group, ()), entropy, Flat(), feed)
    assert found["least/labels"].tolist() == list(range(58, 34, -2))
    assert found["most/labels"].tolist() == list(range(0, 24, 2))
    assert found["most/entropy"].tolist() == [59.0 - row for row in range(0, 24, 2)]
    assert found["most/images"][3, 0, 0, 0] == 3
    assert found["least/probs"].shape == (12, 4)


def test_what_was_done_is_not_done_again_and_more_sets_can_be_added(run, result, monkeypatch):
    monkeypatch.setattr(module, "score_inliers", None)  # whatever calls it fails
    assert evaluate_run(run, progress=False) == result
    assert evaluate_run(run, ood=["shuffled"], progress=False) == result
    monkeypatch.undo()
    monkeypatch.setattr(module, "outliers", lambda name, test, root: (test.images[:30], ()))
    more = evaluate_run(run, ood=["third"], progress=False)
    assert list(more["outliers"]) == ["inverted", "shuffled", "third"]
    assert json.loads((run / "evaluation.json").read_text()) == more


def test_other_weights_are_evaluated_anew(run, tmp_path):
    train(RECIPE, tmp_path, progress=False)
    first = evaluate_run(tmp_path, ood=["inverted"], progress=False)
    for name in ("checkpoint.safetensors", "config.json", "record.jsonl"):
        (tmp_path / name).unlink()
    train(replace(RECIPE, seed=1), tmp_path, progress=False)
    second = evaluate_run(tmp_path, ood=["inverted"], progress=False)
    assert first["checkpoint"] != second["checkpoint"]
    assert first["scores"] != second["scores"]


@pytest.fixture
def one_thread():
    """Networks this small compute for less time than threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_the_small_benchmark_finds_its_outliers(tmp_path, one_thread):
    """15 seconds of one core for both rows."""
    found = {}
    for row in ("ensemble", "ensemble-ood-he"):
        train(replace(find(f"digits/{row}"), device="cpu"), tmp_path / row, progress=False)
        found[row] = evaluate_run(tmp_path / row, progress=False)
    assert min(each["scores"]["accuracy"] for each in found.values()) > 0.9
    for name in ("inverted", "shuffled"):
        plain, diverse = (found[row]["outliers"][name]["entropy"]["auroc"] for row in found)
        assert diverse > 0.9, name
        assert diverse > plain - 0.02, name
