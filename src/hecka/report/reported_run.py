"""One run as a page shows it: what its files say, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating[Any]]

SCORE_NAMES = {"entropy": "entropy", "mutual_information": "mutual information", "density": "density of features"}
INLIERS = "inliers"


@dataclass(frozen=True)
class ReportedRun:
    """A run's files.

    ``name`` tells it from the other runs of the page; ``config``, ``evaluation`` and ``arrays`` are the contents of
    config.json, evaluation.json and evaluation.npz, ``records`` those of the diary, line by line; ``parts`` are what
    the parts of its inliers are called.
    """

    name: str
    config: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    records: Sequence[Mapping[str, float]]
    parts: Sequence[str]

    @property
    def inliers(self) -> str:
        """The name of the set that it was trained for."""
        return str(self.evaluation["inliers"]["name"])

    @property
    def outliers(self) -> Mapping[str, Mapping[str, Any]]:
        """What was found of each set of outliers, by its name."""
        found: Mapping[str, Mapping[str, Any]] = self.evaluation["outliers"]
        return found

    @property
    def notes(self) -> list[str]:
        """What these results are not: a part of the work, a stand-in for a data set, images of another size."""
        budget = float(self.evaluation["budget"])
        own = [f"reduced: {budget:g} of the recipe's work"] if budget != 1 else []
        own += [*self.config["notes"], *self.evaluation["inliers"]["notes"]]
        own += [f"{name}: {note}" for name, each in self.outliers.items() for note in each["notes"]]
        return list(dict.fromkeys(own))

    def scores(self, name: str, score: str) -> Scores:
        """The ``score`` of every example of the set ``name``."""
        return self.arrays[f"{name}/{score}"]

    def inlier_parts(self) -> dict[str, Scores]:
        """Entropies of the test set, part by part."""
        entropy, part = self.scores(INLIERS, "entropy"), self.arrays["inliers/part"]
        return {name: entropy[part == index] for index, name in enumerate(self.parts) if (part == index).any()}

    def detection(self, name: str, score: str) -> Mapping[str, float] | None:
        """AUROC, AUPR and FPR95 of the set ``name`` by ``score``; None where that says nothing.

        A single network has no members to disagree: its mutual information is 0 for every example.
        """
        if score == "mutual_information" and self.evaluation["members"] == 1:
            return None
        found: Mapping[str, float] | None = self.outliers.get(name, {}).get(score)
        return found


def outlier_sets(runs: Sequence[ReportedRun]) -> list[str]:
    """The names of all sets of outliers, each once, in the order of the runs."""
    return list(dict.fromkeys(name for run in runs for name in run.outliers))
