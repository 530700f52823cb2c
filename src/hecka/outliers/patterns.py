"""Drawn patterns: lines, grids, checkerboards, blocks and plain planes, with values in [-1, 1].

All measures are whole pixels, given as shares of a side, at least one pixel: lines stay of even width.
Published: the widest lines and gaps and the largest block; the other limits are by eye.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hecka.outliers.draws import Draws

LINE = 0.1
"""The widest line."""
GAP = 0.2
"""The widest gap between two lines, and the widest field of a checkerboard."""
BLOCK = (0.1, 0.4)
"""The sides of blocks; smaller ones would be noise."""


def rows(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of horizontal lines, 1 on -1."""
    return _lines(draws, count, height)[:, :, None].expand(count, height, width)


def columns(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of vertical lines, 1 on -1."""
    return _lines(draws, count, width)[:, None, :].expand(count, height, width)


def grid(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of horizontal and vertical lines, 1 on -1."""
    return torch.maximum(rows(draws, count, height, width), columns(draws, count, height, width))


def checkerboard(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of square fields of -1 and 1 in turn."""
    field = draws.whole(count, 1, low=1, high=_pixels(GAP, min(height, width)))
    odd = _cells(draws, field, height)[:, :, None] + _cells(draws, field, width)[:, None, :]
    return (odd % 2 * 2 - 1).to(draws.dtype)


def blocks(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of blocks, each of one value."""
    values = draws.uniform(count, height + 1, width + 1, low=-1.0)  # blocks of one pixel, cut at either end
    for dim, side in ((1, height), (2, width)):
        block = draws.whole(count, 1, low=_pixels(BLOCK[0], side), high=_pixels(BLOCK[1], side))
        cell = _cells(draws, block, side)
        values = torch.take_along_dim(values, cell[:, :, None] if dim == 1 else cell[:, None, :], dim=dim)
    return values


def plain(draws: Draws, count: int, height: int, width: int) -> Tensor:
    """(count, height, width) of one value each."""
    return draws.uniform(count, 1, 1, low=-1.0).expand(count, height, width)


def _lines(draws: Draws, count: int, side: int) -> Tensor:
    """(count, side) of lines, 1 on -1, alike in width and distance, beginning anywhere."""
    line = draws.whole(count, 1, low=1, high=_pixels(LINE, side))
    gap = draws.whole(count, 1, low=1, high=_pixels(GAP, side))
    position = _shifted(draws, line + gap, side)
    return torch.where(position % (line + gap) < line, 1.0, -1.0).to(draws.dtype)


def _cells(draws: Draws, size: Tensor, side: int) -> Tensor:
    """(count, side): which cell of ``size`` (count, 1) pixels each pixel lies in; the first may be cut."""
    return _shifted(draws, size, side) // size


def _shifted(draws: Draws, period: Tensor, side: int) -> Tensor:
    """(count, side) of pixels 0 to side - 1, begun at a random place of a ``period`` (count, 1)."""
    start = (draws.uniform(*period.shape) * period).long()
    return start + torch.arange(side, device=draws.device)


def _pixels(share: float, side: int) -> int:
    return max(1, int(share * side))
