import json

import pytest
import torch

from hecka.errors import CheckpointError, InputError
from hecka.training.record import Records


def add(records, *epochs):
    for epoch in epochs:
        records.add({"epoch": epoch}, {"loss": torch.tensor(epoch / 2)})


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_written_once_and_only_on_demand(tmp_path):
    path = tmp_path / "record.jsonl"
    records = Records(path)
    add(records, 1, 2)
    assert not path.exists()
    records.write()
    add(records, 3)
    records.write()
    records.write()
    assert lines(path) == records.done == [{"epoch": n, "loss": n / 2} for n in (1, 2, 3)]


def test_a_resumed_run_drops_what_lies_beyond_its_checkpoint(tmp_path):
    path = tmp_path / "record.jsonl"
    records = Records(path)
    add(records, 1, 2, 3)
    records.write()
    with path.open("a") as file:
        file.write('{"epoch": 4, "lo')  # killed while writing
    again = Records(path, epochs=2)
    assert [record["epoch"] for record in lines(path)] == [1, 2]
    add(again, 3)
    again.write()
    assert [record["epoch"] for record in lines(path)] == [1, 2, 3]
    assert list(tmp_path.iterdir()) == [path]


def test_a_lost_or_broken_diary_is_an_error(tmp_path):
    path = tmp_path / "record.jsonl"
    with pytest.raises(CheckpointError, match=r"expected the 2 epochs .* got 0"):
        Records(path, epochs=2)
    path.write_text('{"epoch": 1}\n{"epoch"\n')
    with pytest.raises(CheckpointError, match="one JSON object a line"):
        Records(path, epochs=2)


def test_a_part_may_not_take_the_name_of_a_records_own_field():
    with pytest.raises(InputError, match=r"\['step'\]"):
        Records(None).add({"step": 1}, {"step": torch.tensor(1.0)})
