"""Crater: a smooth activation that keeps unit variance.

    crater(x) = c x (1 + tanh(x')),   x' = (sqrt(2)/2) (x + 1),   c = sqrt(2)/2 + .008274364699

It looks like GELU with a deeper dip left of zero.  Its output has a variance of 1.012 under x ~ N(0, 1), so
that layers of `hecka.networks.unit_variance` can be stacked without any normalisation.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

SLOPE = math.sqrt(2) / 2 + 0.008274364699  # c: chosen for a variance near 1
SHARPNESS = math.sqrt(2)  # twice the factor of x', because 1 + tanh(z) = 2 sigmoid(2z)


def crater(x: Tensor) -> Tensor:
    """The activation of every element, c x (1 + tanh(x')).

    Computed as 2 c x sigmoid(2 x'), the same function in a little over half the time.

    >>> crater(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7154,  0.0000,  1.3509])
    """
    return (2 * SLOPE) * (x * torch.sigmoid(SHARPNESS * (x + 1)))


class Crater(nn.Module):
    """`crater` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        """The activation of every element of ``x``."""
        return crater(x)
