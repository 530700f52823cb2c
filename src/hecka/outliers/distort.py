"""Distortions of images (N, C, H, W), each image by its own amount, given or (``random_...``) drawn.

Turns, shifts, flips, tilts and waves say where in the image each pixel comes from.  They add up to one lookup::

    p -> (q_1 / q_3, q_2 / q_3),   q = M (p + wave(p), 1),   M = M_1 M_2 ...  (3 x 3)

with p = (x, y) in [-1, 1]^2, from the left of the image to its right and from its top to its bottom.

References: Hartley & Zisserman, "Multiple View Geometry", 2004 (M); Simard, Steinkraus & Platt, "Best practices for
convolutional neural networks", ICDAR 2003 (waves, there elastic deformations).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from hecka.outliers.draws import Draws

BLUR_SIGMA = (0.015, 0.06)
"""In sides, by eye: half a pixel to two on 32 pixels, from hardly seen to fine patterns lost."""
ASPECT = 2.0
"""The most that a random box, in sides, is longer one way than the other: one of half the image still fits in."""
NEAREST = 0.05
"""The least q_3: at 0 a tilted image reaches the eye, and below it would be seen from behind."""


def turn(degrees: Tensor, scale: Tensor, shift: Tensor, height: int, width: int) -> Tensor:
    """M (N, 3, 3) that turns counterclockwise, enlarges by ``scale`` (N,) and shifts by ``shift`` (N, 2), in sides.

    >>> nothing, one = torch.zeros(1), torch.ones(1)
    >>> torch.equal(turn(nothing, one, torch.zeros(1, 2), height=4, width=4), torch.eye(3)[None])
    True
    """
    cos, sin = torch.cos(degrees * (math.pi / 180)) / scale, torch.sin(degrees * (math.pi / 180)) / scale
    # A turn keeps lengths in pixels, and p has other units along rows than along columns.
    right = torch.stack([cos, -sin * (height / width), -2 * shift[:, 0]], dim=-1)
    down = torch.stack([sin * (width / height), cos, -2 * shift[:, 1]], dim=-1)
    return torch.stack([right, down, _row(right, 2)], dim=1)


def flip(signs: Tensor) -> Tensor:
    """M (N, 3, 3) that flips sideways, upside down or both, where ``signs`` (N, 2) are -1 and not 1."""
    return torch.diag_embed(torch.cat([signs, torch.ones_like(signs[:, :1])], dim=-1))


def tilt(towards: Tensor) -> Tensor:
    """M (N, 3, 3) that tilts by ``towards`` (N, 2), a and b: p comes from p / (1 + a x + b y).

    The far side becomes (1 - a) / (1 + a) times as long as the near one.
    """
    away = torch.cat([towards, torch.ones_like(towards[:, :1])], dim=-1)
    return torch.stack([_row(away, 0), _row(away, 1), away], dim=1)


def _row(like: Tensor, one: int) -> Tensor:
    """Row ``one`` of a unit matrix for each of N images, without a copy from the host."""
    row = torch.zeros_like(like)
    row[:, one] = 1
    return row


def warp(images: Tensor, matrix: Tensor, fill: Tensor, displacement: Tensor | None = None) -> Tensor:
    """Every pixel from where ``matrix`` (N, 3, 3) and ``displacement`` (N, H, W, 2) say it comes from.

    ``fill`` (N, C, 1, 1) is what surrounds the images.
    """
    count, _, height, width = images.shape
    y, x = _centres(images, height)[:, None], _centres(images, width)
    place = torch.stack([x.expand(height, width), y.expand(height, width)], dim=-1)[None]
    place = place if displacement is None else place + displacement
    source = F.pad(place, (0, 1), value=1.0).flatten(1, 2) @ matrix.mT
    source = source[..., :2] / source[..., 2:].clamp(min=NEAREST)
    grid = source.view(count, height, width, 2)
    return F.grid_sample(images - fill, grid, padding_mode="zeros", align_corners=False) + fill


def _centres(images: Tensor, side: int) -> Tensor:
    return (torch.arange(side, device=images.device, dtype=images.dtype) * 2 + 1) / side - 1


def wave(noise: Tensor, length: Tensor, strength: Tensor) -> Tensor:
    """Smooth displacements (N, H, W, 2) for ``warp`` from white noise (N, 2, H, W).

    Args:
        noise: N(0, 1).
        length: (N,) standard deviation of the Gaussian that smooths the noise, in pixels.
        strength: (N,) how far pixels move, as the root of the mean square along either axis, in sides.
    """
    smooth = blur(noise, length)
    size = smooth.square().mean(dim=(2, 3), keepdim=True).sqrt()
    return (smooth / size * (2 * strength[:, None, None, None])).permute(0, 2, 3, 1)


def blur(images: Tensor, sigma: Tensor) -> Tensor:
    """Gaussian blur by ``sigma`` (N,) pixels; weights beyond the border go to the pixels within.

    >>> blur(torch.ones(1, 1, 3, 3), torch.ones(1)).allclose(torch.ones(3, 3))
    True
    """
    rows, columns = (_gaussian(images, side, sigma) for side in images.shape[2:])
    return rows @ images @ columns.mT


def _gaussian(images: Tensor, side: int, sigma: Tensor) -> Tensor:
    """(N, 1, side, side), each row a Gaussian around its own pixel with sum 1."""
    pixel = torch.arange(side, device=images.device, dtype=images.dtype)
    distance = (pixel[:, None] - pixel) / sigma[:, None, None]
    return torch.softmax(-0.5 * distance.square(), dim=-1)[:, None]


def boxes(area: Tensor, aspect: Tensor, place: Tensor, height: int, width: int) -> Tensor:
    """(N, 1, H, W): True within any of K boxes an image; whole pixels, and all of each box is in the image.

    Args:
        area: (N, K), as a share of the image; a box of area 0 is none.
        aspect: (N, K), height by width, both in sides.
        place: (N, K, 2) in [0, 1): how far down and right, of what room there is.
        height: H.
        width: W.

    >>> quarter, left_below = torch.tensor([[0.25]]), torch.tensor([[[0.9, 0.0]]])
    >>> boxes(quarter, torch.ones(1, 1), left_below, height=2, width=2).long()
    tensor([[[[0, 0],
              [1, 0]]]])
    """
    inside = []
    for axis, (side, share) in enumerate([(height, (area * aspect).sqrt()), (width, (area / aspect).sqrt())]):
        size = (share * side).round()
        start = (place[..., axis] * (side - size + 1)).floor()
        pixel = torch.arange(side, device=area.device)
        inside.append((pixel >= start[..., None]) & (pixel < (start + size)[..., None]))
    rows, columns = inside
    return (rows[..., :, None] & columns[..., None, :]).any(dim=1, keepdim=True)


def thresholded(images: Tensor, where: Tensor) -> Tensor:
    """``images``, but within ``where`` (N, 1, H, W): 1 above the mean of the channel and -1 below."""
    above = images > images.mean(dim=(2, 3), keepdim=True)
    return torch.where(where, torch.where(above, 1.0, -1.0).to(images.dtype), images)


def random_fill(draws: Draws, images: Tensor) -> Tensor:
    """(N, C, 1, 1): a random value for each channel, to surround images that were moved."""
    return draws.uniform(len(images), images.shape[1], 1, 1, low=-1.0)


def random_blur(draws: Draws, images: Tensor) -> Tensor:
    """Each of ``images`` (N, C, H, W) blurred, by ``BLUR_SIGMA`` of its shorter side."""
    low, high = (sigma * min(images.shape[2:]) for sigma in BLUR_SIGMA)
    return blur(images, draws.uniform(len(images), low=low, high=high))


def random_boxes(draws: Draws, area: Tensor, images: Tensor) -> Tensor:
    """(N, 1, H, W): True within any of K boxes an image, whose ``area`` (N, K) is given as a share of it."""
    aspect = ASPECT ** draws.uniform(*area.shape, low=-1.0)
    return boxes(area, aspect, draws.uniform(*area.shape, 2), *images.shape[2:])
