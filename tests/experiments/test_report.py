"""A page is made of the files of runs, and what is wrong with them is said with what to do."""

import json
import shutil
from dataclasses import replace

import pytest

from hecka.errors import InputError
from hecka.experiments.evaluate import evaluate_run
from hecka.experiments.recipe import MembersSettings
from hecka.experiments.recipes import find
from hecka.experiments.report import names, report, reported
from hecka.experiments.train import train


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(replace(find("digits/ensemble"), steps=2, members=MembersSettings(2), device="cpu"), folder, progress=False)
    evaluate_run(folder, progress=False)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "a run")


def test_runs_are_told_apart_by_as_little_as_it_takes(run, tmp_path):
    other = shutil.copytree(run, tmp_path / "other")
    assert [each.name for each in reported([run])] == ["digits/ensemble"]
    assert [each.name for each in reported([run, other])] == [
        f"digits/ensemble, seed 0 ({run})",
        f"digits/ensemble, seed 0 ({other})",
    ]
    assert len(set(names([(run, "x", "x, seed 0"), (other, "x", "x, seed 0"), (run, "x", "x, seed 1")]))) == 3


def test_the_page_is_made_where_it_was_asked_for(run, tmp_path):
    first = report([run], tmp_path / "new" / "folder" / "page.html").read_text()
    assert report([run], tmp_path / "again.html").read_text() == first  # of the same files the same page
    accuracy = json.loads((run / "evaluation.json").read_text())["scores"]["accuracy"]
    assert f"{accuracy:.4f}" in first


def test_a_run_that_was_not_evaluated_is_refused_with_the_command(run, tmp_path):
    (run / "evaluation.json").unlink()
    with pytest.raises(InputError, match=rf"no evaluation; run `hecka evaluate '{run}'` first"):
        report([run], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["evaluation.json", "evaluation.npz", "config.json", "record.jsonl"])
def test_half_a_file_is_refused_by_name(name, run, tmp_path):
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        report([run], tmp_path / "page.html")


@pytest.mark.parametrize("name", ["evaluation.json", "evaluation.npz"])
def test_evaluating_again_mends_half_a_file(name, run, tmp_path):
    """As the message says."""
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="hecka evaluate") as refusal:
        report([run], tmp_path / "page.html")
    if "delete it" in str(refusal.value):
        (run / name).unlink()
    evaluate_run(run, progress=False)
    assert report([run], tmp_path / "page.html").exists()


def test_an_evaluation_of_other_weights_is_refused(run, tmp_path):
    evaluation = json.loads((run / "evaluation.json").read_text())
    (run / "evaluation.json").write_text(json.dumps({**evaluation, "checkpoint": "sha256:0"}))
    with pytest.raises(InputError, match="of the weights beside it"):
        report([run], tmp_path / "page.html")
    (run / "checkpoint.safetensors").unlink()  # a run that was sent without its weights can be shown
    assert report([run], tmp_path / "page.html").exists()


def test_an_evaluation_of_another_format_is_refused(run, tmp_path):
    evaluation = json.loads((run / "evaluation.json").read_text())
    (run / "evaluation.json").write_text(json.dumps({**evaluation, "format": 2}))
    with pytest.raises(InputError, match=r"expected format 1 .* got 2"):
        report([run], tmp_path / "page.html")


@pytest.mark.parametrize("where", ["folder", "below a file"])
def test_a_page_that_cannot_be_written_is_refused(where, run, tmp_path):
    (tmp_path / "file").write_text("")
    out = {"folder": tmp_path, "below a file": tmp_path / "file" / "page.html"}[where]
    with pytest.raises(InputError, match="choose another --out"):
        report([run], out)


def test_what_is_no_run_or_named_twice_is_refused(run, tmp_path):
    with pytest.raises(InputError, match="got none; name it"):
        report([], tmp_path / "page.html")
    with pytest.raises(InputError, match="twice"):
        report([run, run.parent / "." / run.name], tmp_path / "page.html")
    with pytest.raises(InputError, match="expected the folder of a run"):
        report([tmp_path / "nowhere"], tmp_path / "page.html")
    with pytest.raises(InputError, match=r"holds 1 of them; .* the first is .*a run"):
        report([tmp_path], tmp_path / "page.html")
