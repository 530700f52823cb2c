"""The charts of a page, one panel a run or one line a run, on the same scales, each with a sentence on what to see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from hecka.report.charts import curves_chart, entropy_chart, reliability_chart, similarity_chart
from hecka.report.drawing import SHARES, Axis, Point, round_axis, series, shares_axis
from hecka.report.markup import Markup, element
from hecka.report.page_tables import percent
from hecka.report.reported_run import INLIERS, SCORE_NAMES, ReportedRun, outlier_sets
from hecka.scores.detection import roc_curve

DOTS = 300  # steps along an axis of a curve that an eye can tell apart
OUTLIER, FIRST_PART, FURTHER_PARTS = 1, 0, 2  # outliers are red in every panel
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
    return element("figure", None, element("h3", None, title), picture, legend, element("figcaption", None, sentence))


def legend(entries: Mapping[str, str]) -> Markup:
    """Text -> the classes of its series."""
    keys = (element("li", None, element("span", {"class": f"key {style}"}), name) for name, style in entries.items())
    return element("ul", {"class": "legend"}, *keys)


def reliabilities(runs: Sequence[ReportedRun]) -> Markup:
    """A reliability diagram for each run."""
    entries = {"accuracy": f"box {series(0)}", "share of all examples": "share", "what would be right": "guide"}
    panels = []
    for run in runs:
        error = run.evaluation["scores"]["ece"]
        bins = run.evaluation["reliability"]
        gap = sum(row["examples"] * (row["accuracy"] - row["confidence"]) for row in bins if row["examples"])
        lean = "less sure than it could be" if gap > 0 else "surer than it should be"
        sentence = f"Confidence and accuracy are {percent(error)} apart on average (ECE); on the whole it is {lean}."
        panels.append(figure(run.name, reliability_chart(bins, f"{run.name}: {sentence}"), sentence, legend(entries)))
    return grid(panels)


def entropies(runs: Sequence[ReportedRun]) -> Markup:
    """Histograms of predictive entropy: a panel for each set of outliers and run."""
    classes = max(len(run.config["classes"]) for run in runs)
    top = math.log(classes)
    axis = Axis("entropy in nats", 0.0, top, [(0, "0: sure"), (top / 2, f"{top / 2:.2f}"), (top, f"ln {classes}")])
    panels = []
    for name in outlier_sets(runs):
        for run in runs:
            found = run.detection(name, "entropy")
            if found is None:
                continue
            sets = run.inlier_parts() | {f"{name} (never seen)": run.scores(name, "entropy")}
            styles = _set_styles(list(sets))
            medians = ", ".join(f"{np.median(values):.2f} on {each}" for each, values in sets.items())
            sentence = (
                f"Median entropy {medians}. Outliers are the less sure in {percent(found['auroc'])} of all pairs."
            )
            chart = entropy_chart(sets, styles, axis, f"{run.name}: {sentence}")
            panels.append(figure(run.name, chart, sentence, legend({each: f"box {styles[each]}" for each in sets})))
    return grid(panels)


def roc_curves(runs: Sequence[ReportedRun]) -> Markup:
    """ROC curves: a panel for each set of outliers and score, a line for each run."""
    alarms = Axis("inliers called outliers", 0.0, 1.0, SHARES)
    panels = []
    for name in outlier_sets(runs):
        for score, called in SCORE_NAMES.items():
            curves, entries, best = {}, {}, ("", 0.0)
            for index, run in enumerate(runs):
                found = run.detection(name, score)
                if found is None:
                    continue
                curves[index] = _roc_points(run, name, score)
                entries[f"{run.name}: AUROC {percent(found['auroc'])}"] = series(index)
                best = max(best, (run.name, found["auroc"]), key=lambda each: each[1])
            if not curves:
                continue
            lead = f"{best[0]} has the largest area" if len(curves) > 1 else "The area under the line is the AUROC"
            sentence = f"{lead}, {percent(best[1])}; the dashed diagonal is blind guessing."
            chart = curves_chart(alarms, shares_axis("outliers found"), curves, f"{name} by {called}: {sentence}", True)
            panels.append(figure(f"{name}, by {called}", chart, sentence, legend(entries)))
    return grid(panels)


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
            if points:
                curves[index] = points
        epochs, values = zip(*(point for points in curves.values() for point in points), strict=True)
        about = CURVES.get(name, "As the method reports it.")
        chart = curves_chart(round_axis("epoch", [0.0, *epochs]), round_axis("", values), curves, f"{name}: {about}")
        entries = {runs[index].name: series(index) for index in curves}
        panels.append(figure(name.replace("_", " "), chart, about, legend(entries)))
    return grid(panels)


def grid(panels: Sequence[Markup]) -> Markup:
    """Panels side by side as far as the page is wide; nothing where there is none."""
    return element("div", {"class": "grid"}, *panels) if panels else Markup("")


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
