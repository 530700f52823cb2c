"""One picture of all methods: where each is unsure, and two lines of how each fails."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes

from hecka.report.canvas import canvas, save

COLOURS = {"data": "#00798c", "gaps": "#edae49", "far": "#d1495b"}
MARKS = ("o", "s", "^", "D")
LINES = ("#d1495b", "#edae49", "#00798c", "#6a4c93")


class MethodDots(NamedTuple):
    """Mean entropies, in nats, of one method in three regions."""

    name: str
    data: float
    gaps: float
    far: float


def methods_picture(
    dots: Sequence[MethodDots],
    shares: Mapping[str, Mapping[int, float]],
    variances: Mapping[str, Mapping[int, float]],
    path: Path,
    classes: int = 4,
) -> None:
    """Write dots of entropy for every method, repulsion's share by size, and recovered variance by dimension."""
    figure = canvas(11.5, 0.27 * len(dots) + 1.4)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.35, 1))
    _entropies(figure.add_subplot(grid[:, 0]), dots, math.log(classes))
    top, bottom = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    _curves(
        top, shares, "Repulsion fades on weights, not on features", "parameters of a network", "share of SVGD's step"
    )
    top.set_yscale("log")
    _curves(
        bottom,
        variances,
        "20 particles miss variance in many dimensions",
        "dimension of the posterior",
        "variance / true",
    )
    bottom.axhline(1, color="#888888", linewidth=0.8, linestyle="--", zorder=0)
    bottom.set_xscale("log", base=2)
    bottom.set_xticks(list(next(iter(variances.values()))), labels=[str(x) for x in next(iter(variances.values()))])
    save(figure, path)


def _entropies(axes: Axes, dots: Sequence[MethodDots], highest: float) -> None:
    places = range(len(dots))
    for place, each in zip(places, dots, strict=True):
        entropies = each.data, each.gaps, each.far
        axes.plot([min(entropies), max(entropies)], [place, place], color="#dddddd", linewidth=1, zorder=0)
    for (region, colour), label in zip(
        COLOURS.items(),
        ("on the data (0 is right)", "in the gaps, where no outlier was put", "far from all"),
        strict=True,
    ):
        axes.scatter([getattr(each, region) for each in dots], places, s=26, color=colour, label=label)
    axes.axvline(highest, color="#888888", linewidth=0.8, linestyle="--", zorder=0)
    axes.text(highest, -0.75, f"ln {round(math.exp(highest))}: knows nothing ", ha="right", va="center", fontsize=7.5)
    axes.set_yticks(places, labels=[each.name for each in dots], fontsize=8.5)
    axes.set_ylim(len(dots) - 0.5, -1.2)
    axes.set_xlim(-0.03, highest + 0.04)
    axes.set_xlabel("mean predictive entropy in nats", fontsize=9)
    axes.tick_params(axis="x", labelsize=8.5)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.07), ncols=3, fontsize=8, frameon=False, handletextpad=0.1)
    axes.spines[["top", "right"]].set_visible(False)


def _curves(axes: Axes, curves: Mapping[str, Mapping[int, float]], title: str, across: str, up: str) -> None:
    for (name, curve), colour, mark in zip(curves.items(), LINES, MARKS, strict=False):
        axes.plot(list(curve), list(curve.values()), color=colour, marker=mark, markersize=4, linewidth=1.3, label=name)
    axes.set_xscale("log")
    axes.set_title(title, fontsize=9.5)
    axes.set_xlabel(across, fontsize=8.5)
    axes.set_ylabel(up, fontsize=8.5)
    axes.tick_params(labelsize=7.5)
    axes.legend(fontsize=7.5, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
