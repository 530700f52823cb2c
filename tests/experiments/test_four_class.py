"""The demo, end to end, in a few steps."""

import json

import pytest

import hecka
from hecka.experiments.four_class import Scores, demo, table
from hecka.experiments.four_class_rows import demo_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def said(folder):
    lines = []
    return demo(folder, seeds=2, steps=3, progress=False, say=lines.append), lines


def test_demo_prints_a_row_a_method_with_its_spread(said):
    printed, lines = said
    names = [row.name for row in demo_rows()]
    assert [line.split(" | ")[0].strip("| ") for line in printed.splitlines()[2:]] == names
    assert printed.count("±") == 5 * len(names)
    assert lines == [f"{name}, seed {seed}" for name in names for seed in (0, 1)]


def test_demo_writes_a_picture_and_its_numbers(said, folder):
    assert (folder / "four-class.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((folder / "four-class.json").read_text())
    assert content["steps"] == 3
    runs = content["rows"]["ensemble"]
    assert [run["seed"] for run in runs] == [0, 1]
    assert all(0 <= run["entropy_far"] <= 1.3863 and len(run["cka"]) == 4 for run in runs)


def test_the_same_command_goes_on_from_its_runs(said, folder):
    checkpoint = folder / "ensemble" / "seed-1" / "checkpoint.safetensors"
    before = checkpoint.stat().st_mtime_ns
    again = demo(folder, seeds=2, steps=3, progress=False, say=lambda line: None)
    assert again == said[0]
    assert checkpoint.stat().st_mtime_ns == before


def test_table_gives_means_and_standard_deviations():
    low, high = (Scores(1.0, e, e, e, e, (e, 1.0)) for e in (0.2, 0.4))
    row = table({"x": [low, high]}).splitlines()[2]
    assert "0.300 ± 0.141" in row
    assert row.rstrip("| ").endswith("0.30 1.00")


def test_at_least_one_seed_is_needed(tmp_path):
    with pytest.raises(hecka.InputError, match="at least 1 seed"):
        demo(tmp_path, seeds=0)


@pytest.mark.slow
def test_diversity_opens_the_gaps_and_auto_gamma_keeps_the_data_sure(tmp_path):
    """The experiment's point, at a third of its length and with wide margins."""
    demo(tmp_path, steps=350, progress=False, say=lambda line: None)
    runs = {name: run[0] for name, run in json.loads((tmp_path / "four-class.json").read_text())["rows"].items()}
    plain, entropy, auto = runs["ensemble"], runs["outlier entropy alone"], runs['OOD HE-CKA, gamma="auto"']
    assert plain["entropy_far"] < 0.4 < 1.2 < min(entropy["entropy_far"], auto["entropy_far"])
    assert auto["entropy_gaps"] > entropy["entropy_gaps"] + 0.15
    assert auto["entropy_data"] < 0.15 < runs["OOD HE-CKA"]["entropy_data"]
    assert auto["accuracy"] == 1.0
