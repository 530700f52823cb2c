"""A table's columns: how each is read off an evaluation, and what several seeds make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from hecka.experiments.table_rows import TableRow, TableSpec

SETS = {
    "fashion-mnist": "Fashion-MNIST",
    "svhn": "SVHN",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "dtd": "DTD",
}
SCORES = {"entropy": "PE", "mutual_information": "MI"}
NLLS = {"nll": "NLL (proper)", "nll_of_mean": "NLL (of mean p)"}

Evaluation = Mapping[str, Any]
"""The content of one ``evaluation.json``."""


@dataclass(frozen=True)
class Column:
    """One quantity: its key (as in ``published``), its heading, and which way is better (+1 up, -1 down, 0 neither)."""

    key: str
    label: str
    digits: int
    better: int

    @property
    def heading(self) -> str:
        """The label with an arrow to the better side."""
        return f"{self.label}{ {1: ' ↑', -1: ' ↓', 0: ''}[self.better] }"


@dataclass(frozen=True)
class RowResult:
    """What a row's finished seeds gave, what to know about them, and what went wrong."""

    row: TableRow
    evaluations: Sequence[Evaluation]
    notes: Sequence[str] = ()
    errors: Sequence[str] = ()

    @property
    def by_density(self) -> bool:
        """Whether outliers are found by the density of features, as DDU does."""
        return any(evaluation["score"] == "density" for evaluation in self.evaluations)

    def values(self, key: str) -> list[float]:
        """One number a finished seed; empty where a column does not exist for the row."""
        found = (value(evaluation, key) for evaluation in self.evaluations)
        return [each for each in found if each is not None]

    def mean(self, key: str) -> float | None:
        """The mean over seeds."""
        values = self.values(key)
        return mean(values) if values else None


def columns(spec: TableSpec) -> tuple[Column, ...]:
    """The paper's columns, the NLL that it does not print, how alike members are, and the cost."""
    other = next(name for name in NLLS if name != spec.nll)
    every = (
        Column(spec.nll, NLLS[spec.nll], 3, -1),
        Column(other, NLLS[other], 3, -1),
        Column("accuracy", "Accuracy %", 2, +1),
        Column("ece", "ECE %", 2, -1),
        *(
            Column(f"{outliers}/{score}", f"AUROC % {SETS.get(outliers, outliers)}, {SCORES[score]}", 2, +1)
            for outliers in spec.outliers
            for score in spec.scores
        ),
        Column("cka", "Mean CKA", 3, -1),
        Column("seconds", "Training s", 0, 0),
    )
    return tuple(column for column in every if not spec.only or column.key in spec.only)


def value(evaluation: Evaluation, key: str) -> float | None:
    """The number of one column: AUROC, accuracy and ECE in percent; None where the run has none.

    A run that finds outliers by density shows that in the place of the entropy, as in the paper.
    """
    if key == "seconds":
        return float(evaluation["seconds"]["train"])
    if key == "cka":
        return None if evaluation["cka"] is None else float(evaluation["cka"]["mean"])
    if "/" not in key:
        return float(evaluation["scores"][key]) * (100 if key in ("accuracy", "ece") else 1)
    outliers, score = key.split("/")
    if score == "entropy" and evaluation["score"] == "density":
        score = "density"
    found = evaluation["outliers"].get(outliers, {}).get(score)
    return None if found is None else 100 * float(found["auroc"])
