import json
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from hecka.data.batches import Batches
from hecka.errors import InputError, NonFiniteError
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.outliers.border import Border
from hecka.training import logbook
from hecka.training.fit import fit
from hecka.training.schedules import Milestones


def test_one_member_is_trained_as_a_plain_torch_loop_would(data):
    inputs, targets = data
    schedule, clip = Milestones((3, 6), 0.5), 0.2
    ensemble = Ensemble(lambda: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)), members=1)
    net = ensemble.member(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    norms = []
    for step in range(8):
        optimizer.param_groups[0]["lr"] = 0.5 * schedule(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), targets).backward()
        norms.append(float(nn.utils.clip_grad_norm_(net.parameters(), clip)))
        optimizer.step()
    sgd = partial(torch.optim.SGD, lr=0.5, momentum=0.9)
    run = fit(
        ensemble, data, method=Independent(), steps=8, optimizer=sgd, schedule=schedule, clip=clip, progress=False
    )
    for name, expected in net.state_dict().items():
        torch.testing.assert_close(ensemble.net.state_dict()[name][0], expected)
    assert [record["gradient_norm"] for record in run.records] == pytest.approx(norms)
    assert [record["learning_rate"] for record in run.records] == [0.5 * schedule(step) for step in range(8)]


def test_values_can_be_learnt():
    inputs = torch.linspace(-1, 1, 20)[:, None]
    ensemble = Ensemble(lambda: nn.Linear(1, 1), members=3)
    adam = partial(torch.optim.AdamW, lr=0.1, weight_decay=0)
    data = (inputs, 2 * inputs - 0.5)
    run = fit(
        ensemble, data, method=Independent(), steps=300, optimizer=adam, validation=data, clip=9.0, progress=False
    )
    assert run.records[-1]["validation_mse"] < 1e-4
    torch.testing.assert_close(ensemble.net.weight.flatten(), torch.full((3,), 2.0), atol=0.02, rtol=0)


def test_a_seed_repeats_a_run_whatever_the_caller_has_drawn_and_the_caller_draws_on_undisturbed(train):
    torch.manual_seed(11)
    before = torch.get_rng_state()
    first = train(seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(12)
    second, other = train(seed=3), train(seed=4)
    name = "net.0.weight"
    assert torch.equal(first.members.state_dict()[name], second.members.state_dict()[name])
    assert not torch.equal(first.members.state_dict()[name], other.members.state_dict()[name])


def test_no_two_streams_of_random_numbers_are_equal(train, hooked):
    drawn = []
    train(method=hooked(hook=lambda step: drawn.append(torch.rand(()).item())), batch_size=12, epochs=4)
    run = train(batch_size=12, epochs=4)
    assert not {record["drawn"] for record in run.records} & set(drawn)


class NoWaiting(TorchDispatchMode):
    """Raises where the host would wait for a number from a device."""

    WAITS = ("_local_scalar_dense", "nonzero", "equal", "is_nonzero", "item", "masked_select")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.name().split("::")[1].split(".")[0] not in self.WAITS, f"{func.name()} waits for the device"
        return func(*args, **(kwargs or {}))


def test_no_step_waits_for_the_device(train, make_members, data, monkeypatch):
    with pytest.raises(AssertionError, match="waits"), NoWaiting():
        torch.ones(1).item()
    monkeypatch.setattr(logbook, "LOOK_EVERY", 3600)
    reads = []
    tolist = torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: reads.append(tensor.shape) or tolist(tensor))
    batches = Batches(*data, 4)
    optimizers = partial(torch.optim.SGD, lr=0.1, momentum=0.9), partial(torch.optim.AdamW, fused=True)
    counts = []
    for epochs in (2, 20):
        for optimizer in optimizers:
            members = make_members()
            reads.clear()
            with NoWaiting():
                train(members=members, data=batches, epochs=epochs, optimizer=optimizer, method=Independent(), clip=1.0)
            counts.append(len(reads))
    assert len(set(counts)) == 1, "host reads grow with the number of steps or epochs"


@dataclass(frozen=True)
class Breaking(Independent):
    """Reports an energy that is NaN from ``step`` on, or makes the gradient so with no word."""

    step: int = 1
    silent: bool = False

    def start(self, members):
        return {"count": torch.zeros(())}

    def __call__(self, members, params, batch, state, generator):
        step = super().__call__(members, params, batch, state, generator)
        count = state["count"] + 1
        bad = torch.where(count >= self.step, torch.nan, 1.0)
        direction = {name: each * bad for name, each in step.direction.items()} if self.silent else step.direction
        info = step.info if self.silent else {**step.info, "energy": bad}
        return replace(step, direction=direction, info=info, state={"count": count})


@pytest.mark.parametrize(("silent", "part"), [(False, "'energy'"), (True, "'gradient_norm'")])
@pytest.mark.parametrize("look_every", [0, 3600])
def test_the_first_number_that_is_not_finite_stops_the_run_and_is_named(
    train, tmp_path, monkeypatch, silent, part, look_every
):
    monkeypatch.setattr(logbook, "LOOK_EVERY", look_every)
    method = Breaking(step=5, silent=silent)
    with pytest.raises(NonFiniteError, match=rf"in {part} at step 5; lower .* remains at .*safetensors"):
        train(out=tmp_path, method=method, checkpoint_every=0)
    # The checkpoint is of step 3, the last epoch's end before the break: resuming meets the same end.
    assert [json.loads(line)["step"] for line in (tmp_path / "record.jsonl").read_text().splitlines()] == [3]
    with pytest.raises(NonFiniteError, match="at step 5"):
        train(out=tmp_path, method=method, checkpoint_every=0)


def test_validation_does_not_hide_where_the_numbers_broke(train, data):
    with pytest.raises(NonFiniteError, match="'gradient_norm' at step 2"):
        train(method=Breaking(step=2, silent=True), validation=data)


def test_records_hold_means_rates_and_validation_as_plain_json(train, data, hooked, tmp_path):
    run = train(out=tmp_path, validation=data, method=hooked())
    records = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
    assert records == run.records
    assert [(record["epoch"], record["step"]) for record in records] == [(1, 3), (2, 6), (3, 9)]
    assert [record["count"] for record in records] == [2.0, 5.0, 8.0]  # the means of 1 2 3, 4 5 6, 7 8 9
    expected = {"epoch", "step", "seconds", "learning_rate", "loss", "drawn", "count", "gradient_norm"}
    assert set(records[0]) == expected | {"validation_accuracy", "validation_nll"}
    answer = run.members.predict(data[0])
    assert records[-1]["validation_accuracy"] == pytest.approx(float((answer.labels == data[1]).float().mean()))


def test_steps_may_end_within_an_epoch(train):
    run = train(steps=5)
    assert (run.steps, run.epochs) == (5, 1)
    assert [(record["epoch"], record["step"], record["count"]) for record in run.records] == [(1, 3, 2.0), (2, 5, 4.5)]


def test_outliers_reach_the_method_with_the_batch(train, data):
    seen = []

    class Looking(Independent):
        def __call__(self, members, params, batch, state, generator):
            seen.append(batch.outliers)
            return super().__call__(members, params, batch, state, generator)

    train(method=Looking(), outliers=Border.around(data[0], count=7))
    assert [tuple(outliers.shape) for outliers in seen] == [(7, 3)] * 9
    assert not torch.equal(seen[0], seen[1])


def test_outliers_of_another_shape_are_refused(train):
    with pytest.raises(InputError, match=r"like one inlier, \(3,\), got outliers \(2, 4\) with inliers \(4, 3\)"):
        train(outliers=lambda inputs, generator: torch.zeros(2, 4))


def test_members_train_in_training_mode_and_end_in_evaluation_mode(train, make_members):
    members = make_members()
    modes = []

    class Looking(Independent):
        def __call__(self, members, params, batch, state, generator):
            modes.append(members.training)
            return super().__call__(members, params, batch, state, generator)

    train(members=members.eval(), method=Looking())
    assert modes == [True] * 9
    assert not members.training


@pytest.mark.parametrize(("precision", "dtype"), [("float32", torch.float32), ("bf16", torch.bfloat16)])
def test_precision_is_that_of_the_method_and_not_of_the_weights(train, precision, dtype):
    seen = []

    class Looking(Independent):
        def __call__(self, members, params, batch, state, generator):
            seen.append((batch.inputs @ batch.inputs.T).dtype)
            return super().__call__(members, params, batch, state, generator)

    run = train(method=Looking(), precision=precision, steps=1)
    assert seen == [dtype]
    assert {parameter.dtype for parameter in run.members.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 2, "steps": 3}, "either epochs or steps"),
        ({"epochs": 0}, "at least 1, got epochs=0"),
        ({"epochs": 1.5}, "a whole number of at least 1, got epochs=1.5"),
        ({"method": "repulsive"}, r"such as hecka\.Repulsive\(\).*got 'repulsive'"),
        ({"method": Independent}, "got <class .*Independent'>; pass an instance"),
        (
            {"outliers": torch.zeros(5, 3)},
            "outliers of .inputs, generator., got a Tensor; to draw 30 a step from a pool",
        ),
        ({"batch_size": 4, "data": (torch.zeros(12, 3), torch.arange(12) % 4)}, "labels from 0 to 2 for 3 outputs"),
        ({"batch_size": 3, "method": Repulsive()}, r"at least 4, got 3 \(tap '2'\).*drop_last=True"),
        ({"steps": -1}, "got epochs=None and steps=-1"),
        ({"clip": 0.0}, "clip above 0"),
        ({"precision": "fp16"}, "'float32' or 'bf16', got 'fp16'"),
        ({"members": object()}, "nn.Module, got object"),
        ({"data": [], "steps": 5}, "at least 1 batch an epoch"),
    ],
)
def test_unusable_arguments_are_refused(train, changes, message):
    with pytest.raises(InputError, match=message):
        train(**changes)


def test_the_default_optimizer_is_adamw(train):
    run = train(optimizer=None, steps=1)
    assert run.records[0]["learning_rate"] == 1e-3


def test_rich_is_not_imported_without_a_bar():
    code = "import sys, hecka.training.fit; sys.exit('rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
