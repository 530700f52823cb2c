"""``hecka train``, ``hecka evaluate`` and ``hecka report`` as a user types them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hecka import cli

ROOT = Path(__file__).parents[1]


def test_help_lists_every_recipe(capsys):
    cli.main(["train", "--help"])
    printed = capsys.readouterr().out
    assert "digits/ensemble-ood-he-auto" in printed
    assert "dirty-mnist/svgd-he" in printed


def test_help_of_a_recipe_lists_its_fields(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "digits/ensemble-he", "--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert "--method.term.eps-arc" in printed
    assert "--optimizer.lr" in printed


def test_train_evaluate_and_report(tmp_path, capsys):
    out = str(tmp_path)
    flags = ["--steps", "3", "--method.gamma", "0.5", "--members.count", "2", "--ood", "inverted", "--device", "cpu"]
    cli.main(["train", "digits/ensemble-ood-he-auto", "--out", out, "--budget", "0.25", *flags])
    config = json.loads((tmp_path / "config.json").read_text())["recipe"]
    assert (config["method"]["gamma"], config["members"]["count"], config["budget"]) == (0.5, 2, 0.25)
    assert (config["epochs"], config["data"]["fraction"]) == (30, 0.5)
    cli.main(["evaluate", out, "--ood", "shuffled"])
    printed = capsys.readouterr().out
    assert "shuffled" in printed
    assert "accuracy" in printed
    assert list(json.loads((tmp_path / "evaluation.json").read_text())["outliers"]) == ["shuffled"]
    assert f"next: hecka evaluate {out}\n" in printed
    assert f"next: hecka report {out} --out report.html" in printed
    cli.main(["report", out, "--out", str(tmp_path / "report.html")])
    assert "report.html" in capsys.readouterr().out
    assert "digits/ensemble-ood-he-auto" in (tmp_path / "report.html").read_text()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_page_goes_from_a_recipe_to_its_page(tmp_path):
    """What `make page` would run, for a recipe that takes a moment."""
    settings = ["ROW=digits/ensemble", "BUDGET=0.001", f"RUN={tmp_path}/run"]
    asked = ["make", "--dry-run", "--old-file=.venv/.ready", "page", *settings]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    commands = [line.split()[1:] for line in done.stdout.splitlines() if "/hecka " in line]
    assert [command[0] for command in commands] == ["train", "evaluate", "report"]
    for command in commands:
        cli.main(command)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "digits/ensemble" in page
    assert "0.001 of the recipe" in page


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--method.gama", "1"], "--method.gamma"),
        (["--optimizer.name", "adma"], "adamw"),
        (["--epochs", "few"], "--epochs"),
    ],
)
def test_mistyped_fields_and_values_are_refused_with_the_nearest(arguments, hint, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "digits/ensemble-he", "--out", str(tmp_path), *arguments])
    assert stop.value.code not in (0, None)
    assert hint in "".join(capsys.readouterr())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits/ensmble"], "did you mean 'digits/ensemble'"),
        (["--out", "x"], "expected a recipe first"),
        (["digits/ensemble", "--budget", "much"], "expected --budget"),
        (["digits/ensemble", "--budget", "2"], "up to 1"),
    ],
)
def test_wrong_recipes_and_budgets_are_refused(arguments, message):
    with pytest.raises(SystemExit, match=message):
        cli.main(["train", *arguments])


def test_the_data_of_ones_own_network_have_to_be_named(tmp_path):
    with pytest.raises(SystemExit, match=r"--data.name"):
        cli.main(["train", "torch.nn:Identity", "--out", str(tmp_path)])


def test_evaluating_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="expected the folder of a run"):
        cli.main(["evaluate", str(tmp_path)])
