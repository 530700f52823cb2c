"""The networks of the benchmark as anybody would write them: torch's own layers, and the activation by its formula.

What hecka's networks gain by their own activation and pooling is hecka's work too; comparisons named ``-own`` leave it
out, with hecka's networks on both sides.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hecka.networks.activations import SLOPE


def crater(x: Tensor) -> Tensor:
    """The formula of ``hecka.networks.activations``."""
    return SLOPE * x * (1 + torch.tanh(math.sqrt(2) / 2 * (x + 1)))


class PlainLeNet(nn.Module):
    """LeNet5 of the same sizes.

    >>> PlainLeNet()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 10])
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(256, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, 10)."""
        x = F.max_pool2d(crater(self.conv1(x)), 2)
        x = F.max_pool2d(crater(self.conv2(x)), 2).flatten(1)
        out: Tensor = self.fc3(crater(self.fc2(crater(self.fc1(x)))))
        return out


class PlainMLP(nn.Module):
    """A perceptron of the given sizes.

    >>> PlainMLP(2, 30, 4)(torch.zeros(3, 2)).shape
    torch.Size([3, 4])
    """

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))

    def forward(self, x: Tensor) -> Tensor:
        """(B, sizes[0]) to (B, sizes[-1])."""
        for layer in self.layers[:-1]:
            x = crater(layer(x))
        out: Tensor = self.layers[-1](x)
        return out
