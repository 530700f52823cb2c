"""Histograms of several sets on the same axes, one panel a method: how far apart does each keep them?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from hecka.report.canvas import canvas, save

COLOURS = ("#00798c", "#edae49", "#d1495b", "#6a4c93")


@dataclass(frozen=True)
class Histograms:
    """One panel: for every set the share of its examples in each bin, and what to read off it."""

    title: str
    shares: Mapping[str, NDArray[np.float64]]
    medians: Mapping[str, float]
    caption: str = ""


def shares(values: NDArray[np.floating], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of ``values`` in every bin; those beyond the ends count into the bins there.

    >>> shares(np.array([0.1, 0.2, 0.9, 7.0]), np.array([0.0, 0.5, 1.0])).tolist()
    [0.5, 0.5]
    """
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return counts / max(len(values), 1)


def histogram_panels(
    panels: Sequence[Histograms], edges: NDArray[np.float64], path: Path, *, title: str, xlabel: str, ceiling: str
) -> None:
    """Write panels side by side on the same axes; ``ceiling`` names the right end of the horizontal one.

    The vertical axis is the square root of the share: a narrow peak at zero would flatten all else on a linear one, and
    a logarithmic one would make a few stray examples look like many.
    """
    columns = len(panels) if len(panels) <= 4 else 3
    rows = math.ceil(len(panels) / columns)
    figure = canvas(3.4 * columns, 3.1 * rows + 0.9)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _panel(axes, panel, edges)
        axes.set_xticks([edges[0], edges[-1] / 2, edges[-1]], labels=["0", f"{edges[-1] / 2:.2f}", ceiling])
        axes.set_xlabel(xlabel, fontsize=9)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("share of each set's images, a bin\n(square-root scale)", fontsize=9)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    handles, labels = [*handles, Line2D([], [], color="grey", linestyle=":")], [*labels, "median of a set"]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9.5)
    figure.suptitle(title, fontsize=12)
    save(figure, path)


def _panel(axes: Axes, panel: Histograms, edges: NDArray[np.float64]) -> None:
    axes.set_yscale("function", functions=(np.sqrt, np.square))
    for colour, (name, share) in zip(COLOURS, panel.shares.items(), strict=False):
        axes.stairs(share, edges, fill=True, color=colour, alpha=0.4)
        axes.stairs(share, edges, color=colour, linewidth=1.4, label=name)
        axes.axvline(panel.medians[name], color=colour, linewidth=1.2, linestyle=":")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_yticks([0.01, 0.1, 0.25, 0.5, 1.0])
    axes.tick_params(labelsize=8)
    axes.set_title(f"{panel.title}\n{panel.caption}" if panel.caption else panel.title, fontsize=10)
