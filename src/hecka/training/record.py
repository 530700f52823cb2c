"""A run's diary: one line of JSON an epoch, for eyes and for any tool that reads JSON lines.

Numbers stay on the device until somebody looks, and lines stay in memory until a checkpoint is written: an epoch of one
step costs neither a wait nor a write.  The file never runs ahead of the checkpoint by more than a crash between the two
writes, and a resumed run drops whatever is beyond its checkpoint.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from hecka.errors import CheckpointError, InputError

Record: TypeAlias = dict[str, float]
"""``epoch``, ``step``, ``seconds``, ``learning_rate``, the means of the loss's parts, ``validation_...``."""

NAME = "record.jsonl"


class Records:
    """The records of a run, in memory and, with a ``path``, on disk.

    Args:
        path: the file; None keeps the records in memory alone.
        epochs: how many records of an earlier part of the run stay; the file is cut to them.

    >>> records = Records(None)
    >>> records.add({"epoch": 1}, {"loss": torch.tensor(0.5)})
    >>> records.settle()
    >>> records.done
    [{'epoch': 1, 'loss': 0.5}]
    """

    def __init__(self, path: Path | None, epochs: int = 0) -> None:
        self.path = path
        self.done: list[Record] = [] if path is None else _cut(path, epochs)
        self._written = len(self.done)
        self._pending: list[tuple[Record, dict[str, Tensor]]] = []

    def add(self, head: Record, parts: dict[str, Tensor]) -> None:
        """One more record: numbers, and scalars that are still on the device."""
        if clash := sorted(head.keys() & parts.keys()):
            raise InputError(
                f"fit: expected other names for a method's info than a record's own, got {clash}; rename them"
            )
        self._pending.append((head, parts))

    def settle(self) -> None:
        """Bring all pending scalars to the host in one go."""
        scalars = [scalar for _, parts in self._pending for scalar in parts.values()]
        values = iter(torch.stack(scalars).tolist() if scalars else [])
        self.done += [head | {name: next(values) for name in parts} for head, parts in self._pending]
        self._pending = []

    def write(self) -> None:
        """Append what is new to the file, safely on disk when this returns."""
        self.settle()
        if self.path is None or self._written == len(self.done):
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in self.done[self._written :])
            file.flush()
            os.fsync(file.fileno())
        self._written = len(self.done)


def _cut(path: Path, epochs: int) -> list[Record]:
    """The first ``epochs`` records of the file, which keeps nothing else."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    try:
        kept: list[Record] = [json.loads(line) for line in lines[:epochs]]
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path}: expected one JSON object a line ({error}); use another folder") from error
    if len(kept) < epochs:
        raise CheckpointError(
            f"{path}: expected the {epochs} epochs that the checkpoint beside it has seen, got {len(kept)}; "
            "put the file back, or use another folder"
        )
    if len(lines) > epochs:
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text("".join(lines[:epochs]), encoding="utf-8")
        os.replace(partial, path)
    return kept
