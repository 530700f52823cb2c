"""Figures from the files of finished runs."""

import json

import numpy as np
import pytest

from hecka import InputError
from hecka.experiments.cka_figure import between_members, cka_figure
from hecka.experiments.entropy_figure import entropy_figure
from hecka.experiments.table_cka import table_cka

TAPS = ["conv1", "fc"]


def write_run(folder, entropies, clothes, cka, *, budget=1.0, notes=()):
    """The files that the figures read: 3 digits, then ambiguous ones, and clothes."""
    folder.mkdir(parents=True)
    np.savez(
        folder / "evaluation.npz",
        **{
            "inliers/entropy": np.float32(entropies),
            "inliers/part": np.int8([0] * 3 + [1] * (len(entropies) - 3)),
            "fashion-mnist/entropy": np.float32(clothes),
            "cka": np.float32(cka),
        },
    )
    detection = {"auroc": 0.875, "aupr": 0.5, "fpr95": 0.5}
    evaluation = {
        "score": "entropy",
        "seed": 0,
        "budget": budget,
        "inliers": {"notes": list(notes)},
        "outliers": {"fashion-mnist": {"notes": [], "entropy": detection}},
        "cka": {"taps": TAPS, "mean": 0.625},
    }
    (folder / "evaluation.json").write_text(json.dumps(evaluation))
    (folder / "config.json").write_text(json.dumps({"notes": [], "device": "cpu"}))


@pytest.fixture
def runs(tmp_path):
    grid = np.ones((2, 2, 2, 2))
    grid[:, 0, :, 1] = grid[:, 1, :, 0] = [[0.5, 0.25], [0.125, 0.75]]
    for seed, low in enumerate((0.0, 0.2)):
        write_run(tmp_path / "ensemble" / f"seed-{seed}", [low, low, 2.0, 1.0, 1.0], [2.3, 0.0], grid, budget=0.1)
    write_run(tmp_path / "svgd-he" / "seed-0", [0.0] * 5, [2.3], grid, notes=["surrogate"])
    return tmp_path


def test_entropy_histograms_pool_seeds_and_keep_the_sets_apart(runs, tmp_path):
    said = entropy_figure(runs, tmp_path / "figure")
    assert "No finished run of: SVGD+RBF" in said
    assert (tmp_path / "figure" / "entropy.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((tmp_path / "figure" / "entropy.json").read_text())
    assert content["notes"] == ["2 seeds", "budget 0.1", "cpu", "surrogate"]
    rows = content["rows"]["Ensemble"]
    digits = rows["MNIST"]["shares"]
    edges = content["edges"]
    assert digits[0] == pytest.approx(1 / 3)  # two of six at 0
    assert sum(share for share, low in zip(digits, edges, strict=False) if low > 1.5) == pytest.approx(1 / 3)
    assert rows["MNIST"]["median"] == pytest.approx(0.2)
    assert rows["Ambiguous-MNIST"]["median"] == 1.0
    for row in content["rows"].values():
        assert all(sum(each["shares"]) == pytest.approx(1.0) for each in row.values())


def test_cka_is_the_mean_over_pairs_of_different_members():
    grid = np.random.default_rng(0).random((3, 4, 3, 4))
    expected = np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            expected[a, b] = np.mean([grid[a, i, b, j] for i in range(4) for j in range(4) if i != j])
    np.testing.assert_allclose(between_members(grid), expected)


def test_one_member_has_nobody_to_be_compared_with():
    with pytest.raises(InputError, match="at least 2 members"):
        between_members(np.ones((2, 1, 2, 1)))


def test_cka_figure(runs, tmp_path):
    said = cka_figure(runs, tmp_path / "figure")
    assert "Hypernet" in said
    assert (tmp_path / "figure" / "cka.png").read_bytes().startswith(b"\x89PNG")
    row = json.loads((tmp_path / "figure" / "cka.json").read_text())["rows"]["SVGD+HE-CKA"]
    assert row == {"layers": TAPS, "cka": [[0.5, 0.25], [0.125, 0.75]]}


@pytest.mark.parametrize("figure", [entropy_figure, cka_figure])
def test_without_runs_the_command_that_makes_them_is_named(figure, tmp_path):
    with pytest.raises(InputError, match="hecka reproduce table-dirty-mnist"):
        figure(tmp_path / "nothing")


def test_table_cka_stands_beside_the_paper(runs, tmp_path):
    printed = table_cka(runs, tmp_path / "table")
    lines = [line for line in printed.splitlines() if line.startswith(("| Ensemble ", "| · paper"))]
    ours, paper = lines[:2]
    assert "0.625 ± 0.000" in ours
    assert "budget 0.1" in ours
    assert "0.955" in paper
