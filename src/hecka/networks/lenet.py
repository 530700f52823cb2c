"""LeNet5 with crater activations and unit-variance layers, for images of 28 x 28.

    conv 6 k5 - crater - pool 2 - conv 16 k5 - crater - pool 2 - 120 - crater - 84 - crater - classes

Reference: LeCun et al., "Gradient-based learning applied to document recognition", 1998.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from hecka.errors import InputError
from hecka.networks.activations import Crater
from hecka.networks.mlp import Dense
from hecka.networks.pooling import HalvingMaxPool
from hecka.networks.unit_variance import UnitConv2d

SIDE = 28  # MNIST's; two convolutions and two poolings leave 4 x 4
FLAT = 16 * 4 * 4


class LeNet5(nn.Module):
    """(B, channels, 28, 28) to (B, classes); 44 426 parameters for one channel and ten classes.

    The taps record each layer after activation and pooling: 864, 256, 120, 84 and ``classes`` features.

    >>> import torch
    >>> LeNet5()(torch.zeros(3, 1, 28, 28)).shape
    torch.Size([3, 10])
    """

    taps: ClassVar[tuple[str, ...]] = ("conv1", "conv2", "fc1", "fc2", "fc3")

    def __init__(self, classes: int = 10, channels: int = 1) -> None:
        super().__init__()
        self.channels = channels
        self.conv1 = nn.Sequential(UnitConv2d(channels, 6, 5), Crater(), HalvingMaxPool())
        self.conv2 = nn.Sequential(UnitConv2d(6, 16, 5), Crater(), HalvingMaxPool())
        self.fc1 = Dense(FLAT, 120, Crater())
        self.fc2 = Dense(120, 84, Crater())
        self.fc3 = Dense(84, classes, nn.Identity())

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes)."""
        expected = (self.channels, SIDE, SIDE)
        if x.shape[1:] != expected:
            raise InputError(
                f"LeNet5: expected images {('B', *expected)}, got {tuple(x.shape)}; "
                "resize them, or set channels= to match"
            )
        maps: Tensor = self.conv2(self.conv1(x))
        out: Tensor = self.fc3(self.fc2(self.fc1(maps.flatten(1))))
        return out
