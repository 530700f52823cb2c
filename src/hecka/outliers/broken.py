"""Training images broken beyond repair: inverted, erased in part, turned, flipped, tilted, bent and blurred.

Every image is bent, and each other change happens with probability 1/2.  Without the bend too many would still be what
they were, and teach a network to doubt its inliers: the other changes may all be left out or leave no trace, as a black
box does beside a digit.

The paper makes its changes in random order.  Where order shows, it is random here too: an erasure comes before the
others, and is distorted and blurred with the image, or after them, a sharp box.  Turns, flips, tilts and waves add up
to one lookup, and an inversion is as likely before as after.

Published: which changes, the erasures, angles and waves, and how far corners go; the probabilities are not.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hecka.outliers.distort import flip, random_blur, random_boxes, random_fill, tilt, turn, warp, wave
from hecka.outliers.draws import Draws

CHANGE = 0.5
"""Probability of each change but the bend."""
ERASED = (0.1, 0.5)
"""Share of the image that is erased, to white, grey or black."""
TURN = 30.0
"""At most so many degrees either way."""
TILT = 0.43
"""At most so much either way.  One side becomes .4 times as long as its opposite, as when the perspective moves each
corner by up to .6 of the way to the middle."""
WAVE_LENGTH = (0.16, 0.19)
"""In sides: the published 5 to 6 pixels of 32."""
WAVE_STRENGTH = (0.1, 0.26)
"""In sides.  Uniform noise of height alpha, smoothed by sigma pixels, moves pixels by .16 alpha / sigma; twice in a row
sqrt(2) times as far: 3 to 8 pixels of 32 for the published alpha from 80 to 180."""


def broken_images(draws: Draws, images: Tensor) -> Tensor:
    """Each of ``images`` (N, C, H, W), -1 black and 1 white, broken.

    >>> draws = Draws(torch.Generator().manual_seed(0), torch.device("cpu"), torch.float32)
    >>> broken_images(draws, torch.zeros(5, 3, 8, 8)).shape
    torch.Size([5, 3, 8, 8])
    """
    count = len(images)
    inverted, erased, first = (draws.coin(count, CHANGE) for _ in range(3))
    images = torch.where(inverted, -images, images)
    box, value = random_erasure(draws, images)
    box = box & erased
    images = torch.where(box & first, value, images)
    images = warp(images, random_view(draws, images), random_fill(draws, images), random_bend(draws, images))
    images = draws.sometimes(images, CHANGE, lambda some: random_blur(draws, some))
    return torch.where(box & ~first, value, images)


def random_erasure(draws: Draws, images: Tensor) -> tuple[Tensor, Tensor]:
    """For each image a box (N, 1, H, W), and what it is erased to, white, grey or black (N, 1, 1, 1)."""
    count = len(images)
    box = random_boxes(draws, draws.uniform(count, 1, low=ERASED[0], high=ERASED[1]), images)
    return box, draws.whole(count, 1, 1, 1, low=-1, high=1).to(images.dtype)


def random_view(draws: Draws, images: Tensor) -> Tensor:
    """(N, 3, 3): a turn, flips and a tilt, each or none."""
    count, _, height, width = images.shape
    turned, tilted = (draws.coin(count, CHANGE).flatten(1) for _ in range(2))
    degrees = (draws.uniform(count, 1, low=-TURN, high=TURN) * turned)[:, 0]
    nowhere = torch.zeros(count, 2, device=images.device, dtype=images.dtype)
    turns = turn(degrees, torch.ones_like(degrees), nowhere, height, width)
    flips = flip((draws.whole(count, 2, low=0, high=1) * 2 - 1).to(images.dtype))  # each way with CHANGE's 1/2
    return turns @ flips @ tilt(draws.uniform(count, 2, low=-TILT, high=TILT) * tilted)


def random_bend(draws: Draws, images: Tensor) -> Tensor:
    """(N, H, W, 2): how far each pixel is moved."""
    count, _, height, width = images.shape
    side = min(height, width)
    length = draws.uniform(count, low=WAVE_LENGTH[0] * side, high=WAVE_LENGTH[1] * side)
    strength = draws.uniform(count, low=WAVE_STRENGTH[0], high=WAVE_STRENGTH[1])
    return wave(draws.normal(count, 2, height, width), length, strength)
