"""Reading the finished runs of a table's folder: RUNS/ROW/seed-K, whatever their settings were."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hecka.errors import InputError
from hecka.experiments.table_rows import TableRow
from hecka.experiments.table_text import INLINE


@dataclass(frozen=True)
class FinishedRun:
    """One evaluated run."""

    row: TableRow
    folder: Path
    evaluation: dict[str, Any]
    notes: tuple[str, ...]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``evaluation.npz`` holds."""
        with np.load(self.folder / "evaluation.npz", allow_pickle=False) as content:
            return dict(content)


def finished_runs(runs: Path, rows: Sequence[TableRow], table: str) -> dict[TableRow, list[FinishedRun]]:
    """All evaluated seeds of those of ``rows`` that have any; ``table`` is the command that makes them."""
    found: dict[TableRow, list[FinishedRun]] = {}
    for row in rows:
        for path in sorted((runs / row.slug).glob("seed-*/evaluation.json")):
            evaluation = json.loads(path.read_text(encoding="utf-8"))
            config = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
            found.setdefault(row, []).append(FinishedRun(row, path.parent, evaluation, _notes(evaluation, config)))
    if not found:
        raise InputError(
            f"{runs}: expected evaluated runs of {', '.join(row.slug for row in rows)}, got none; "
            f"run `hecka reproduce {table}` first, or name its folder with --runs"
        )
    return found


def missing(rows: Sequence[TableRow], found: dict[TableRow, list[FinishedRun]]) -> str:
    """A sentence about rows without a run; empty when there are none."""
    names = [row.name for row in rows if row not in found]
    return f"No finished run of: {', '.join(names)}." if names else ""


def shared_notes(runs: Sequence[FinishedRun]) -> list[str]:
    """What to know about these runs, each note once."""
    seeds = len({run.folder.name for run in runs})
    return list(
        dict.fromkeys([f"{seeds} seed{'s' if seeds > 1 else ''}", *(note for run in runs for note in run.notes)])
    )


def headline(question: str, notes: Sequence[str]) -> str:
    r"""A picture's title: its question, and in a second line those notes that are short enough to stand there.

    >>> headline("How unsure?", ["2 seeds", "surrogate Ambiguous-MNIST", "files/raw.gz: no published checksum known"])
    'How unsure?\n2 seeds, surrogate Ambiguous-MNIST'
    """
    return "\n".join([question, ", ".join(note for note in notes if len(note) <= INLINE)])


def _notes(evaluation: dict[str, Any], config: dict[str, Any]) -> tuple[str, ...]:
    budget = [] if evaluation["budget"] == 1 else [f"budget {evaluation['budget']:g}"]
    sets = (evaluation["inliers"], *evaluation["outliers"].values())
    return (*budget, *config["notes"], *(note for each in sets for note in each["notes"]), config["device"])
