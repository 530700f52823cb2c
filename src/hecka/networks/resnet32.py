"""ResNet32 without normalisation, as in "Repulsive deep ensembles are Bayesian".

    block(x) = relu(conv(relu(conv(x))) + shortcut(x))

Biases everywhere, and no BatchNorm to tie the examples of a batch together.  Where a block halves the image,
its shortcut takes every second pixel and adds channels of zeros, half of them before and half after.
Reference: D'Angelo and Fortuin, 2021; the shortcut is option A of He et al., 2016.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn, relu
from torch.nn.functional import pad


class PlainBlock(nn.Module):
    """Two 3 x 3 convolutions around a shortcut without parameters."""

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.new_channels = channels - in_channels
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, in_channels, H, W) to (B, channels, H / stride, W / stride)."""
        return relu(self.conv2(relu(self.conv1(x))) + self.shortcut(x))

    def shortcut(self, x: Tensor) -> Tensor:
        """``x`` itself, or subsampled and padded with zero channels."""
        if self.new_channels == 0:
            return x
        before = self.new_channels // 2
        return pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.new_channels - before))


def group(in_channels: int, channels: int, stride: int) -> nn.Sequential:
    """Five blocks, the first of which may halve the image."""
    first = PlainBlock(in_channels, channels, stride)
    return nn.Sequential(first, *(PlainBlock(channels, channels, stride=1) for _ in range(4)))


class ResNet32(nn.Module):
    """(B, 3, H, W) to (B, classes); 463 018 parameters for ten classes.

    The taps record the stem, the three groups and the last layer: 16384, 16384, 8192, 4096 and ``classes``
    features at 32 x 32.

    >>> import torch
    >>> ResNet32()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    taps: ClassVar[tuple[str, ...]] = ("stem", "group1", "group2", "group3", "linear")

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU())
        self.group1 = group(16, 16, stride=1)
        self.group2 = group(16, 32, stride=2)
        self.group3 = group(32, 64, stride=2)
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.linear = nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes)."""
        maps = self.group3(self.group2(self.group1(self.stem(x))))
        out: Tensor = self.linear(self.pool(maps))
        return out
