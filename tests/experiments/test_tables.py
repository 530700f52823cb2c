"""A whole table on the digits that come with scikit-learn, and what its options make of recipes."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hecka import HeckaError, InputError
from hecka.experiments import tables
from hecka.experiments.published import read
from hecka.experiments.table_numbers import RowResult, columns, value
from hecka.experiments.table_rows import CIFAR10_RESNET18, DIRTY_MNIST, PARTICLES, TINY_IMAGENET, TableRow, TableSpec
from hecka.experiments.table_text import as_latex, as_markdown
from hecka.experiments.tables import TableOptions, job, jobs, table

ROWS = {"Ensemble": "ensemble", "Ensemble+HE-CKA": "ensemble-he", "Outlier entropy": "outlier-entropy"}
SPEC = TableSpec(
    name="table-digits",
    title="Digits",
    rows=tuple(TableRow(name, f"digits/{recipe}") for name, recipe in ROWS.items()),
    outliers=("inverted", "shuffled"),
    published=read("method | nll_of_mean | inverted/entropy\nEnsemble | 0.5 ± 0.1 | 88\nEnsemble+HE-CKA | 0.4 | 99"),
)
EVALUATION = {
    "score": "entropy",
    "seed": 0,
    "scores": {"accuracy": 0.825, "ece": 0.031, "nll": 0.5, "nll_of_mean": 0.25},
    "outliers": {
        "svhn": {
            "notes": [],
            "entropy": {"auroc": 0.9},
            "mutual_information": {"auroc": 0.8},
            "density": {"auroc": 0.7},
        }
    },
    "cka": None,
    "seconds": {"train": 12.0},
}


def run(out, spec=SPEC, **options):
    said = []
    given = TableOptions(out=out, device="cpu", **options)
    return table(spec, given, say=said.append, progress=False), said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("table")


@pytest.fixture(scope="module")
def printed(folder):
    return run(folder, seeds=2, epochs=1, rows=("ensemble", "ensemble-he"))[0]


def test_rows_stand_beside_the_paper_with_errors_and_notes(printed, folder):
    lines = [line for line in printed.splitlines() if line.startswith("|")][2:]
    assert [line.split("|")[1].strip() for line in lines] == ["Ensemble", "· paper", "Ensemble+HE-CKA", "· paper"]
    assert lines[0].count("±") == 10
    assert all(note in lines[0] for note in ("2 seeds", "1 epoch;", "cpu"))
    assert "0.5 ± 0.1" in lines[1]


def test_every_file_holds_the_same_numbers(printed, folder):
    content = json.loads((folder / "table.json").read_text())
    rows = list(csv.DictReader((folder / "table.csv").read_text().splitlines()))
    for plain, line in zip(content["rows"], rows, strict=True):
        runs = [json.loads(path.read_text()) for path in sorted(folder.glob(f"{line['recipe'][7:]}/*/evaluation.json"))]
        assert plain["seeds"] == [0, 1]
        expected = [100 * each["outliers"]["shuffled"]["mutual_information"]["auroc"] for each in runs]
        assert plain["columns"]["shuffled/mutual_information"]["values"] == expected
        assert float(line["shuffled/mutual_information"]) == pytest.approx(sum(expected) / 2)
        assert float(line["shuffled/mutual_information error"]) == pytest.approx(abs(expected[0] - expected[1]) / 2)
    assert (rows[0]["nll_of_mean paper"], rows[0]["nll_of_mean paper error"], rows[0]["nll paper"]) == (
        "0.5",
        "0.1",
        "",
    )
    assert (folder / "table.md").read_text().strip() in printed
    assert (folder / "table.tex").read_text().count(r"\\") == 5


def test_the_same_command_redoes_nothing_and_another_row_joins(printed, folder):
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/*/*.json")}
    again, said = run(folder, seeds=2, epochs=1, rows=("outlier-entropy",))
    assert said == ["Outlier entropy, seed 0", "Outlier entropy, seed 1"]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [name in again for name in ROWS] == [True] * 3


def test_a_row_that_fails_is_reported_and_the_others_stand(tmp_path):
    broken = replace(SPEC, rows=(TableRow("Broken", "digits/ensemble-he", "broken"), SPEC.rows[0]))
    (tmp_path / "broken" / "seed-0").mkdir(parents=True)
    (tmp_path / "broken" / "seed-0" / "config.json").write_text("{}")
    said = []
    with pytest.raises(HeckaError, match="1 of its runs failed"):
        table(broken, TableOptions(out=tmp_path, seeds=1, epochs=1, device="cpu"), said.append, progress=False)
    text = said[-1]
    assert "- Broken: " in text
    assert "failed; no result" in text
    assert "1 seed;" in next(line for line in text.splitlines() if line.startswith("| Ensemble"))


def test_mistyped_rows_and_sets_are_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'ensemble-he'"):
        run(tmp_path, rows=("ensmble-he",))
    with pytest.raises(InputError, match="did you mean 'inverted'"):
        run(tmp_path, ood=("invertd",))
    with pytest.raises(InputError, match="seeds to be at least 1"):
        run(tmp_path, seeds=0)


def test_missing_data_are_refused_before_any_training(tmp_path):
    with pytest.raises(InputError, match="svhn"):
        run(tmp_path, spec=CIFAR10_RESNET18, root=tmp_path / "nothing")
    assert not list(tmp_path.glob("*/seed-0"))


def test_options_edit_every_recipe():
    options = TableOptions(seeds=1, budget=0.25, members=3, root=Path("/data"), device="cpu")
    runs = {each.out.parent.name: each.recipe for each in jobs(DIRTY_MNIST.rows, options, Path("out"))}
    assert runs["ensemble"].epochs == 25
    assert runs["ensemble"].data.fraction == 0.5
    assert runs["ensemble"].data.root == Path("/data")
    assert (runs["ensemble"].members.count, runs["hypernet"].members.count, runs["single"].members.count) == (3, 3, 1)
    assert runs["ddu"].members.density == "fc2"


def test_networks_are_narrowed_in_proportion():
    runs = {
        each.out.parent.name: each.recipe for each in jobs(CIFAR10_RESNET18.rows, TableOptions(width=16), Path("o"))
    }
    assert (runs["ensemble"].network.width, runs["ddu"].network.width) == (16, 2)


def test_fine_tuned_rows_go_on_from_one_run_a_seed_that_comes_first():
    planned = jobs(TINY_IMAGENET.rows, TableOptions(seeds=2), Path("out"))
    first = planned[:2]
    assert [each.out for each in first] == [Path("out/pretrained/seed-0"), Path("out/pretrained/seed-1")]
    assert len(planned) == 2 + 2 * len(TINY_IMAGENET.rows)
    for each in planned[2:]:
        assert each.after == first[each.recipe.seed]
        assert each.recipe.start_from == each.after.out


def test_particles_take_the_first_members_of_one_run():
    runs = [job(row, 0, TableOptions(members=9), Path("out")) for row in PARTICLES.rows]
    assert [each.recipe.members.count for each in runs] == [2, 3, 4, 5]
    assert {each.after.out for each in runs} == {Path("out/pretrained/seed-0")}
    assert {each.after.recipe.members.count for each in runs} == {9}


def test_numbers_are_read_in_percent_and_density_stands_for_entropy():
    assert value(EVALUATION, "accuracy") == 82.5
    assert value(EVALUATION, "ece") == pytest.approx(3.1)
    assert value(EVALUATION, "nll_of_mean") == 0.25
    assert value(EVALUATION, "svhn/entropy") == 90
    assert value(EVALUATION, "svhn/mutual_information") == 80
    assert value(EVALUATION, "seconds") == 12
    assert value(EVALUATION, "cka") is None
    assert value(EVALUATION, "dtd/entropy") is None
    assert value({**EVALUATION, "score": "density"}, "svhn/entropy") == 70


def test_each_table_compares_its_own_nll():
    keys = [column.key for column in columns(CIFAR10_RESNET18)]
    assert keys[:2] == ["nll", "nll_of_mean"]
    assert [column.key for column in columns(DIRTY_MNIST)][:2] == ["nll_of_mean", "nll"]


def test_density_is_starred_and_long_notes_stand_below():
    long = "a note that is far too long to stand within a row"
    by_density = {**EVALUATION, "score": "density"}
    results = [
        RowResult(CIFAR10_RESNET18.rows[0], [by_density], ["1 seed", long]),
        RowResult(CIFAR10_RESNET18.rows[1], []),
    ]
    text = as_markdown(CIFAR10_RESNET18, results, [])
    assert "70.00*" in text
    assert "97.86*" in text
    assert "1 seed; [1]" in text
    assert f"- [1] {long}" in text
    assert "no result" in text
    assert r"\$" not in as_latex(CIFAR10_RESNET18, results)


@pytest.mark.parametrize("name", ["dirty_mnist", "cifar10_resnet32", "cifar10_resnet18", "cifar100", "tinyimagenet"])
def test_commands_are_flags_of_one_set_of_options(name, monkeypatch, capsys):
    from hecka.cli import reproduce

    seen = []
    monkeypatch.setattr(tables, "table", lambda spec, options: seen.append((spec.name, options)) or "the table")
    reproduce.main([f"table-{name.replace('_', '-')}", "--seeds", "1", "--rows", "ensemble", "--budget", "0.5"])
    assert seen == [(f"table-{name.replace('_', '-')}", TableOptions(seeds=1, rows=("ensemble",), budget=0.5))]
    assert "the table" in capsys.readouterr().out
