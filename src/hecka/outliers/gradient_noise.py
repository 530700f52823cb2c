"""Perlin and simplex noise: smooth random landscapes, for many images at once.

Every point c of a lattice has a random gradient g_c.  The noise at x is a weighted sum of slopes, 0 at every c::

    noise(x) = sum_c w(x - c) g_c . (x - c)

It is linear in the gradients, and the weights are the same for all images: only the gradients differ.

- Perlin: a square lattice, ``w(d) = s(1 - |d_1|) s(1 - |d_2|)``, ``s(t) = 6t^5 - 15t^4 + 10t^3`` (0 below t = 0).
  The weights are a product, so that the sum over the lattice is a few small matrix products.
- Simplex: a lattice of triangles with sides of sqrt(2), ``w(d) = max(0, 2 - |d|^2)^4``, as in OpenSimplex.  Few
  points are that near, so that the sum is one lookup in a table of gradients.

References: Perlin, "Improving noise", SIGGRAPH 2002; Perlin, "Noise hardware", SIGGRAPH course 2001 (simplex); the
kernel and the lattice of OpenSimplex: Spencer, 2014.  Published for outliers: cells, octaves and persistence.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from hecka.outliers.draws import Draws

PERLIN_CELLS = 4
OCTAVES = 6
PERSISTENCE = 0.6
"""How much weaker each octave, twice as fine as the one before, is."""
SIDE = (2.0, 4.0)
"""The longer side of an image in units of the coarsest octave: one hill or a few, by eye."""
PERIOD = 32
"""The simplex lattice repeats after so many points; within an image only the two finest octaves may go round."""

SKEW = (1 / math.sqrt(3) - 1) / 2
"""(x, y) + SKEW (x + y) turns the triangles into halves of unit squares."""
UNSKEW = (math.sqrt(3) - 1) / 2


def perlin(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of Perlin noise on 4 x 4 cells, in [-1, 1]."""
    points = PERLIN_CELLS + 2  # the cells begin anywhere within the first one: one more, and its far side
    rows = draws.uniform(1) + _centres(draws, height, height) * PERLIN_CELLS
    columns = draws.uniform(1) + _centres(draws, width, width) * PERLIN_CELLS
    return _to_unit(perlin_noise(_directions(draws, count, points), rows, columns))


def simplex(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of six octaves of simplex noise, in [-1, 1]."""
    side = max(height, width)
    rows, columns = _centres(draws, height, side), _centres(draws, width, side)
    pixels = torch.cartesian_prod(rows, columns)
    octave = torch.arange(OCTAVES, device=draws.device, dtype=draws.dtype)
    scale = draws.uniform(1, low=SIDE[0], high=SIDE[1]) * 2**octave
    start = draws.uniform(OCTAVES, 2, high=PERIOD)  # octaves share their gradients, but not at the same place
    points = pixels[:, None, :] * scale[:, None] + start
    noise = simplex_noise(_directions(draws, count, PERIOD), points, PERSISTENCE**octave)
    return _to_unit(noise.view(count, height, width))


def perlin_noise(gradients: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Perlin noise at every (row, column): (N, H, W).

    Args:
        gradients: (N, R, S, 2), down and right, at the lattice points (0, 0) to (R - 1, S - 1).
        rows: (H,) in cells, within [0, R - 1].
        columns: (W,) in cells, within [0, S - 1].

    >>> perlin_noise(torch.ones(1, 2, 2, 2), torch.tensor([0.0, 0.25]), torch.tensor([0.0, 0.5])).shape
    torch.Size([1, 2, 2])
    """
    down, right = gradients.unbind(-1)
    row_weight, row_slope = _hats(rows, gradients.shape[1])
    column_weight, column_slope = _hats(columns, gradients.shape[2])
    return row_slope @ down @ column_weight.T + row_weight @ right @ column_slope.T


def _hats(positions: Tensor, points: int) -> tuple[Tensor, Tensor]:
    """For positions (K,) and lattice points 0 to ``points`` - 1: s(1 - |d|) and s(1 - |d|) d, each (K, points)."""
    offset = positions[:, None] - torch.arange(points, device=positions.device, dtype=positions.dtype)
    near = (1 - offset.abs()).clamp(min=0.0)
    weight = near**3 * (near * (6 * near - 15) + 10)
    return weight, weight * offset


def simplex_noise(gradients: Tensor, points: Tensor, amplitudes: Tensor) -> Tensor:
    """Simplex noise, summed over octaves: ``sum_o amplitude_o noise(point_qo)``, (N, Q).

    Args:
        gradients: (N, P, P, 2) on a lattice that repeats after P points both ways.
        points: (Q, O, 2), where each octave is read.
        amplitudes: (O,).

    >>> simplex_noise(torch.ones(3, 4, 4, 2), torch.zeros(5, 1, 2), torch.ones(1))[:, 0]  # a lattice point
    tensor([0., 0., 0.])
    """
    count, period = gradients.shape[:2]
    skewed = points + SKEW * points.sum(dim=-1, keepdim=True)
    base = skewed.floor()
    u, v = (skewed - base).unbind(-1)
    # The corners of the unit square, and the point beyond the side that (u, v) is nearest to.
    zero, one = torch.zeros_like(u), torch.ones_like(u)
    beyond, across = (u + v > 1).to(u.dtype), torch.where(u > v, 1.0, -1.0).to(u.dtype)
    i = torch.stack([zero, one, zero, one, beyond + across], dim=-1)
    j = torch.stack([zero, zero, one, one, beyond - across], dim=-1)
    a, b = u[..., None] - i, v[..., None] - j
    x, y = a + UNSKEW * (a + b), b + UNSKEW * (a + b)
    weight = amplitudes[:, None] * (2 - x * x - y * y).clamp(min=0.0) ** 4
    row, column = (base[..., :1] + i) % period, (base[..., 1:] + j) % period
    place = (row * period + column).long()
    # One table of x parts and, below them, y parts; one column an image.
    table = gradients.permute(3, 1, 2, 0).reshape(2 * period * period, count)
    places = torch.stack([place, place + period * period], dim=-1).flatten(1)
    weights = torch.stack([weight * x, weight * y], dim=-1).flatten(1)
    return F.embedding_bag(places, table, mode="sum", per_sample_weights=weights).T


def _centres(draws: Draws, pixels: int, side: int) -> Tensor:
    """Centres of pixels in a row, in sides."""
    return (torch.arange(pixels, device=draws.device, dtype=draws.dtype) + 0.5) / side


def _directions(draws: Draws, count: int, points: int) -> Tensor:
    """(count, points, points, 2) of unit vectors."""
    angle = draws.uniform(count, points, points, high=2 * math.pi)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def _to_unit(noise: Tensor) -> Tensor:
    """Each image scaled until its strongest pixel is -1 or 1."""
    strongest = noise.abs().amax(dim=(1, 2), keepdim=True)
    return noise / strongest.clamp(min=torch.finfo(noise.dtype).tiny)  # a lone pixel may lie on a lattice point
