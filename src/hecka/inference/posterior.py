r"""What particles sample: the posterior over weights, of which a batch shows a part.

.. math:: \log p(\theta \mid \text{data}) = N \cdot \overline{\log p(y \mid x, \theta)} + \log p(\theta) + \text{const}

The mean is over a batch, N counts the whole training set, so a batch estimates the full sum without bias.  A likelihood
of values needs the standard deviation of their noise: :math:`\log p(y \mid x, \theta) = -(y - f)^2 / 2\sigma^2 +
\text{const}`.

Without N the driving force is the gradient of the mean loss alone, as in the paper: a posterior of ONE observation,
flat beside the repulsion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.inference.likelihood import is_classification
from hecka.types import Params


class Prior(Protocol):
    """A belief about weights before any data: a density to climb, and a source of fresh networks."""

    def log_density(self, params: Params) -> Tensor:
        """Log density of every member's weights, (M,)."""

    def draw(self, params: Params, generator: torch.Generator) -> Params:
        """Fresh weights of the shape, type and device of ``params``."""


@dataclass(frozen=True)
class Gaussian:
    """Independent normal weights of mean 0 and standard deviation ``std``.

    For networks of unit-variance layers (``hecka.networks``), ``Gaussian(1.0)`` is also how they start.

    >>> Gaussian(1.0).log_density({"w": torch.zeros(2, 3)})  # -3/2 ln 2 pi each
    tensor([-2.7568, -2.7568])
    """

    std: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.std) and self.std > 0):
            raise InputError(f"Gaussian: expected a positive standard deviation, got {self.std}")

    def log_density(self, params: Params) -> Tensor:
        """Log density of every member's weights, (M,)."""
        constant = math.log(self.std) + math.log(2 * math.pi) / 2
        rows = [each.reshape(len(each), -1) for each in params.values()]
        return torch.stack([-((row / self.std).square() / 2 + constant).sum(-1) for row in rows]).sum(0)

    def draw(self, params: Params, generator: torch.Generator) -> Params:
        """Fresh weights of the shape, type and device of ``params``."""
        return {
            name: self.std * torch.randn(each.shape, generator=generator, dtype=each.dtype, device=each.device)
            for name, each in params.items()
        }


def energies(losses: Tensor, targets: Tensor, data_size: int | None, noise: float) -> Tensor:
    """Minus the log likelihood of ``data_size`` targets, but for a constant, from mean losses (M,) on a batch: (M,).

    ``noise`` is the standard deviation of values; without ``data_size`` the losses themselves.

    >>> energies(torch.tensor([0.5]), torch.tensor([1.0]), data_size=100, noise=0.5)  # 100 * .5 / (2 * .25)
    tensor([100.])
    """
    if data_size is None:
        return losses
    return losses * (data_size if is_classification(targets) else data_size / (2 * noise**2))
