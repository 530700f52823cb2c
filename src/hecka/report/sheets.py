"""Sheets of images: rows of them side by side in panels, each pixel of an image drawn as a square of whole pixels.

Images of 28 or 32 pixels that are resampled to fit a figure lose just what one looks for: lines of one pixel, fields of
two.  So the figure is made to fit the images instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from hecka.errors import InputError
from hecka.report.canvas import DOTS_PER_INCH, save

SIDE = 64
"""Images are enlarged by a whole number, up to this many pixels of the picture."""
GAP, CAPTION = 8, 12
"""Pixels of the picture between two images, and for a line of caption below one."""
LABELS, TITLE, EDGE = 215, 62, 12
"""Pixels of the picture left of the first panel, above all panels, and around."""


@dataclass(frozen=True)
class Panel:
    """Rows of images, each (K, C, H, W) from 0 to 1, or None for a row that is left empty.

    ``captions`` has a line for each image of each row, or is empty.
    """

    title: str
    rows: Sequence[Tensor | None]
    captions: Sequence[Sequence[str]] = ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W) of the images, which is one."""
        shapes = {row.shape[1:] for row in self.rows if row is not None}
        if len(shapes) != 1:
            raise InputError(f"sheet: expected images of one shape in a panel, got {sorted(map(tuple, shapes))}")
        channels, height, width = shapes.pop()
        return channels, height, width

    @property
    def scale(self) -> int:
        """How many pixels of the picture a pixel of an image takes, either way."""
        return max(1, SIDE // max(self.shape[1:]))

    @property
    def step(self) -> int:
        """From one row to the next, at least, in pixels of the picture."""
        return self.shape[1] * self.scale + GAP + (CAPTION if self.captions else 0)


def sheet(panels: Sequence[Panel], labels: Sequence[str], path: Path, title: str) -> None:
    """Write the panels side by side; ``labels`` says what each row is, the same for all, or is empty."""
    counts = {len(panel.rows) for panel in panels} | ({len(labels)} if labels else set())
    if len(counts) != 1:
        raise InputError(f"sheet: expected as many labels as every panel has rows, got {sorted(counts)}")
    step = max(panel.step for panel in panels)
    pictures = [mosaic(panel, step) for panel in panels]
    left = LABELS if labels else EDGE
    width = left + sum(picture.shape[1] + EDGE for picture in pictures)
    height = TITLE + pictures[0].shape[0] + EDGE
    figure = Figure(figsize=(width / DOTS_PER_INCH, height / DOTS_PER_INCH))
    figure.text(EDGE / width, 1 - EDGE / height, title, fontsize=10.5, va="top")
    for panel, picture in zip(panels, pictures, strict=True):
        place = (left / width, EDGE / height, picture.shape[1] / width, picture.shape[0] / height)
        axes = figure.add_axes(place)
        axes.imshow(picture, interpolation="nearest", aspect="auto", extent=(0, picture.shape[1], len(picture), 0))
        axes.set_axis_off()
        axes.set_title(panel.title, fontsize=9.5, pad=3)
        _write_captions(axes, panel, step)
        left += picture.shape[1] + EDGE
    for row, label in enumerate(labels):
        middle = row * step + (step - GAP) / 2
        figure.axes[0].text(-GAP, middle, label, fontsize=8, ha="right", va="center")
    save(figure, path)


def mosaic(panel: Panel, step: int) -> NDArray[np.float64]:
    """All images of a panel on white, (height, width, 3), ``step`` pixels from one row to the next.

    >>> mosaic(Panel("", [torch.zeros(3, 1, 32, 32), None]), step=80).shape  # 3 times 64, and 2 gaps
    (160, 208, 3)
    """
    _, height, width = (panel.scale * side for side in panel.shape)
    columns = max(len(row) for row in panel.rows if row is not None)
    picture = torch.ones(len(panel.rows) * step, columns * (width + GAP) - GAP, 3, dtype=torch.float64)
    for index, row in enumerate(panel.rows):
        for column, image in enumerate(() if row is None else row):
            large = image.repeat_interleave(panel.scale, dim=1).repeat_interleave(panel.scale, dim=2)
            left = column * (width + GAP)
            picture[index * step :, left:][:height, :width] = large.clamp(0, 1).permute(1, 2, 0)
    return picture.numpy()


def _write_captions(axes: Axes, panel: Panel, step: int) -> None:
    height, width = (panel.scale * side for side in panel.shape[1:])
    for row, captions in enumerate(panel.captions):
        for column, caption in enumerate(captions):
            x, y = column * (width + GAP) + width / 2, row * step + height + 2
            axes.text(x, y, caption, fontsize=5.5, ha="center", va="top")
