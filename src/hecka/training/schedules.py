"""Learning rates over time: pure functions from the step (0, 1, ...) to a factor of the base rate.

They are frozen dataclasses, so that a run's settings can hold and compare them; any function of the step does as well.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hecka.errors import InputError

Schedule: TypeAlias = Callable[[int], float]
"""Step -> factor of the base learning rate."""


@dataclass(frozen=True)
class Constant:
    """The base rate throughout: ``f(t) = 1``.

    >>> Constant()(1000)
    1.0
    """

    def __call__(self, step: int) -> float:
        """The factor at ``step``."""
        return 1.0


@dataclass(frozen=True)
class WarmupCosine:
    """A linear rise to the base rate, then half a cosine down to ``final`` times it.

    With step t::

        f(t) = (t + 1) / warmup                                                      t < warmup
        f(t) = final + (1 - final) (1 + cos(pi (t - warmup) / (total - warmup))) / 2    warmup <= t < total

    and ``final`` from ``total`` on.  Training may stop before ``total``.  The first step's factor is 1 / warmup, as a
    step at rate 0 would be wasted.  Reference: Loshchilov & Hutter, "SGDR", ICLR 2017.

    >>> toy = WarmupCosine(warmup=80, total=1200)  # the paper's toy, stopped at step 1000
    >>> toy(39), toy(79), toy(640), round(toy(1000), 3)
    (0.5, 1.0, 0.5, 0.077)
    """

    warmup: int
    total: int
    final: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < self.total:
            raise InputError(
                f"WarmupCosine: expected 0 <= warmup < total, both in steps, got {self.warmup} and {self.total}"
            )

    def __call__(self, step: int) -> float:
        """The factor at ``step``."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        progress = min(1.0, (step - self.warmup) / (self.total - self.warmup))
        return self.final + (1 - self.final) * (1 + math.cos(math.pi * progress)) / 2


@dataclass(frozen=True)
class Milestones:
    """The base rate times ``factor`` once for each of the steps ``at`` that has been reached.

    >>> drops = Milestones(at=(150, 250), factor=0.1)
    >>> drops(149), drops(150), round(drops(250), 4)
    (1.0, 0.1, 0.01)
    """

    at: tuple[int, ...]
    factor: float = 0.1

    def __post_init__(self) -> None:
        if list(self.at) != sorted(self.at):
            raise InputError(f"Milestones: expected steps in rising order, got {self.at}; sort them")

    def __call__(self, step: int) -> float:
        """The factor at ``step``."""
        return self.factor ** bisect_right(self.at, step)
