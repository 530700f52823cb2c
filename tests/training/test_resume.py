"""A resumed run equals an uninterrupted one in every bit."""

import signal
import time
from functools import partial

import pytest
import torch
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

from hecka.data.batches import Batches
from hecka.training import checkpoint
from hecka.training.schedules import WarmupCosine

ADAMW = partial(torch.optim.AdamW, lr=0.02, fused=True)


def stop_at(*steps):
    """A hook that presses Ctrl-C in the middle of these steps."""

    def hook(step):
        if step in steps:
            signal.raise_signal(signal.SIGINT)

    return hook


def crash_at(crashing):
    def hook(step):
        if step == crashing:
            raise OSError("power failure")

    return hook


def numbers(run):
    """All that a run leaves but its wall-clock time."""
    return run.members.state_dict(), [{**record, "seconds": 0} for record in run.records]


def assert_equal_runs(one, other):
    (weights, records), (other_weights, other_records) = numbers(one), numbers(other)
    assert records == other_records
    assert (one.steps, one.epochs) == (other.steps, other.epochs)
    assert weights.keys() == other_weights.keys()
    for name, tensor in weights.items():
        assert torch.equal(tensor, other_weights[name]), name


def noise(inputs, generator):
    return torch.randn(2, 3, generator=generator)


def shuffled_by_the_global_generator(data):
    return {"data": DataLoader(TensorDataset(*data), batch_size=4, shuffle=True)}


def shuffled_by_its_own_generator(data):
    generator = torch.Generator().manual_seed(5)
    return {"data": DataLoader(TensorDataset(*data), batch_size=5, shuffle=True, generator=generator)}


SETTINGS = {
    "momentum, schedule and clipping": lambda data: {"schedule": WarmupCosine(2, 12), "clip": 0.5},
    "AdamW and validation": lambda data: {"optimizer": ADAMW, "validation": data},
    "outliers": lambda data: {"outliers": noise},
    "outliers for two steps at once": lambda data: {"outliers": noise, "outlier_steps": 2},
    "whole set": lambda data: {"data": Batches(*data), "epochs": 9},
    "global generator": shuffled_by_the_global_generator,
    "own generator": shuffled_by_its_own_generator,
}


@pytest.mark.parametrize("stops", [(1,), (3,), (5,), (2, 4, 8), (9,)], ids=str)
@pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS.keys())
def test_a_run_interrupted_anywhere_ends_in_the_same_numbers(train, hooked, data, tmp_path, make, stops):
    # Data are made anew for every call, as a new process would.
    expected = train(**make(data))
    for _ in stops:
        with pytest.raises(KeyboardInterrupt, match=r"stopped after step \d.*goes on from .*safetensors"):
            train(out=tmp_path, method=hooked(hook=stop_at(*stops)), **make(data))
        # A stop at a step that is already done no longer comes, so each call gets to the next one.
    assert_equal_runs(train(out=tmp_path, method=hooked(hook=stop_at()), **make(data)), expected)


@pytest.mark.parametrize("crash", [1, 4, 8])
def test_a_crash_costs_what_came_after_the_last_checkpoint_and_nothing_else(train, hooked, tmp_path, crash):
    with pytest.raises(OSError, match="power failure"):
        train(out=tmp_path, method=hooked(hook=crash_at(crash)), checkpoint_every=0)
    seen = []
    resumed = train(out=tmp_path, method=hooked(hook=seen.append), checkpoint_every=0)
    assert seen[0] == (crash - 1) // 3 * 3 + 1
    assert_equal_runs(resumed, train())


@pytest.mark.parametrize("first", [{"steps": 4}, {"steps": 6}, {"epochs": 2}], ids=str)
@pytest.mark.parametrize("more", [{"steps": 9}, {"epochs": 3}, {"steps": 8}], ids=str)
def test_asking_for_more_continues_a_finished_run(train, tmp_path, first, more):
    train(out=tmp_path, **first)
    assert_equal_runs(train(out=tmp_path, **more), train(**more))


def test_a_finished_run_returns_at_once(train, hooked, tmp_path):
    expected = train(out=tmp_path, steps=5)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = train(out=tmp_path, steps=5, method=hooked(hook=crash_at(1)))
    assert_equal_runs(again, expected)
    assert again.seconds == expected.seconds
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_torch_scheduler_and_its_optimizer_resume_too(train, hooked, make_members, tmp_path):
    def parts():
        members = make_members()
        optimizer = torch.optim.SGD(members.parameters(), lr=0.1, momentum=0.9)
        return {
            "members": members,
            "optimizer": optimizer,
            "schedule": OneCycleLR(optimizer, max_lr=0.2, total_steps=10),
        }

    with pytest.raises(KeyboardInterrupt):
        train(out=tmp_path, method=hooked(hook=stop_at(5)), **parts())
    assert_equal_runs(train(out=tmp_path, **parts()), train(**parts()))


def test_resumed_seconds_add_up(train, hooked, tmp_path):
    first = train(out=tmp_path, epochs=1, method=hooked(hook=lambda step: time.sleep(0.05)))
    second = train(out=tmp_path, epochs=2)
    assert 0.15 <= first.records[0]["seconds"] <= first.seconds < second.records[1]["seconds"] <= second.seconds


@pytest.mark.slow
def test_worker_processes_resume_too(train, hooked, data, tmp_path):
    def loader():
        return DataLoader(
            TensorDataset(*data), batch_size=4, shuffle=True, num_workers=2, generator=torch.Generator().manual_seed(5)
        )

    with pytest.raises(KeyboardInterrupt):
        train(out=tmp_path, method=hooked(hook=stop_at(4)), data=loader())
    assert_equal_runs(train(out=tmp_path, data=loader()), train(data=loader()))


def test_a_run_goes_on_on_another_kind_of_device_and_says_so(train, tmp_path):
    """As if a GPU had written the checkpoint: its generators' states are of another length, and there is one more."""
    train(outliers=noise, epochs=2, out=tmp_path)
    path = tmp_path / checkpoint.NAME
    state = {part: checkpoint.read(path, part) for part in ("members", "run")}
    gpu = torch.zeros(16, dtype=torch.uint8)
    for drawn in (state["run"]["generators"], state["run"]["epoch_start"]):
        drawn |= {"own": gpu, "torch.cuda": gpu}
    state["run"]["device"] = "cuda"
    checkpoint.write(path, checkpoint.read(path, "settings"), state)

    with pytest.warns(UserWarning, match="began on cuda and goes on on cpu"):
        run = train(outliers=noise, epochs=3, out=tmp_path)
    assert run.epochs == 3
    drawn = [record["drawn"] for record in run.records]
    assert len(set(drawn)) == 3  # a generator that had only been seeded anew would repeat the first epoch's
