r"""A pull of weights towards zero, beside any method.

.. math:: \mathcal L = \mathcal L_{\text{method}}
          + \frac{\lambda}{2} \sum_w \operatorname{mean}_{m, k} \left(w_{mk}^2\right)

summed over the tensors w of a network, each a mean over members and entries: a large layer counts no more than a small
one.  An optimizer's weight decay cannot do this for a hypernetwork, where it acts on the generators and not on what
they write; the paper's hypernetworks are trained with both.  Reference: Smerkous, Bai & Li, NeurIPS 2024, the published
settings of "Hypernet + OOD HE-CKA".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from hecka.errors import InputError
from hecka.types import Batch, Members, Method, Params, State, Step


@dataclass(frozen=True)
class WeightPenalty:
    """``method`` with a penalty on the members' weights.

    >>> from hecka.inference.repulsive import Repulsive
    >>> method = WeightPenalty(Repulsive(gamma=10.15, gamma_ood=3.69), strength=0.0717)
    """

    method: Method
    strength: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.strength) and self.strength >= 0):
            raise InputError(f"WeightPenalty: expected strength >= 0, got {self.strength}")

    def start(self, members: Members) -> State:
        """The state of the method."""
        return self.method.start(members)

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """The method's direction plus the penalty's gradient."""
        step = self.method(members, params, batch, state, generator)
        direction = {
            name: step.direction[name] + each.detach() * (self.strength / each.numel()) for name, each in params.items()
        }
        squares = torch.stack([each.detach().square().mean() for each in params.values()])
        return Step(direction, step.info | {"weights": squares.sum()}, step.state)
