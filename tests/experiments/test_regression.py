"""The curve with a gap: its scores by hand, the command in a few steps, and its point in a third of its length."""

import json

import pytest
import torch

import hecka
from hecka.data.toy import curve
from hecka.experiments.regression import FAR, GAP, Scores, data, regression, rows, score, table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("regression")


@pytest.fixture(scope="module")
def said(folder):
    return regression(folder, seeds=2, steps=3)


def test_scores_of_two_members_that_are_off_by_known_amounts():
    grid = torch.linspace(-10, 10, 401, dtype=torch.float64)
    # In the gap the members lie 1 and 5 above the truth, elsewhere .1 below and .1 above it.
    inside = grid.abs() <= GAP
    low, high = (torch.where(inside, far, near) for far, near in ((1.0, -0.1), (5.0, 0.1)))
    found = score(grid, curve(grid) + torch.stack([low, high]), cka=[0.5])
    assert found.rmse_gap == pytest.approx(3.0)
    assert found.spread_gap == pytest.approx(2.0)
    assert found.covered_gap == 1.0  # 3 is within two standard deviations of 2
    assert found.rmse_data == pytest.approx(0.0, abs=1e-9)
    assert found.spread_data == found.spread_far == pytest.approx(0.1)
    assert found.cka == (0.5,)


def test_the_truth_is_not_covered_three_deviations_away():
    grid = torch.linspace(-10, 10, 401)
    outputs = curve(grid) + torch.tensor([[2.0], [4.0]])
    assert score(grid, outputs, cka=[]).covered_gap == 0.0
    # Far out alone, members stand on either side of the truth.
    outputs = torch.where(grid.abs() >= FAR, curve(grid) + torch.tensor([[-1.0], [1.0]]), outputs)
    found = score(grid, outputs, cka=[])
    assert (found.covered_data, found.covered_gap, found.covered_far) == (0.0, 0.0, 1.0)


def test_command_writes_a_row_a_method_and_a_picture(said, folder):
    names = [row.name for row in rows()]
    assert [line.split(" | ")[0].strip("| ") for line in said.splitlines()[2 : 2 + len(names)]] == names
    assert (folder / "regression.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((folder / "regression.json").read_text())
    assert [run["seed"] for run in content["rows"]["hypernetwork"]] == [0, 1]


def test_the_same_command_goes_on_from_its_runs(said, folder):
    checkpoint = folder / "ensemble" / "seed-1" / "checkpoint.safetensors"
    before = checkpoint.stat().st_mtime_ns
    assert regression(folder, seeds=2, steps=3) == said
    assert checkpoint.stat().st_mtime_ns == before


def test_table_gives_means_and_standard_deviations():
    low, high = (Scores(e, e, e, e, e, e, e, e, (e, 1.0)) for e in (0.2, 0.4))
    row = table({"x": [low, high]}).splitlines()[2]
    assert row.count("0.30 ± 0.14") == 7
    assert "0.300 ± 0.141" in row
    assert row.rstrip("| ").endswith("0.30 1.00")


def test_at_least_one_seed_is_needed(tmp_path):
    with pytest.raises(hecka.InputError, match="regression: expected at least 1 seed"):
        regression(tmp_path, seeds=0)


@pytest.mark.slow
def test_diversity_parts_members_in_the_gap_and_not_on_the_data(tmp_path):
    regression(tmp_path, steps=800)
    runs = {name: run[0] for name, run in json.loads((tmp_path / "regression.json").read_text())["rows"].items()}
    plain, diverse = runs["ensemble"], runs["ensemble + HE-CKA"]
    assert diverse["spread_gap"] > 1.2 * plain["spread_gap"]
    assert diverse["spread_gap"] > 10 * diverse["spread_data"]
    assert runs["hypernetwork + HE-CKA"]["spread_gap"] > 2 * runs["hypernetwork"]["spread_gap"]
    doubtful = runs["ensemble + outlier doubt"]
    assert 0.5 < doubtful["spread_far"] / data(0)[1].std() < 2  # about as unsure as one who has not seen the input
    assert doubtful["rmse_data"] < 1.5 * plain["rmse_data"]
