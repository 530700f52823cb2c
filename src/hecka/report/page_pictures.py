"""The charts of a page, one panel a run or one line a run, on the same scales, each with a sentence on what to see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from hecka.report.charts import ROOT_TICKS, curves_chart, entropy_chart, reliability_chart, similarity_chart
from hecka.report.drawing import Axis, Point, round_axis, series, shares_axis
from hecka.report.markup import Markup, element, joined
from hecka.report.page_tables import percent
from hecka.report.reported_run import INLIERS, SCORE_NAMES, ReportedRun, outlier_sets
from hecka.scores.detection import roc_curve

DOTS = 300  # steps along an axis of a curve that an eye can tell apart
OUTLIER, FIRST_PART, FURTHER_PARTS = 1, 0, 2  # outliers are red in every panel
BLIND = [(step / 50, step / 50) for step in range(51)]  # a curve, for one axis is not straight
UNDRAWN = {"epoch", "step", "seconds"}
CURVES = {
    "loss": "Cross-entropy on the training data: it should fall, and settle.",
    "validation_accuracy": "Share of held-out examples that is named rightly: it should rise.",
    "validation_nll": "Cross-entropy on held-out examples: where it rises again, members learn by heart.",
    "energy": "How much the members repel each other on the data: lower is more different.",
    "energy_ood": "How much the members repel each other on made-up outliers: lower is more different.",
    "doubt_ood": "How unsure the members are of made-up outliers: it should rise.",
    "gamma": "The weight of repulsion.",
    "price": "What diversity costs the loss on the data: repulsion is set so that this stays at its limit.",
    "learning_rate": "The size of a step over the run.",
    "gradient_norm": "Length of all gradients together, before any clipping.",
}


def figure(title: str, picture: Markup, sentence: str, legend: Markup | None = None) -> Markup:
    """A picture, its title, its legend, and the sentence that says what to see in it."""
    return element("figure", None, element("h4", None, title), picture, legend, element("figcaption", None, sentence))


def legend(entries: Mapping[str, str]) -> Markup:
    """Text -> the classes of its series."""
    keys = (element("li", None, element("span", {"class": f"key {style}"}), name) for name, style in entries.items())
    return element("ul", {"class": "legend"}, *keys)


def reliabilities(runs: Sequence[ReportedRun]) -> Markup:
    """A reliability diagram for each run."""
    entries = {"accuracy": f"box {series(0)}", "share of all examples": "share", "confidence = accuracy": "guide"}
    panels = []
    for run in runs:
        error, bins = run.evaluation["scores"]["ece"], run.evaluation["reliability"]
        lean = sum(row["examples"] * (row["accuracy"] - row["confidence"]) for row in bins if row["examples"])
        sentence = (
            f"Confidence and accuracy are {100 * error:.1f} percentage points apart on average (ECE {error:.4f}); "
            f"on the whole it is {'less sure than it could be' if lean > 0 else 'surer than it should be'}."
        )
        panels.append(figure(run.name, reliability_chart(bins, f"{run.name}: {sentence}"), sentence, legend(entries)))
    return grid(panels)


def entropies(runs: Sequence[ReportedRun]) -> Markup:
    """Histograms of predictive entropy: a panel for each set of outliers and run."""
    top = math.log(max(len(run.config["classes"]) for run in runs))
    ticks = [(0.0, "0: sure"), (top / 2, f"{top / 2:.2f}"), (top, f"{top:.2f}: guessing")]
    axis = Axis("entropy in nats", 0.0, top, ticks)
    return set_by_set(
        {
            name: [_entropy_panel(run, name, axis, len(runs) == 1) for run in runs if name in run.outliers]
            for name in outlier_sets(runs)
        },
        "Against {}" if len(runs) > 1 else "",
    )


def _entropy_panel(run: ReportedRun, name: str, axis: Axis, alone: bool) -> Markup:
    sets = run.inlier_parts() | {f"{name} (never seen)": run.scores(name, "entropy")}
    styles = _set_styles(list(sets))
    medians = ", ".join(
        f"{max(float(np.median(values)), 0.0):.2f} on {each}"  # rounding gives -0.00
        for each, values in sets.items()
    )
    share = percent(run.outliers[name]["entropy"]["auroc"])
    sentence = f"Median entropy {medians}. The outlier has more in {share} of all pairs with an inlier (AUROC)."
    chart = entropy_chart(sets, styles, axis, f"{run.name}: {sentence}")
    title = f"Against {name}" if alone else run.name
    return figure(title, chart, sentence, legend({each: f"box {styles[each]}" for each in sets}))


def roc_curves(runs: Sequence[ReportedRun]) -> Markup:
    """ROC curves: a panel for each set of outliers and score, with a line for each run."""
    return set_by_set(
        {name: [_roc_panel(runs, name, score) for score in SCORE_NAMES] for name in outlier_sets(runs)},
        "Finding {}" if len(runs) > 1 else "",
    )


def _roc_panel(runs: Sequence[ReportedRun], name: str, score: str) -> Markup | None:
    found = {index: each for index, run in enumerate(runs) if (each := run.detection(name, score)) is not None}
    if not found:
        return None
    best = max(found, key=lambda index: found[index]["auroc"])
    lead = f"{runs[best].name} ranks best: an outlier" if len(found) > 1 else "An outlier"
    share = percent(found[best]["auroc"])
    sentence = f"{lead} scores above an inlier in {share} of all pairs (AUROC); the dashed line is blind guessing."
    alarms = Axis("inliers called outliers (square-root scale)", 0.0, 1.0, ROOT_TICKS, root=True)
    curves = {index: _roc_points(runs[index], name, score) for index in found}
    title = f"{name}, by {SCORE_NAMES[score]}"
    chart = curves_chart(alarms, shares_axis("outliers found"), curves, f"{title}: {sentence}", BLIND)
    entries = {f"{runs[index].name}: {percent(each['auroc'])}": series(index) for index, each in found.items()}
    return figure(title, chart, sentence, legend(entries))


def similarities(runs: Sequence[ReportedRun]) -> Markup:
    """CKA between members, layer against layer: a panel for each run of more than one."""
    panels = []
    for run in runs:
        cka = run.evaluation["cka"]
        if cka is None:
            continue
        layers: Mapping[str, float] = cka["per_layer"]
        alike, different = max(layers, key=lambda tap: layers[tap]), min(layers, key=lambda tap: layers[tap])
        sentence = (
            f"The same layer of two members is {cka['mean']:.2f} alike on average: most at {alike} "
            f"({layers[alike]:.2f}), least at {different} ({layers[different]:.2f})."
        )
        chart = similarity_chart(cka["layers"], cka["taps"], f"{run.name}: {sentence}")
        panels.append(figure(run.name, chart, sentence))
    return grid(panels)


def trainings(runs: Sequence[ReportedRun]) -> Markup:
    """What the diaries say, epoch by epoch: a panel for each quantity, a line for each run."""
    names = list(dict.fromkeys(name for run in runs for line in run.records for name in line if name not in UNDRAWN))
    panels = []
    for name in sorted(names, key=lambda each: list(CURVES).index(each) if each in CURVES else len(CURVES)):
        curves: dict[int, list[Point]] = {}
        for index, run in enumerate(runs):
            points = [(float(line["epoch"]), float(line[name])) for line in run.records if name in line]
            if finite := [point for point in points if math.isfinite(point[1])]:
                curves[index] = finite
        if not curves:
            continue
        epochs, values = zip(*(point for points in curves.values() for point in points), strict=True)
        about = CURVES.get(name, "As the method reports it.")
        chart = curves_chart(round_axis("epoch", [0.0, *epochs]), round_axis("", values), curves, f"{name}: {about}")
        entries = {runs[index].name: series(index) for index in curves}
        panels.append(figure(name.replace("_", " "), chart, about, legend(entries)))
    return grid(panels)


def grid(panels: Sequence[Markup | None], title: str = "") -> Markup:
    """Panels side by side as far as the page is wide, below their common title; nothing where there is none."""
    if not any(panels):
        return Markup("")
    return joined(element("h3", None, title) if title else None, element("div", {"class": "grid"}, *panels))


def set_by_set(panels: Mapping[str, Sequence[Markup | None]], title: str) -> Markup:
    """For each set a row of panels below its ``title``; all in one grid where there is no title."""
    if not title:
        return grid([panel for each in panels.values() for panel in each])
    return joined(*(grid(each, title.format(name)) for name, each in panels.items()))


def _set_styles(names: Sequence[str]) -> dict[str, str]:
    """Colours of inlier parts, and of the outliers, which come last."""
    *parts, outliers = names
    numbers = [FIRST_PART, *range(FURTHER_PARTS, FURTHER_PARTS + len(parts))]
    return {name: series(number) for name, number in zip(parts, numbers, strict=False)} | {outliers: series(OUTLIER)}


def _roc_points(run: ReportedRun, name: str, score: str) -> list[Point]:
    """The curve's corners, but for those that no eye could tell from the one before."""
    curve = roc_curve(*(torch.from_numpy(run.scores(each, score)) for each in (INLIERS, name)))
    rates = torch.stack([curve.false_positive_rate, curve.true_positive_rate], 1)
    places = (rates * DOTS).round()
    moved = torch.ones(len(rates), dtype=torch.bool)
    moved[1:-1] = (places[1:-1] != places[:-2]).any(1) | (places[1:-1] != places[2:]).any(1)
    return [(x, y) for x, y in rates[moved].tolist()]
