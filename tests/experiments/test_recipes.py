"""Every recipe: says who it is, survives its file, shares what a table's rows share, and runs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hecka.errors import InputError
from hecka.experiments.build import Shape, make_members
from hecka.experiments.evaluate import evaluate_run
from hecka.experiments.plain import from_plain, to_plain
from hecka.experiments.recipe import HypernetworkSettings, MembersSettings, NetworkSettings, Recipe
from hecka.experiments.recipes import about, find, names
from hecka.experiments.report import report
from hecka.experiments.train import train

NARROW = {"resnet18": 2, "wide-resnet": 1, "mlp": 8}


def tiny(recipe, start_from=None):
    """The recipe with two small members and two steps."""
    members = recipe.members
    small = HypernetworkSettings(latent=2, code=2, widths=(2,), code_widths=(2,)) if members.hypernetwork else None
    return replace(
        recipe,
        network=replace(recipe.network, width=NARROW.get(recipe.network.factory)),
        members=MembersSettings(min(2, members.count), small, members.density),
        steps=2,
        batch_size=6,
        outliers=min(4, recipe.outliers),
        start_from=start_from if recipe.continues else None,
        device="cpu",
    )


@pytest.mark.parametrize("name", names())
def test_a_recipe_says_who_it_is_and_survives_its_file(name):
    recipe = find(name)
    assert recipe.name == name
    assert about(name).endswith(".")
    assert from_plain(Recipe, json.loads(json.dumps(to_plain(recipe)))) == recipe


def test_a_mistyped_recipe_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'dirty-mnist/ensemble-he'"):
        find("dirty-mnist/ensmble-he")


@pytest.mark.parametrize("family", ["dirty-mnist", "cifar10-resnet32", "cifar10-resnet18", "cifar100", "digits"])
def test_the_control_differs_from_its_row_in_gamma_alone(family):
    row, control = find(f"{family}/ensemble-ood-he"), find(f"{family}/outlier-entropy")
    assert replace(control, name=row.name, method=row.method) == row
    assert replace(control.method, gamma=row.method.gamma, gamma_ood=row.method.gamma_ood) == row.method
    assert control.method.gamma == control.method.gamma_ood == 0


def test_rows_of_a_table_share_data_seed_and_batch():
    for family in {name.partition("/")[0] for name in names()}:
        rows = [find(name) for name in names() if name.startswith(f"{family}/")]
        assert len({(row.data, row.seed, row.batch_size, row.ood) for row in rows}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_recipe_trains_evaluates_and_reports(name, fake_data, tmp_path):
    start = tmp_path / "pretrained"
    recipe = tiny(find(name), start)
    if recipe.continues:
        train(tiny(find(recipe.continues)), start, progress=False)
    run = train(recipe, tmp_path / "run", progress=False)
    assert run.steps == 2
    result = evaluate_run(tmp_path / "run", progress=False)
    check_result(result, recipe)
    check_files(tmp_path / "run", result, recipe)
    check_page(report([tmp_path / "run"], tmp_path / "report.html"), result, recipe)


def check_result(result, recipe):
    """The form that tables and the report page read."""
    assert result["recipe"] == recipe.name
    assert result["members"] == recipe.members.count
    assert result["score"] == ("density" if recipe.members.density else "entropy")
    assert result["inliers"]["notes"]
    assert set(result["scores"]) == {
        "accuracy",
        "nll",
        "nll_of_mean",
        "brier",
        "ece",
        "mean_entropy",
        "mean_mutual_information",
        "disagreement",
    }
    assert all(np.isfinite(value) for value in result["scores"].values())
    assert len(result["reliability"]) == 15
    assert sum(row["examples"] for row in result["reliability"]) == result["inliers"]["examples"]
    assert tuple(result["outliers"]) == recipe.ood
    for found in result["outliers"].values():
        assert found["examples"] == 20
        assert (found["density"] is not None) == (recipe.members.density is not None)
        assert set(found["entropy"]) == {"auroc", "aupr", "fpr95"}
    assert set(result["seconds"]) == {"train", "evaluate"}
    if recipe.members.count == 1:
        assert result["cka"] is None
        assert all(found["mutual_information"]["auroc"] == 0.5 for found in result["outliers"].values())
    else:
        cka = result["cka"]
        layers = len(cka["taps"])
        assert set(cka["per_layer"]) == set(cka["taps"])
        assert [len(row) for row in cka["layers"]] == [layers] * layers
        assert cka["mean"] == pytest.approx(np.mean(list(cka["per_layer"].values())), abs=1e-5)


def check_files(run, result, recipe):
    assert {"config.json", "record.jsonl", "checkpoint.safetensors", "evaluation.json", "evaluation.npz"} <= {
        path.name for path in run.iterdir()
    }
    config = json.loads((run / "config.json").read_text())
    assert from_plain(Recipe, config["recipe"]) == recipe
    assert set(config["versions"]) == {"hecka", "torch", "python"}
    assert config["device"] == "cpu"
    assert config["parameters"] > 0
    assert json.loads((run / "evaluation.json").read_text()) == result
    arrays = np.load(run / "evaluation.npz", allow_pickle=False)
    examples = result["inliers"]["examples"]
    assert arrays["inliers/correct"].dtype == bool
    assert arrays["inliers/part"].dtype == np.int8
    assert len(arrays["classes"]) == arrays["inliers/least/probs"].shape[1]
    for name, count in {"inliers": examples, **dict.fromkeys(recipe.ood, 20)}.items():
        assert arrays[f"{name}/entropy"].shape == arrays[f"{name}/mutual_information"].shape == (count,)
        assert (f"{name}/density" in arrays) == (recipe.members.density is not None)
        for side in ("least", "most"):
            assert arrays[f"{name}/{side}/images"].dtype == np.uint8
            assert arrays[f"{name}/{side}/labels"].dtype == np.int64
            assert len(arrays[f"{name}/{side}/images"]) == len(arrays[f"{name}/{side}/entropy"]) == 12
        assert arrays[f"{name}/least/entropy"][0] == arrays[f"{name}/entropy"].min()
        if name != "inliers":
            assert (arrays[f"{name}/least/labels"] == -1).all()
    if result["cka"] is not None:
        layers = len(result["cka"]["taps"])
        assert arrays["cka"].shape == (layers, recipe.members.count, layers, recipe.members.count)


def check_page(path, result, recipe):
    text = path.read_text()
    assert recipe.name in text
    assert f"{result['scores']['accuracy']:.4f}" in text
    assert ("Do its members see the data differently?" in text) == (recipe.members.count > 1)
    assert ("by density of features" in text) == (recipe.members.density is not None)
    for name, found in result["outliers"].items():
        assert f"{name}, by entropy" in text
        assert f"{100 * found['entropy']['auroc']:.2f}" in text


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("dirty-mnist/ensemble", {}, "auto"),
        ("cifar10-resnet18/ensemble", {}, "loop"),
        ("cifar10-resnet18/ensemble", {"capture": False}, "auto"),
        ("cifar10-resnet18/ensemble", {"network": NetworkSettings("resnet18", width=16)}, "auto"),
        ("cifar10-resnet18/ensemble", {"network": NetworkSettings("resnet18", execution="vmap")}, "vmap"),
        ("cifar10-resnet18/ddu", {}, "loop"),
    ],
)
def test_members_loop_where_recorded_convolutions_are_wide(name, changes, expected):
    recipe = replace(find(name), **changes)
    if recipe.network.factory == "wide-resnet":
        recipe = replace(recipe, network=replace(recipe.network, width=1))
    members = make_members(recipe, Shape((3, 32, 32) if "cifar" in name else (1, 28, 28), 10))
    assert f"execution={expected!r}" in repr(members)
