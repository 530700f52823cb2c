"""What members say of a curve: their mean, each of them, and how far they spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from torch import Tensor

from hecka.report.canvas import canvas, save

MEMBER, MEAN, BAND, TRUTH, DATA, OUTLIER = "#00798c", "#003f4a", "#00798c", "#d1495b", "#222222", "#2ca02c"


@dataclass(frozen=True)
class Band:
    """One panel: the members' outputs (M, R), where made-up outliers were (N,), and what to read off it."""

    title: str
    outputs: Tensor
    caption: str = ""
    outliers: Tensor | None = None


def bands(
    panels: Sequence[Band],
    grid: Tensor,
    truth: Tensor,
    data: tuple[Tensor, Tensor],
    path: Path,
    *,
    legend: str,
    columns: int = 3,
) -> None:
    """Write one panel a band over ``grid`` (R,), with the true curve ``truth`` (R,) and the training ``data``.

    Bands reach one, two and three standard deviations between members from their mean.  ``legend`` explains the panels'
    captions, in the cell that they leave free.
    """
    rows = math.ceil((len(panels) + 1) / columns)  # one more cell for the legend
    figure = canvas(4.2 * columns, 3.5 * rows)
    cells = list(figure.subplots(rows, columns, squeeze=False).flat)
    margin = 0.8 * float(truth.max() - truth.min())
    for axes, panel in zip(cells, panels, strict=False):
        _band(axes, panel, grid)
        axes.plot(grid, truth, color=TRUTH, linewidth=1.4, linestyle="--", zorder=4)
        axes.scatter(*(each.flatten() for each in data), s=9, c=DATA, linewidths=0, zorder=5)
        axes.set_xlim(float(grid[0]), float(grid[-1]))
        axes.set_ylim(float(truth.min()) - margin, float(truth.max()) + margin)
        if panel.outliers is not None:
            bottom = torch.full_like(panel.outliers, axes.get_ylim()[0] + margin / 10)
            axes.scatter(panel.outliers, bottom, s=16, marker="x", c=OUTLIER, linewidths=1.0, zorder=5)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.caption, fontsize=8.5)
        axes.tick_params(labelsize=7.5)
    for axes in cells[len(panels) :]:
        axes.set_axis_off()
    _legend(cells[len(panels)], any(panel.outliers is not None for panel in panels), legend)
    save(figure, path)


def _band(axes: Axes, panel: Band, grid: Tensor) -> None:
    mean, std = panel.outputs.mean(0), panel.outputs.std(0, correction=0)
    for width in (3, 2, 1):
        axes.fill_between(grid, mean - width * std, mean + width * std, color=BAND, alpha=0.13, linewidth=0)
    axes.plot(grid, panel.outputs.T, color=MEMBER, linewidth=0.4, alpha=0.5)
    axes.plot(grid, mean, color=MEAN, linewidth=1.8)


def _legend(axes: Axes, outliers: bool, text: str) -> None:
    marks: list[Line2D | Patch] = [
        Line2D([], [], marker="o", linestyle="", markersize=4, color=DATA, label="training points"),
        Line2D([], [], color=TRUTH, linestyle="--", label="true curve"),
        Line2D([], [], color=MEAN, linewidth=1.8, label="mean of the members"),
        Line2D([], [], color=MEMBER, linewidth=0.6, label="one member"),
        Patch(color=BAND, alpha=0.35, label="1, 2, 3 standard deviations"),
    ]
    if outliers:
        marks.append(
            Line2D([], [], marker="x", linestyle="", color=OUTLIER, label="made-up outliers (one draw of many)")
        )
    axes.legend(handles=marks, loc="upper center", frameon=False, fontsize=9)
    axes.text(0.5, 0.28, text, ha="center", va="top", fontsize=8.5, transform=axes.transAxes)
