"""Outliers around a table: points near the surface of a box that holds the training inputs.

    x = u + noise * unit * e,   u uniform on the surface of [low, high],   e ~ N(0, I)

u lies on a face drawn with a probability proportional to its area.  Every length is measured in its column's
``unit``: with units equal to the columns' ranges, age in years and income in cents count alike, and a change
of scale changes nothing.  The paper's toy is ``Border(low=(-8, -8), high=(8, 8))``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from hecka.errors import InputError


@dataclass(frozen=True)
class Border:
    """Draws ``count`` outliers near the surface of the box from ``low`` to ``high``, one number a column.

    Args:
        low: the box's lower corner.
        high: its upper corner, above ``low`` in every column.
        count: how many points a call returns.
        noise: standard deviation around the surface, in units.
        unit: what one unit is in each column; 1 everywhere if empty.

    >>> border = Border(low=(-8.0, -8.0), high=(8.0, 8.0))
    >>> border(torch.zeros(100, 2), torch.Generator().manual_seed(0)).shape
    torch.Size([30, 2])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    count: int = 30
    noise: float = 0.5
    unit: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.unit:
            object.__setattr__(self, "unit", (1.0,) * len(self.low))
        if not len(self.low) == len(self.high) == len(self.unit) >= 1:
            raise InputError(
                "Border: expected one low, one high and one unit a column, "
                f"got {len(self.low)}, {len(self.high)} and {len(self.unit)}"
            )
        for column, (low, high, unit) in enumerate(zip(self.low, self.high, self.unit, strict=True)):
            if not (low < high and unit > 0 and math.isfinite(high - low)):
                raise InputError(
                    f"Border: expected finite low < high and a positive unit, got {low}, {high} and {unit} "
                    f"(column {column}); widen the box, in Border.around with padding="
                )

    @classmethod
    def around(
        cls,
        inputs: Tensor,
        count: int = 30,
        padding: float = 0.85,
        noise: float = 0.085,
        relative: bool = True,
    ) -> Border:
        """The box of ``inputs`` (N, D), widened by ``padding`` on every side.

        Padding and noise are multiples of each column's range, or plain lengths if not ``relative``.  The
        defaults give the paper's toy again, whose classes span about 5.9: a square of 8, a noise of .5.

        >>> Border.around(torch.tensor([[0.0, 5.0], [100.0, 5.0]]), padding=0.5)
        Border(low=(-50.0, 4.5), high=(150.0, 5.5), count=30, noise=0.085, unit=(100.0, 1.0))
        """
        if inputs.ndim != 2 or len(inputs) == 0:
            raise InputError(
                f"Border.around: expected inputs (N, D) with N >= 1, got {tuple(inputs.shape)}; flatten them"
            )
        low, high = inputs.detach().double().aminmax(dim=0)
        # A constant column has no range to measure in: with a plain unit, leaving the constant is outlying.
        span = high - low
        unit = torch.where(span > 0, span, 1.0) if relative else torch.ones_like(span)
        return cls(
            low=tuple((low - padding * unit).tolist()),
            high=tuple((high + padding * unit).tolist()),
            count=count,
            noise=noise,
            unit=tuple(unit.tolist()),
        )

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Outliers (count, D) for a table like ``inputs`` (B, D), whose device and dtype they take."""
        columns = len(self.low)
        if inputs.ndim != 2 or inputs.shape[1] != columns or not inputs.is_floating_point():
            raise InputError(
                f"Border: expected floating-point inputs (B, {columns}), "
                f"got {inputs.dtype} {tuple(inputs.shape)}; flatten and convert them"
            )
        device, dtype = generator.device, inputs.dtype
        # Without non_blocking, a copy to a GPU would wait for everything that the GPU has still to do.
        box = torch.tensor((self.low, self.high, self.unit), dtype=dtype).to(device, non_blocking=True)
        steps = torch.tensor(self._cumulative_areas(), dtype=dtype).to(device, non_blocking=True)

        position = torch.rand(self.count, columns, generator=generator, device=device, dtype=dtype)
        chance = torch.rand(self.count, 1, generator=generator, device=device, dtype=dtype)
        upper = torch.rand(self.count, 1, generator=generator, device=device, dtype=dtype) < 0.5
        column = (chance >= steps).sum(dim=1, keepdim=True)
        surface = torch.lerp(box[0], box[1], position.scatter(1, column, upper.to(dtype)))
        bumps = torch.randn(surface.shape, generator=generator, device=device, dtype=dtype)
        points = surface + self.noise * box[2] * bumps
        return points.to(inputs.device, non_blocking=inputs.is_cuda)

    def _cumulative_areas(self) -> list[float]:
        """The share of the surface that belongs to columns 0 to d, for every d but the last."""
        # A face's area is the product of all sides but its own column's, so it goes with 1 / that side.
        areas = [unit / (high - low) for low, high, unit in zip(self.low, self.high, self.unit, strict=True)]
        return [area / sum(areas) for area in accumulate(areas[:-1])]
