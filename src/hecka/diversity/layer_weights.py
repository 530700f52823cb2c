"""How much each recorded layer counts in a diversity term.

Early layers of trained networks are alike for a good reason (they see the same images), and the last one carries the
answer; so weights usually grow with depth, with the two ends set apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hecka.errors import InputError


@dataclass(frozen=True)
class EndsAndLine:
    """``first`` and ``last`` for the ends, and ``middle + increment * k`` for the k-th layer between them.

    >>> [round(weight, 3) for weight in layer_weights(EndsAndLine(first=0.03, middle=0.6, increment=1.8, last=6.8), 5)]
    [0.002, 0.043, 0.171, 0.299, 0.485]
    """

    first: float
    middle: float
    increment: float
    last: float


Weighting: TypeAlias = Literal["uniform", "linear"] | EndsAndLine | Sequence[float]


def layer_weights(weighting: Weighting, layers: int, normalize: bool = True) -> tuple[float, ...]:
    """One weight for each of ``layers`` layers, summing to 1 unless ``normalize=False``.

    ``"uniform"`` counts all the same, ``"linear"`` counts layer l (from 1) l times.

    >>> layer_weights("linear", 3, normalize=False)
    (1.0, 2.0, 3.0)
    """
    weights = _raw(weighting, layers)
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or sum(weights) == 0:
        raise InputError(f"layer weights: expected values >= 0, one of them positive, got {list(weights)}")
    return tuple(weight / sum(weights) for weight in weights) if normalize else weights


def _raw(weighting: Weighting, layers: int) -> tuple[float, ...]:
    if weighting == "uniform":
        return (1.0,) * layers
    if weighting == "linear":
        return tuple(float(layer) for layer in range(1, layers + 1))
    if isinstance(weighting, str):
        raise InputError(f"layer weights: expected 'uniform', 'linear', EndsAndLine or a list, got {weighting!r}")
    if isinstance(weighting, EndsAndLine):
        if layers < 2:
            raise InputError(f"layer weights: EndsAndLine needs at least 2 recorded layers, got {layers}")
        line = (weighting.middle + weighting.increment * k for k in range(layers - 2))
        return (weighting.first, *line, weighting.last)
    if len(weighting) != layers:
        raise InputError(
            f"layer weights: expected one for each of the {layers} recorded layers, got {len(weighting)}; "
            "give as many as there are taps, or 'linear'"
        )
    return tuple(map(float, weighting))
