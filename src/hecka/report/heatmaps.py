"""Square grids of numbers between 0 and 1 as heat maps on one colour scale, one panel a method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from hecka.report.canvas import canvas, save

COLOUR_MAP = "magma"
WRITTEN = 8  # cells a side up to which every number is written out: more would not be legible


@dataclass(frozen=True)
class HeatMap:
    """One panel: ``values`` (L, L), what its rows and columns are called, and a line below."""

    title: str
    values: NDArray[np.float64]
    labels: Sequence[str]
    caption: str = ""


def heat_maps(maps: Sequence[HeatMap], path: Path, *, title: str, axis: str, scale: str, columns: int = 4) -> None:
    """Write the panels with one colour bar; ``axis`` names both axes of each, ``scale`` the colours."""
    columns = min(columns, len(maps))
    rows = math.ceil(len(maps) / columns)
    figure = canvas(3.0 * columns + 0.8, 3.3 * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False)
    image = None
    for axes, panel in zip(grid.flat, maps, strict=False):
        image = _panel(axes, panel)
    for axes in grid.flat[len(maps) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel(f"{axis}, one member", fontsize=9)
    for axes in grid[-1, :]:
        axes.set_xlabel(f"{axis}, another member", fontsize=9)
    if image is not None:
        figure.colorbar(image, ax=grid, shrink=0.8, label=scale)
    figure.suptitle(title, fontsize=12)
    save(figure, path)


def _panel(axes: Axes, panel: HeatMap) -> AxesImage:
    image = axes.imshow(panel.values, cmap=COLOUR_MAP, vmin=0.0, vmax=1.0, origin="lower")
    side = len(panel.values)
    axes.set_xticks(range(side), labels=panel.labels, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(side), labels=panel.labels)
    axes.tick_params(labelsize=8)
    axes.set_title(f"{panel.title}\n{panel.caption}" if panel.caption else panel.title, fontsize=10)
    if side <= WRITTEN:
        for (row, column), number in np.ndenumerate(panel.values):
            # Written dark on the bright half of the colours and bright on the dark one.
            ink = "black" if number > 0.6 else "white"
            axes.text(column, row, f"{number:.2f}", ha="center", va="center", fontsize=7.5, color=ink)
    return image
