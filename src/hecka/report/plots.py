"""Pictures of what members know: maps of entropy over a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only; a script that shows windows chooses its backend after this import

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

CLASS_COLOURS = ("#d1495b", "#edae49", "#00798c", "#6a4c93")
COLOUR_MAP = "Greys"  # darker is less sure, as in the paper; the only colours are the classes'


@dataclass(frozen=True)
class EntropyMap:
    """One panel: entropies (R * R,) on a square grid, where the method saw outliers, and what to read off it."""

    title: str
    entropy: Tensor
    caption: str = ""
    outliers: Tensor | None = None


def entropy_maps(
    maps: Sequence[EntropyMap], inputs: Tensor, labels: Tensor, path: Path, *, extent: float, columns: int = 3
) -> None:
    """Write panels of predictive entropy over [-extent, extent]^2, with the training points, on one colour scale."""
    classes = int(labels.max()) + 1
    rows = math.ceil((len(maps) + 1) / columns)  # one more cell for the legend
    figure, grid = plt.subplots(
        rows, columns, figsize=(3.3 * columns, 3.55 * rows), layout="constrained", squeeze=False
    )
    cells = list(grid.flat)
    image = None
    for axes, panel in zip(cells, maps, strict=False):
        side = math.isqrt(panel.entropy.numel())
        image = axes.imshow(
            panel.entropy.reshape(side, side).cpu(),
            origin="lower",
            extent=(-extent, extent, -extent, extent),
            cmap=COLOUR_MAP,
            vmin=0.0,
            vmax=math.log(classes),
        )
        _points(axes, inputs, labels, classes)
        if panel.outliers is not None:
            axes.scatter(*panel.outliers.T.cpu(), s=14, marker="x", c="#2ca02c", linewidths=1.0)
        axes.set_title(panel.title, fontsize=10)
        axes.set_xlabel(panel.caption, fontsize=8.5)
        axes.set_xticks([-extent, 0, extent])
        axes.set_yticks([-extent, 0, extent])
        axes.tick_params(labelsize=7)
    for axes in cells[len(maps) :]:
        axes.set_axis_off()
    if image is not None:
        _legend(figure, cells[len(maps)], image, classes, any(panel.outliers is not None for panel in maps))
    figure.suptitle("Where does the ensemble know that it does not know?", fontsize=12)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _points(axes: Axes, inputs: Tensor, labels: Tensor, classes: int) -> None:
    for label in range(classes):
        chosen = inputs[labels == label].cpu()
        axes.scatter(*chosen.T, s=9, c=CLASS_COLOURS[label % len(CLASS_COLOURS)], edgecolors="white", linewidths=0.3)


def _legend(figure: Figure, axes: Axes, image: matplotlib.image.AxesImage, classes: int, outliers: bool) -> None:
    marks = [
        Line2D([], [], marker="o", linestyle="", markersize=6, color=CLASS_COLOURS[label % 4], label=f"class {label}")
        for label in range(classes)
    ]
    if outliers:
        marks.append(
            Line2D([], [], marker="x", linestyle="", color="#2ca02c", label="made-up outliers\n(one draw of many)")
        )
    axes.legend(handles=marks, loc="upper center", title="training points", frameon=False, fontsize=9)
    bar = figure.colorbar(image, ax=axes, location="bottom", fraction=0.1, aspect=14)
    bar.set_label(
        f"predictive entropy in nats\n0: sure        ln {classes} = {math.log(classes):.2f}: knows nothing",
        fontsize=8.5,
    )
