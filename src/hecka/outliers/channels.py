"""Noise images: one plane of noise for each channel, and rules for how channels go together.

Every plane is ``contrast * plane + brightness`` with contrast and brightness of its own, so that it stays in [-1, 1].
Published: MIXED, SAME, SMOOTH, and that there are up to MOST_BOXES; the other numbers are by eye.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hecka.outliers.distort import random_boxes, thresholded
from hecka.outliers.draws import Draws
from hecka.outliers.gradient_noise import perlin, simplex
from hecka.outliers.patterns import blocks, checkerboard, columns, grid, plain, rows

KINDS = (rows, columns, grid, checkerboard, blocks, plain, perlin, simplex)
"""What a plane can show, with equal probabilities."""

MIXED = 0.35
"""Each channel is of a kind of its own."""
SAME = 0.35
"""All channels are of one kind."""
SMOOTH = {perlin: 0.15, simplex: 0.15}
"""All channels are of this kind.  With MIXED and SAME that makes 1."""
REPEATED = 0.5
"""Where channels are of one kind: one channel is repeated, rather than each drawn anew."""
BOXES = 0.25
"""Probability that parts of an image are thresholded to black and white."""
MOST_BOXES = 4
BOX_AREA = (0.02, 0.2)
"""Of one box, as a share of the image: from one that can be seen to four that leave some of the image."""
CONTRAST = 0.2
"""The weakest contrast: a fifth of the range is still to be seen."""


def noise_images(draws: Draws, count: int, channels: int, height: int, width: int) -> Tensor:
    """(count, channels, height, width) of noise in [-1, 1].

    >>> draws = Draws(torch.Generator().manual_seed(0), torch.device("cpu"), torch.float32)
    >>> noise_images(draws, 10, channels=3, height=8, width=8).shape
    torch.Size([10, 3, 8, 8])
    """
    same = [SAME / len(KINDS) + SMOOTH.get(kind, 0.0) for kind in KINDS]
    (mixed_size, *same_sizes), image_index = draws.kinds(count, [MIXED, *same])
    plane_sizes, plane_index = draws.kinds(mixed_size * channels, [1 / len(KINDS)] * len(KINDS))

    mixed, images = [], []
    for kind, plane_size, size in zip(KINDS, plane_sizes, same_sizes, strict=True):
        planes = contrasted(draws, kind(draws, plane_size + size * channels, height, width))
        mixed.append(planes[:plane_size])
        images.append(planes[plane_size:].view(size, channels, height, width))
    one_kind = torch.cat(images)
    one_kind = torch.where(draws.coin(len(one_kind), REPEATED), one_kind[:, :1], one_kind)
    many_kinds = torch.cat(mixed)[plane_index].view(mixed_size, channels, height, width)
    noise = torch.cat([many_kinds, one_kind])[image_index]
    return draws.sometimes(noise, BOXES, lambda some: boxed(draws, some))


def contrasted(draws: Draws, planes: Tensor) -> Tensor:
    """Each of ``planes`` (N, H, W) with a contrast, a brightness and a polarity of its own."""
    contrast = draws.uniform(len(planes), 1, 1, low=CONTRAST)
    brightness = draws.uniform(len(planes), 1, 1, low=-1.0) * (1 - contrast)
    polarity = draws.coin(len(planes), 0.5)[:, 0]
    return torch.where(polarity, contrast, -contrast) * planes + brightness


def boxed(draws: Draws, images: Tensor) -> Tensor:
    """Each of ``images`` (N, C, H, W) with one to ``MOST_BOXES`` boxes thresholded to black and white."""
    count = len(images)
    number = draws.whole(count, 1, low=1, high=MOST_BOXES)
    drawn = torch.arange(MOST_BOXES, device=images.device) < number
    area = draws.uniform(count, MOST_BOXES, low=BOX_AREA[0], high=BOX_AREA[1]) * drawn
    return thresholded(images, random_boxes(draws, area, images))
