r"""Choosing gamma: repel as hard as the data allow.

How strong should repulsion be?  Strong enough to spread members, weak enough that they still fit:

.. math:: \max_\theta\; -E(\theta) \quad \text{subject to} \quad \mathrm{CE}(\theta) \le \mathrm{CE}_0 + \tau

Its Lagrangian is the repulsive loss with gamma as the inverse multiplier, so gamma is found by dual ascent: it grows
while the constraint has slack and shrinks when it is violated.

What would the loss be without repulsion?  It cannot be known beforehand -- noisy labels, a warm-up, augmentation and a
falling learning rate all move it -- so one member measures it: member 0, the **anchor**, feels no repulsion itself (the
others are still pushed away from it).  On the same batches the difference between the others' loss and the anchor's is
the price of diversity, free of whatever moves both.  The tolerance :math:`\tau` is a fraction of the loss of a constant
answer (ln C for balanced classes), so it means the same for any task.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.types import Features, State

# gamma spans 9 orders of magnitude: from no effect to where repulsion is all that counts.
LOWEST, HIGHEST = -10.0, 10.0
START = -2.0  # weak: training begins almost plain
RATE = 0.05  # log gamma moves by at most this a step: gamma doubles or halves in 14 steps
MEMORY = 0.9  # the price is averaged over about 10 steps, which is shorter than gamma's own time scale


@dataclass(frozen=True)
class AutoGamma:
    """Dual ascent on log gamma; ``tolerance`` is the price of diversity as a fraction of the trivial loss."""

    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise InputError(f"gamma='auto': expected a positive tolerance, got {self.tolerance}")

    def start(self, device: torch.device) -> State:
        """Weak repulsion, no price seen yet."""
        return {
            "log_gamma": torch.full((), START, device=device),
            "price": torch.zeros((), device=device),
        }

    def update(self, state: State, losses: Tensor, trivial: Tensor) -> State:
        """The next state from the members' losses (M,) on a batch, detached; the first member is the anchor."""
        allowed = self.tolerance * trivial
        gap = losses[1:].mean() - losses[0] if len(losses) > 1 else losses[0] * 0.0
        price = MEMORY * state["price"] + (1 - MEMORY) * gap
        slack = ((allowed - price) / allowed).clamp(-1, 1)
        return {"log_gamma": (state["log_gamma"] + RATE * slack).clamp(LOWEST, HIGHEST), "price": price}


def hold_anchor(features: Features) -> Features:
    """The same features, of which the first member's carry no gradient."""
    held: dict[str, Tensor | tuple[Tensor, ...]] = {}
    for tap, each in features.items():
        held[tap] = _HoldFirst.apply(each) if isinstance(each, Tensor) else (each[0].detach(), *each[1:])  # type: ignore[no-untyped-call]
    return held


class _HoldFirst(torch.autograd.Function):
    """Identity whose gradient is zero for the first member."""

    @staticmethod
    def forward(features: Tensor) -> Tensor:
        return features.view_as(features)

    @staticmethod
    def setup_context(ctx: object, inputs: tuple[Tensor], output: Tensor) -> None:
        """Nothing to keep."""

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        gradient = gradient.clone()
        gradient[0].zero_()
        return gradient
