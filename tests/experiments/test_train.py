"""A run: resumes to the same numbers, refuses another's folder, starts from another's weights."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hecka.errors import CheckpointError, InputError
from hecka.experiments import build
from hecka.experiments.build import Shape, make_members, make_optimizer, make_outliers, make_schedule, pick_device
from hecka.experiments.inputs import whitening_of
from hecka.experiments.recipe import MembersSettings, OptimizerSettings
from hecka.experiments.recipes import find
from hecka.experiments.recipes.own import own
from hecka.experiments.sources import inliers
from hecka.experiments.train import restore, train
from hecka.training.schedules import Constant, Milestones, WarmupCosine

QUICK = replace(find("digits/ensemble-ood-he-auto"), epochs=2, device="cpu", outliers=4, members=MembersSettings(2))


def weights(run):
    return restore(run)[1].state_dict()


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_was_stopped_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    recipe = replace(QUICK, data=replace(QUICK.data, augment=True))
    whole = train(recipe, tmp_path / "whole", progress=False)
    stops = iter(
        [False] * 3 + [True]
    )  # in the middle of the first epoch: order and augmentation have to be drawn again
    monkeypatch.setattr(
        "hecka.training.fit.Interrupt.requested", property(lambda self: next(stops, True)), raising=False
    )
    monkeypatch.setattr("hecka.training.fit.Interrupt.__init__", lambda self: None)
    monkeypatch.setattr("hecka.training.fit.Interrupt.__exit__", lambda self, *_: None)
    monkeypatch.setattr("hecka.training.fit.Interrupt.__enter__", lambda self: self)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "parts", progress=False)
    monkeypatch.undo()
    parts = train(recipe, tmp_path / "parts", progress=False)
    assert parts.steps == whole.steps
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "parts"))


def test_another_recipe_in_the_same_folder_is_refused_with_the_difference(tmp_path):
    short = replace(QUICK, epochs=1, steps=1)
    train(short, tmp_path, progress=False)
    with pytest.raises(CheckpointError, match=r"method.gamma: expected 0.5, came auto"):
        train(replace(short, method=replace(short.method, gamma=0.5)), tmp_path, progress=False)
    train(replace(short, ood=(), device="auto"), tmp_path, progress=False)  # nothing that a run could disagree about


def test_the_configuration_is_written(tmp_path):
    train(replace(QUICK, steps=1, notes=("mine",)), tmp_path, progress=False)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["notes"] == ["mine"]
    assert config["shape"] == [1, 8, 8]
    assert config["parameters"] == 64 * 64 + 64 + 64 * 64 + 64 + 64 * 10 + 10, "of one member"
    assert config["recipe"]["method"]["gamma"] == "auto"


def test_a_run_starts_from_the_first_members_of_another(tmp_path):
    three = replace(QUICK, members=MembersSettings(3), steps=1)
    train(three, tmp_path / "three", progress=False)
    frozen = replace(QUICK, steps=1, start_from=tmp_path / "three", optimizer=replace(QUICK.optimizer, lr=0.0))
    train(frozen, tmp_path / "two", progress=False)
    theirs, ours = weights(tmp_path / "three"), weights(tmp_path / "two")
    assert all(torch.equal(theirs[name][:2], ours[name]) for name in ours)
    with pytest.raises(CheckpointError, match="another architecture"):
        train(replace(frozen, network=replace(QUICK.network, width=8)), tmp_path / "narrow", progress=False)
    with pytest.raises(InputError, match="expected the folder of a trained run"):
        train(replace(frozen, start_from=tmp_path / "nowhere"), tmp_path / "none", progress=False)


def test_a_recipe_that_goes_on_from_another_says_which(tmp_path):
    with pytest.raises(InputError, match="hecka train tinyimagenet/pretrained --out RUN"):
        train(find("tinyimagenet/ensemble"), tmp_path)


@pytest.fixture
def own_net(tmp_path, monkeypatch):
    (tmp_path / "my_net.py").write_text(
        "from torch import nn\n"
        "def make_net():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))\n"
        "def few_classes():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    return "my_net:make_net"


def on_digits(factory):
    recipe = own(factory)
    return replace(recipe, data=replace(recipe.data, name="digits"), steps=2, device="cpu")


def test_a_network_of_ones_own_is_found_in_the_current_folder(own_net, tmp_path):
    train(on_digits(own_net), tmp_path / "run", progress=False)
    recipe, members = restore(tmp_path / "run")
    assert members.taps == ("1", "3")
    assert recipe.name == own_net


def test_data_of_ones_own_come_from_a_file(own_net, tmp_path):
    images, labels = np.arange(40 * 64, dtype=np.uint8).reshape(40, 8, 8), np.arange(40) % 10
    sets = {
        f"{split}_{kind}": array
        for split in ("train", "test")
        for kind, array in (("images", images), ("labels", labels))
    }
    np.savez(tmp_path / "mine.npz", **sets)
    recipe = on_digits(own_net)
    train(replace(recipe, data=replace(recipe.data, name="npz:mine.npz")), tmp_path / "run", progress=False)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["classes"] == list("0123456789")


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("my_net:mak_net", "did you mean 'make_net'"),
        ("no_such_module:make", "expected a module 'no_such_module'"),
        ("my_net:few_classes", r"into logits \(B, 10\)"),
    ],
)
def test_a_factory_that_cannot_be_used_is_refused(own_net, tmp_path, factory, message):
    with pytest.raises(InputError, match=message):
        train(on_digits(factory), tmp_path / "run", progress=False)


def test_a_mistyped_network_is_refused_with_the_nearest():
    network = replace(QUICK.network, factory="lenet")
    with pytest.raises(InputError, match="did you mean 'lenet5'"):
        make_members(replace(QUICK, network=network), Shape((1, 28, 28), 10))


def test_widths_and_colours_that_a_network_does_not_have_are_refused():
    with pytest.raises(InputError, match="one width"):
        build.lenet5(Shape((1, 28, 28), 10), 3)
    with pytest.raises(InputError, match="3 channels"):
        build.resnet18(Shape((1, 28, 28), 10), None)


def test_bounded_networks_leave_the_last_layer_free():
    net = build.bounded(build.resnet32(Shape((3, 16, 16), 10), None), 3.0, Shape((3, 16, 16), 10))
    hooked = {name for name, module in net.named_modules() if module._forward_pre_hooks}
    assert "linear" not in hooked
    assert {"stem.0", "group3.4.conv2"} <= hooked
    net = build.bounded(build.mlp(Shape((1, 8, 8), 10), None), 3.0, Shape((1, 8, 8), 10))
    hooked = [name for name, module in net.named_modules() if module._forward_pre_hooks]
    assert hooked == ["1.layers.0.linear", "1.layers.1.linear"]


def test_schedules_are_shares_of_the_run():
    assert make_schedule(OptimizerSettings(warmup=5 / 50), 18_000) == WarmupCosine(1800, 18_000)
    assert make_schedule(OptimizerSettings(warmup=0.5), 1) == WarmupCosine(0, 1)
    steps = OptimizerSettings(schedule="steps", milestones=(150 / 350, 250 / 350))
    assert make_schedule(steps, 700) == Milestones((300, 500))
    assert make_schedule(OptimizerSettings(schedule="constant"), 10) == Constant()


def test_decay_spares_biases_unless_it_is_for_all():
    members = make_members(QUICK, Shape((1, 8, 8), 10))
    spared = make_optimizer(OptimizerSettings(weight_decay=0.1), members)
    everywhere = make_optimizer(OptimizerSettings("sgd", weight_decay=0.1, decay_all=True), members)
    assert [group["weight_decay"] for group in spared.param_groups] == [0.1, 0.0]
    assert [group["weight_decay"] for group in everywhere.param_groups] == [0.1]
    assert sum(len(group["params"]) for group in spared.param_groups) == len(everywhere.param_groups[0]["params"]) == 6


def test_outliers_span_black_to_white_as_the_network_sees_them():
    source = inliers("digits", "train")
    made = make_outliers(3, whitening_of(source, QUICK.data))
    seen = source.whitening(source.images)
    assert (made.black[0], made.white[0]) == pytest.approx((float(seen.min()), float(seen.max())), rel=1e-5)
    assert make_outliers(0, source.whitening) is None


def test_unknown_devices_are_refused():
    with pytest.raises(InputError, match="device: expected"):
        pick_device("gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="torch sees no GPU"):
        pick_device("cuda:0")


def test_scaled_takes_the_root_in_epochs_and_in_data():
    recipe = find("dirty-mnist/ensemble-he")
    small = recipe.scaled(0.01)
    assert (small.epochs, small.data.fraction, small.budget) == (5, pytest.approx(0.1), 0.01)
    assert recipe.scaled(1e-9).epochs == 1
    assert recipe.scaled(1.0) == recipe
    with pytest.raises(InputError, match="budget"):
        recipe.scaled(0.0)


def test_restoring_needs_a_run(tmp_path):
    with pytest.raises(InputError, match="expected the folder of a run"):
        restore(Path(tmp_path))
