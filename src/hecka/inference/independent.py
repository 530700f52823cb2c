r"""Deep ensemble: every member learns as if it were alone.

.. math:: \mathcal L = \sum_m \mathrm{CE}_m

With one member this is plain training.  Reference: Lakshminarayanan et al., "Simple and Scalable Predictive Uncertainty
Estimation using Deep Ensembles", NeurIPS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hecka.inference.gradient import gradient
from hecka.inference.likelihood import member_losses
from hecka.types import Batch, Members, Params, State, Step


@dataclass(frozen=True)
class Independent:
    """A deep ensemble; members differ by their initialisation alone."""

    def start(self, members: Members) -> State:
        """Nothing is carried from step to step."""
        return {}

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """The gradient of every member's own loss."""
        losses = member_losses(members.run(params, batch.inputs).logits, batch.targets)
        return Step(gradient(losses.sum(), params), {"loss": losses.detach().mean()}, state)
