"""``hecka reproduce figure-outliers``: a sheet of every kind of made-up outlier, grey and in colour.

Each row is one step of `hecka.outliers.images` by itself, always taken; the last rows are outliers as networks get
them, where each step has its probability.  All values lie between -1, black, and 1, white.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from hecka.data.load import load
from hecka.errors import InputError
from hecka.outliers.broken import TILT, TURN, broken_images, random_bend, random_erasure
from hecka.outliers.channels import KINDS, boxed, contrasted
from hecka.outliers.distort import flip, random_blur, random_fill, tilt, turn, warp
from hecka.outliers.draws import Draws
from hecka.outliers.gradient_noise import perlin, simplex
from hecka.outliers.images import Images, random_move, random_noise
from hecka.outliers.patterns import blocks, checkerboard, grid, plain, rows
from hecka.outliers.patterns import columns as columns_of_lines
from hecka.report.sheets import Panel, sheet

Maker: TypeAlias = Callable[[Draws, Tensor], Tensor]
"""Training images (N, C, H, W) between -1 and 1 -> as many images."""
Kind: TypeAlias = Callable[[Draws, int, int, int], Tensor]
"""A count, a height and a width -> planes (count, height, width) of noise."""

GREY, COLOUR = "mnist", "cifar10"
FINISHED = 3
"""Rows of finished outliers."""
STRIDE = 97
"""From one training image to the next: near ones may be of one class."""


def outlier_figure(
    out: Path = Path("runs/figure-outliers"), data: str | None = None, seed: int = 0, columns: int = 10
) -> str:
    """Sheets of made-up outliers, each kind by itself and finished: outliers.png.

    Args:
        out: folder for the picture.
        data: where MNIST and CIFAR-10 are found, whose training images are broken.
        seed: of all that is drawn.
        columns: images a row.
    """
    if columns < 1:
        raise InputError(f"figure-outliers: expected at least 1 column, got {columns}")
    panels = []
    for name, title in ((GREY, "grey, from MNIST"), (COLOUR, "in colour, from CIFAR-10")):
        images = load(name, "train", data).images
        chosen = images[torch.arange(columns) * STRIDE % len(images)].float() / 127.5 - 1
        panels.append(Panel(title, [None if row is None else (row + 1) / 2 for row in sheet_rows(chosen, seed)]))
    path = out / "outliers.png"
    labels = list(KINDS_SHOWN) + ["finished outliers"] * FINISHED
    sheet(panels, labels, path, title=f"What no network should be sure about: made-up outliers, seed {seed}")
    return f"{len(KINDS_SHOWN)} kinds, and {FINISHED} rows of finished outliers\npicture: {path}"


def sheet_rows(images: Tensor, seed: int) -> list[Tensor | None]:
    """Every row of the sheet for ``images`` (N, C, H, W) between -1 and 1; None where grey ones have no such row."""
    generator = torch.Generator().manual_seed(seed)
    draws = Draws(generator, images.device, images.dtype)
    grey = images.shape[1] == 1
    made = [None if grey and name in OF_COLOURS else make(draws, images) for name, make in KINDS_SHOWN.items()]
    ends = (-1.0,) * images.shape[1], (1.0,) * images.shape[1]
    finished = Images(*ends, count=FINISHED * len(images))(images, generator)
    return [*made, *finished.chunk(FINISHED)]


def _noise(kind: Kind) -> Maker:
    """Images of one kind, each channel drawn anew."""

    def make(draws: Draws, images: Tensor) -> Tensor:
        count, channels, height, width = images.shape
        return contrasted(draws, kind(draws, count * channels, height, width)).view(images.shape)

    return make


def _each_its_own(draws: Draws, images: Tensor) -> Tensor:
    """Every channel of every image of any kind."""
    every = torch.stack([_noise(kind)(draws, images) for kind in KINDS])
    count, channels = images.shape[:2]
    kind = draws.whole(count, channels, low=0, high=len(KINDS) - 1)
    return every[kind, torch.arange(count)[:, None], torch.arange(channels)]


def _repeated(draws: Draws, images: Tensor) -> Tensor:
    return _each_its_own(draws, images)[:, :1].expand_as(images)


def _thresholded(draws: Draws, images: Tensor) -> Tensor:
    return boxed(draws, _repeated(draws, images))


def _erased(draws: Draws, images: Tensor) -> Tensor:
    box, value = random_erasure(draws, images)
    return torch.where(box, value, images)


def _turned(draws: Draws, images: Tensor) -> Tensor:
    count, _, height, width = images.shape
    degrees, still = draws.uniform(count, low=-TURN, high=TURN), images.new_zeros(count, 2)
    return warp(images, turn(degrees, torch.ones_like(degrees), still, height, width), random_fill(draws, images))


def _tilted(draws: Draws, images: Tensor) -> Tensor:
    towards = draws.uniform(len(images), 2, low=-TILT, high=TILT)
    return warp(images, tilt(towards), random_fill(draws, images))


def _bent(draws: Draws, images: Tensor) -> Tensor:
    unmoved = torch.eye(3).expand(len(images), 3, 3)
    return warp(images, unmoved, random_fill(draws, images), random_bend(draws, images))


def _flipped(draws: Draws, images: Tensor) -> Tensor:
    signs = (draws.whole(len(images), 2, low=0, high=1) * 2 - 1).to(images.dtype)
    return warp(images, flip(signs), random_fill(draws, images))


KINDS_SHOWN: dict[str, Maker] = {
    "noise: horizontal lines": _noise(rows),
    "vertical lines": _noise(columns_of_lines),
    "both lines": _noise(grid),
    "checkerboard": _noise(checkerboard),
    "blocks": _noise(blocks),
    "constants": _noise(plain),
    "Perlin": _noise(perlin),
    "simplex, six octaves": _noise(simplex),
    "channels each of any kind": _each_its_own,
    "one channel repeated": _repeated,
    "boxes thresholded": _thresholded,
    "training images": lambda draws, images: images,
    "broken: inverted": lambda draws, images: -images,
    "erased": _erased,
    "turned up to 30 degrees": _turned,
    "flipped": _flipped,
    "tilted": _tilted,
    "bent": _bent,
    "blurred": random_blur,
    "all of these, in part": broken_images,
    "then: moved, turned, scaled": random_move,
    "roughened": random_noise,
}
"""What a row is called, and how its images are made."""
OF_COLOURS = {"channels each of any kind", "one channel repeated"}
