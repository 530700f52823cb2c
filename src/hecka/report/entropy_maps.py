"""Pictures of what members know: maps of entropy over a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from torch import Tensor

from hecka.report.canvas import canvas, save

CLASS_COLOURS = ("#d1495b", "#edae49", "#00798c", "#6a4c93")
OUTLIER_COLOUR = "#2ca02c"
COLOUR_MAP = "Greys"  # darker is less sure, as in the paper; the only colours are the classes'


@dataclass(frozen=True)
class EntropyMap:
    """One panel: entropies (R * R,) on a square grid, where the method saw outliers, and what to read off it."""

    title: str
    entropy: Tensor
    caption: str = ""
    outliers: Tensor | None = None


def entropy_maps(
    maps: Sequence[EntropyMap],
    inputs: Tensor,
    labels: Tensor,
    path: Path,
    *,
    title: str,
    extent: float,
    legend: str,
    columns: int = 3,
) -> None:
    """Write panels of predictive entropy over [-extent, extent]^2, with the training points, on one colour scale.

    ``legend`` explains the panels' captions, in the cell that they leave free.
    """
    classes = int(labels.max()) + 1
    rows = math.ceil((len(maps) + 1) / columns)  # one more cell for the legend
    figure = canvas(3.3 * columns, 3.55 * rows)
    cells = list(figure.subplots(rows, columns, squeeze=False).flat)
    image = None
    for axes, panel in zip(cells, maps, strict=False):
        side = math.isqrt(panel.entropy.numel())
        image = axes.imshow(
            panel.entropy.reshape(side, side).numpy(force=True),
            origin="lower",
            extent=(-extent, extent, -extent, extent),
            cmap=COLOUR_MAP,
            vmin=0.0,
            vmax=math.log(classes),
        )
        _points(axes, inputs, labels, classes)
        if panel.outliers is not None:
            x, y = panel.outliers.T.numpy(force=True)
            axes.scatter(x, y, s=14, marker="x", c=OUTLIER_COLOUR, linewidths=1.0)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.caption, fontsize=8.5)
        axes.set_xticks([-extent, 0, extent])
        axes.set_yticks([-extent, 0, extent])
        axes.tick_params(labelsize=7)
    for axes in cells[len(maps) :]:
        axes.set_axis_off()
    if image is not None:
        _legend(cells[len(maps)], image, classes, any(panel.outliers is not None for panel in maps), legend)
    figure.suptitle(title, fontsize=12)
    save(figure, path)


def _points(axes: Axes, inputs: Tensor, labels: Tensor, classes: int) -> None:
    for label in range(classes):
        x, y = inputs[labels == label].T.numpy(force=True)
        axes.scatter(x, y, s=9, c=CLASS_COLOURS[label % len(CLASS_COLOURS)], edgecolors="white", linewidths=0.3)


def _legend(axes: Axes, image: AxesImage, classes: int, outliers: bool, text: str) -> None:
    marks = [
        Line2D([], [], marker="o", linestyle="", markersize=6, color=CLASS_COLOURS[label % 4], label=f"class {label}")
        for label in range(classes)
    ]
    if outliers:
        marks.append(
            Line2D([], [], marker="x", linestyle="", color=OUTLIER_COLOUR, label="made-up outliers (one draw of many)")
        )
    axes.legend(handles=marks, loc="upper center", title="training points", frameon=False, fontsize=9)
    bar = axes.figure.colorbar(image, cax=axes.inset_axes((0.08, 0.36, 0.84, 0.05)), orientation="horizontal")
    top = math.log(classes)
    bar.set_ticks([0, top / 2, top], labels=["0: sure", f"{top / 2:.2f}", f"ln {classes} = {top:.2f}:\nknows nothing"])
    bar.ax.tick_params(labelsize=8.5)
    bar.ax.set_title("predictive entropy in nats", fontsize=9)
    axes.text(0.5, 0.14, text, ha="center", va="top", fontsize=8.5, transform=axes.transAxes)
