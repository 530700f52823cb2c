"""The tables of a page: what the runs scored, which outliers they found, and how they were set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hecka.data.catalogue import spaced
from hecka.report.markup import Markup, element, joined
from hecka.report.reported_run import SCORE_NAMES, ReportedRun, outlier_sets

# Heading -> what it says of a run, and in one sentence what it means.
Cell = Callable[[ReportedRun], str]


def _score(name: str) -> Cell:
    return lambda run: f"{run.evaluation['scores'][name]:.4f}"


SCORES: dict[str, tuple[Cell, str]] = {
    "accuracy ↑": (_score("accuracy"), "Share of the test set that is named rightly."),
    "NLL ↓": (_score("nll"), "Mean of -log of the probability that the true class was given."),
    "NLL of mean ↓": (_score("nll_of_mean"), "-log of the mean of that probability, as in the published tables."),
    "Brier ↓": (_score("brier"), "Squared distance of the probabilities from the truth."),
    "ECE ↓": (_score("ece"), "How far confidence and accuracy are apart, in 15 bins; 0 is perfect."),
    "entropy": (_score("mean_entropy"), "How unsure it is of the test set on average, in nats; 0 is sure."),
    "mutual information": (
        _score("mean_mutual_information"),
        "The part of that entropy that comes from members who disagree.",
    ),
    "disagreement": (_score("disagreement"), "How often two members name different classes."),
    "CKA": (
        lambda run: "-" if run.evaluation["cka"] is None else f"{run.evaluation['cka']['mean']:.3f}",
        "How alike two members see the test set, mean over layers; 1 is alike, 0 unrelated.",
    ),
}

DETECTION = {
    "AUROC ↑": ("auroc", "The chance that an outlier scores above an inlier; 50 % is blind guessing."),
    "AUPR ↑": ("aupr", "Mean precision over all thresholds; it depends on how many outliers there are to an inlier."),
    "FPR95 ↓": ("fpr95", "Share of inliers that are called outliers where 95 % of the outliers are found."),
}


def score_table(runs: Sequence[ReportedRun]) -> Markup:
    """A row for each run: what it scored on its own test set."""
    rows = [[run.name, *(cell(run) for cell, _ in SCORES.values())] for run in runs]
    return joined(table(["run", *SCORES], rows), meanings({name: about for name, (_, about) in SCORES.items()}))


def detection_table(runs: Sequence[ReportedRun]) -> Markup:
    """A row for each set of outliers and run: how well each score finds them."""
    if not outlier_sets(runs):
        return Markup("")
    rows = []
    for name in outlier_sets(runs):
        for run in runs:
            for score, called in SCORE_NAMES.items():
                found = run.detection(name, score)
                if found is not None:
                    numbers = [percent(found[key]) for key, _ in DETECTION.values()]
                    count = spaced(run.outliers[name]["examples"])
                    rows.append([name, run.name, called, *numbers, count])
    about = {name: sentence for name, (_, sentence) in DETECTION.items()}
    return joined(table(["outliers", "run", "by", *DETECTION, "images"], rows, words=3), meanings(about))


def settings_tables(runs: Sequence[ReportedRun]) -> Markup:
    """What differs between the runs, and everything that was set, for each."""
    flat = [flattened(run.config) for run in runs]
    names = list(dict.fromkeys(name for each in flat for name in each))
    odd = [name for name in names if len({each.get(name, "-") for each in flat}) > 1]
    parts = []
    if odd:
        rows = [[name, *(each.get(name, "-") for each in flat)] for name in odd]
        parts.append(element("h3", None, "What differs"))
        parts.append(table(["setting", *(run.name for run in runs)], rows, words=len(runs) + 1))
    for run, each in zip(runs, flat, strict=True):
        whole = table(["setting", "value"], [list(item) for item in each.items()], words=2)
        parts.append(element("details", None, element("summary", None, f"All settings of {run.name}"), whole))
    return joined(*parts)


def flattened(config: Mapping[str, Any], where: str = "") -> dict[str, str]:
    """Nested settings as dotted names; the kind of nested ones stands under their own name.

    >>> flattened({"recipe": {"settings": "Recipe", "data": {"settings": "DataSettings", "name": "digits"}}})
    {'recipe': 'Recipe', 'recipe.data': 'DataSettings', 'recipe.data.name': 'digits'}
    """
    found: dict[str, str] = {}
    for name, value in config.items():
        inner = f"{where}.{name}" if where else name
        if name == "settings":
            found[where] = str(value)
        elif isinstance(value, Mapping):
            found |= flattened(value, inner)
        else:
            found[inner] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return found


def table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Markup:
    """A table in a box of its own that scrolls where the page is narrow; the first ``words`` columns are text."""

    def cells(tag: str, row: Sequence[str]) -> Markup:
        return element(
            "tr",
            None,
            *(element(tag, None if at < words else {"class": "number"}, cell) for at, cell in enumerate(row)),
        )

    unbroken = [re.sub(" ([↑↓])", "\u00a0\\1", name) for name in header]  # an arrow keeps to its word
    head = element("thead", None, cells("th", unbroken))
    body = element("tbody", None, *(cells("td", row) for row in rows))
    return element("div", {"class": "wide", "tabindex": 0}, element("table", None, head, body))


def meanings(about: Mapping[str, str]) -> Markup:
    """What each column means, folded away."""
    lines = (joined(element("dt", None, name), element("dd", None, sentence)) for name, sentence in about.items())
    return element(
        "details", None, element("summary", None, "What the columns mean"), element("dl", None, joined(*lines))
    )


def percent(share: float) -> str:
    """A share with two decimals.

    >>> percent(0.98765).split()  # at its space no line breaks
    ['98.77', '%']
    """
    return f"{100 * share:.2f}\u202f%"
