from functools import partial

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.optim.lr_scheduler import LambdaLR

from hecka.data.batches import Batches
from hecka.errors import CheckpointError, InputError
from hecka.training import checkpoint
from hecka.training.schedules import Milestones


@pytest.fixture
def finished(train, tmp_path):
    """The checkpoint of a finished run."""
    train(out=tmp_path)
    return tmp_path / "checkpoint.safetensors"


@pytest.fixture
def refused(train, finished):
    """The message with which the run's folder refuses a call."""

    def message(**changes):
        before = finished.read_bytes()
        with pytest.raises(CheckpointError) as caught:
            train(out=finished.parent, **changes)
        assert finished.read_bytes() == before
        return str(caught.value)

    return message


def test_another_architecture_is_refused_by_names_and_shapes(refused, make_members):
    message = refused(members=make_members(width=5))
    assert "'net.0.weight': expected (2, 5, 3), came (2, 6, 3)" in message
    message = refused(members=make_members(members=3))
    assert "'net.0.weight': expected (3, 6, 3), came (2, 6, 3)" in message
    assert "net.0" not in message.replace("net.0.weight", "").replace("net.0.bias", "")


@pytest.mark.parametrize(
    ("changes", "expected", "came"),
    [  # the seed is also that of the data's order
        ({"seed": 1}, "seed: expected 1", "came 0"),
        ({"optimizer": partial(torch.optim.SGD, lr=0.5, momentum=0.9)}, "SGD(lr=0.5", "SGD(lr=0.1"),
        ({"optimizer": partial(torch.optim.AdamW, lr=0.1)}, "AdamW(lr=0.1", "SGD(lr=0.1"),
        ({"schedule": Milestones((5,))}, "schedule: expected Milestones(at=(5,), factor=0.1)", "came None"),
        ({"clip": 2.0}, "clip: expected 2.0", "came None"),
        ({"batch_size": 6}, "batch_size=6", "batch_size=4"),
        ({"precision": "bf16"}, "precision: expected bf16", "came float32"),
        ({"outliers": max}, "outliers: expected <built-in function max>", "came None"),
    ],
)
def test_other_settings_are_refused_and_named(refused, changes, expected, came):
    first, *differences, last = refused(**changes).splitlines()
    assert first.endswith("of a run with other settings")
    assert last.startswith("use another folder")
    assert len(differences) == (2 if "seed" in changes else 1)
    assert expected in differences[-1]
    assert came in differences[-1]


def test_a_function_is_the_same_setting_in_every_process(train, tmp_path):
    train(out=tmp_path, schedule=lambda step: 1.0)
    train(out=tmp_path, schedule=lambda step: 1.0, epochs=4)  # another object at another address


def test_a_shorter_run_than_the_checkpoint_is_refused(refused):
    assert "within epochs=2, got one after 3 epochs and 9 steps" in refused(epochs=2)
    assert "within steps=8, got one after 3 epochs and 9 steps" in refused(steps=8)


def test_every_truncated_file_is_refused(finished, train):
    whole = finished.read_bytes()
    for length in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        finished.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="damaged or truncated"):
            train(out=finished.parent)


def test_a_damaged_header_is_refused(finished, train):
    whole = finished.read_bytes()
    finished.write_bytes(whole.replace(b"optimizer", b'opt"mizer', 1))
    with pytest.raises(CheckpointError, match="damaged or truncated"):
        train(out=finished.parent)


@pytest.mark.parametrize(
    ("header", "message"),
    [({}, "another safetensors file"), ({"hecka": "2"}, "expected format 1 or older, got 2.*upgrade hecka")],
)
def test_foreign_and_newer_files_are_refused(finished, refused, header, message):
    save_file(load_file(finished), finished, header)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.read(finished, "members")
    assert message.split(".*")[-1] in refused()


def test_a_write_that_fails_leaves_the_last_good_checkpoint(finished, train, monkeypatch):
    before = finished.read_bytes()

    def half_written(tensors, path, metadata):
        path.write_bytes(before[:1000])
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "save_file", half_written)
    with pytest.raises(OSError, match="disk full"):
        train(out=finished.parent, epochs=4)
    assert finished.read_bytes() == before
    monkeypatch.undo()
    train(out=finished.parent, epochs=4)
    assert {path.name for path in finished.parent.iterdir()} == {"checkpoint.safetensors", "record.jsonl"}


def test_the_file_is_readable_without_hecka(finished):
    with safe_open(finished, framework="pt") as file:
        assert file.get_tensor("members/net.0.weight").shape == (2, 6, 3)
        assert '"seed", "0"' in file.metadata()["state"]


def test_shared_and_transposed_tensors_are_stored_by_value(tmp_path):
    path, table = tmp_path / "checkpoint.safetensors", torch.arange(6.0).view(2, 3)
    state = {"a": table, "b": table, "turned": table.T, "row": table[1]}
    checkpoint.write(path, {}, {"members": state})
    again = checkpoint.read(path, "members")
    assert again.keys() == state.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in state.items())


def test_state_that_cannot_be_saved_is_found_before_training(train, hooked, make_members, tmp_path):
    class Rate:
        def __init__(self):
            self.memory = object()

        def __call__(self, step):
            return 1.0

    members, steps = make_members(), []
    optimizer = torch.optim.SGD(members.parameters(), lr=0.1)
    settings = {"members": members, "optimizer": optimizer, "method": hooked(hook=steps.append)}
    with pytest.raises(InputError, match="got a object at 'run/schedule/lr_lambdas/0/memory'"):
        train(out=tmp_path, schedule=LambdaLR(optimizer, Rate()), **settings)
    assert steps == []
    train(out=tmp_path, schedule=Rate(), **settings)  # a function of the step has no state to save


def test_load_gives_the_runs_predictions(train, make_members, tmp_path, data):
    run = train(out=tmp_path)
    for path in (tmp_path, str(tmp_path / "checkpoint.safetensors")):
        members = make_members(seed=9)
        assert checkpoint.load(path, members) is members
        assert torch.equal(members.predict(data[0]).logits, run.members.predict(data[0]).logits)


def test_load_refuses_what_does_not_fit_or_is_not_there(finished, make_members):
    with pytest.raises(CheckpointError, match=r"'net\.4\.weight': expected \(2, 3, 7\), came \(2, 3, 6\)"):
        checkpoint.load(finished, make_members(width=7))
    with pytest.raises(CheckpointError, match="not there"):
        checkpoint.load(finished.parent / "elsewhere", make_members())


def test_a_folder_that_cannot_be_written_is_found_before_training(train, hooked, tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    steps = []
    for out in (occupied, occupied / "below"):
        with pytest.raises(InputError, match="folder to write to"):
            train(out=out, method=hooked(hook=steps.append))
    assert steps == []


def test_less_data_than_the_checkpoint_has_seen_is_refused(train, tmp_path, data):
    class Endless:
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            return iter([tuple(data)] * self.count)

    train(out=tmp_path, data=Endless(4), steps=3)
    with pytest.raises(CheckpointError, match="3 batches into its epoch, but they end before"):
        train(out=tmp_path, data=Endless(2), steps=5)


def test_checkpoints_are_no_more_frequent_than_asked(train, data, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "write", lambda path, settings, state: written.append(state["run"]["position"]))
    train(out=tmp_path, data=Batches(*data), epochs=50, checkpoint_every=3600)
    assert [position["step"] for position in written] == [50]
    train(out=tmp_path, data=Batches(*data), epochs=3, checkpoint_every=0)
    assert [position["step"] for position in written[1:]] == [0, 1, 2, 3]
