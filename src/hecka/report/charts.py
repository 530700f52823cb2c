"""The charts of a page, each from plain numbers: calibration, entropy, curves, and grids of similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from numpy.typing import NDArray

from hecka.report.drawing import Axis, Frame, Point, path, picture, series, shares_axis, text
from hecka.report.heatmaps import COLOUR_MAP, WRITTEN
from hecka.report.histograms import shares
from hecka.report.markup import Markup, element

BINS = 40
ROOT_TICKS = ((0.01, "1 %"), (0.1, "10 %"), (0.25, "25 %"), (0.5, "50 %"), (1.0, "100 %"))
DIAGONAL = ((0.0, 0.0), (1.0, 1.0))


def reliability_chart(bins: Sequence[Mapping[str, Any]], about: str) -> Markup:
    """Accuracy in each bin of confidence against the diagonal, and how many of all examples each bin holds."""
    frame = Frame(shares_axis("confidence"), shares_axis("accuracy"))
    total = sum(row["examples"] for row in bins)
    marks = [
        frame.bar(row["low"], row["high"], row["accuracy"], series(0)) for row in bins if row["accuracy"] is not None
    ]
    edges = [*(row["low"] for row in bins), bins[-1]["high"]]
    marks.append(frame.stairs(edges, [row["examples"] / total for row in bins], "share"))
    return frame.chart(about, [*marks, frame.line(DIAGONAL, "guide")])


def entropy_chart(
    sets: Mapping[str, NDArray[np.floating[Any]]], styles: Mapping[str, str], ceiling: Axis, about: str
) -> Markup:
    """The share of each set's examples in every bin of the axis ``ceiling``, and a dotted line at each median."""
    frame = Frame(ceiling, Axis("share of the set, a bin", 0.0, 1.0, ROOT_TICKS, root=True))
    edges = np.linspace(ceiling.low, ceiling.high, BINS + 1)
    marks = [
        frame.stairs(edges.tolist(), shares(values, edges).tolist(), styles[name]) for name, values in sets.items()
    ]
    for name, values in sets.items():
        median = float(np.median(values))
        marks.append(frame.line([(median, 0.0), (median, 1.0)], f"{styles[name]} median"))
    return frame.chart(about, marks)


def curves_chart(
    x: Axis, y: Axis, curves: Mapping[int, Sequence[Point]], about: str, guide: Sequence[Point] = ()
) -> Markup:
    """One line for the points of every series, by its number, and a dashed one to compare them with."""
    frame = Frame(x, y)
    lines = [frame.line(points, series(index)) for index, points in curves.items()]
    return frame.chart(about, [*([frame.line(guide, "guide")] if guide else []), *lines])


CELLS, NAMES, BAR = 230, 84, 26  # pixels of the square, of the names beside it, of the scale


def similarity_chart(values: Sequence[Sequence[float]], names: Sequence[str], about: str) -> Markup:
    """A square of colours from 0 (dark) to 1 (bright), the first layer at the bottom left; numbers where they fit."""
    side = len(values)
    size = CELLS / side
    every = -(-side // 12)  # more than a dozen names would run into each other
    marks = []
    for row, numbers in enumerate(values):
        top = CELLS - (row + 1) * size
        for column, number in enumerate(numbers):
            marks.append(_cell(NAMES + column * size, top, size, size, number))
            if side <= WRITTEN:
                ink = "on-bright" if number > 0.6 else "on-dark"
                middle = NAMES + (column + 0.5) * size
                marks.append(text(middle, top + size / 2 + 4, f"{number:.2f}", "middle", f"number {ink}"))
        if row % every == 0:
            middle = (row + 0.5) * size
            marks.append(text(NAMES - 5, CELLS - middle + 4, _short(names[row]), "end"))
            x, y = NAMES + middle + 3, CELLS + 12
            turned = {"class": "tick", "text-anchor": "end", "transform": f"translate({x:.1f} {y:.1f}) rotate(-45)"}
            marks.append(element("text", turned, _short(names[row])))
    longest = max(len(_short(name)) for name in names)
    below = 20 + 4.3 * longest  # a slanted letter reaches so many pixels further down
    return picture(about, NAMES + CELLS + BAR + 24, CELLS + below, [*marks, *_scale()])


def _scale() -> list[Markup]:
    steps, left = 32, NAMES + CELLS + 10
    height = CELLS / steps
    marks = [_cell(left, CELLS - (step + 1) * height, 10, height + 0.5, (step + 0.5) / steps) for step in range(steps)]
    ends = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
    return [*marks, *(text(left + 14, 12 + (1 - value) * (CELLS - 12), label, "start") for value, label in ends)]


def _cell(x: float, y: float, width: float, height: float, number: float) -> Markup:
    red, green, blue, _ = colormaps[COLOUR_MAP](min(max(number, 0.0), 1.0), bytes=True)
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    return element("path", {"fill": f"#{red:02x}{green:02x}{blue:02x}", "d": path(corners)})


def _short(name: str) -> str:
    """What fits beside a square: the end of a long name, for layers differ there."""
    return name if len(name) <= 13 else f"…{name[-12:]}"
