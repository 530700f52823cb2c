"""WideResNet: few, wide residual blocks with the activation before each convolution.

    block(x) = conv(relu(bn(conv(a)))) + shortcut,   a = relu(bn(x))

The shortcut is x itself, or a 1 x 1 convolution of a where the shape changes.
Reference: Zagoruyko and Komodakis, "Wide residual networks", 2016.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn, relu

from hecka.errors import InputError


class WideBlock(nn.Module):
    """A pre-activation block of two 3 x 3 convolutions."""

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.projection: nn.Conv2d | None = None
        if stride != 1 or in_channels != channels:
            self.projection = nn.Conv2d(in_channels, channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, in_channels, H, W) to (B, channels, H / stride, W / stride)."""
        active = relu(self.bn1(x))
        shortcut = x if self.projection is None else self.projection(active)
        out: Tensor = self.conv2(relu(self.bn2(self.conv1(active)))) + shortcut
        return out


def group(in_channels: int, channels: int, blocks: int, stride: int) -> nn.Sequential:
    """``blocks`` blocks, the first of which may halve the image."""
    first = WideBlock(in_channels, channels, stride)
    return nn.Sequential(first, *(WideBlock(channels, channels, stride=1) for _ in range(blocks - 1)))


class WideResNet(nn.Module):
    """(B, 3, H, W) to (B, classes); WideResNet-28-10 by default, 36 479 194 parameters for ten classes.

    The taps record the stem, the three groups, the pooled features (``64 * widen``, 640 by default: DDU fits
    their density) and the last layer.

    >>> import torch
    >>> WideResNet(depth=10, widen=1).eval()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    taps: ClassVar[tuple[str, ...]] = ("stem", "group1", "group2", "group3", "pool", "linear")

    def __init__(self, depth: int = 28, widen: int = 10, classes: int = 10) -> None:
        super().__init__()
        # Three groups of n blocks with two convolutions each; stem, last layer and two shortcuts count as 4.
        blocks, rest = divmod(depth - 4, 6)
        if blocks < 1 or rest:
            raise InputError(f"WideResNet: expected a depth of 6 n + 4 (10, 16, 22, 28, ...), got {depth}")
        channels = 64 * widen
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.group1 = group(16, 16 * widen, blocks, stride=1)
        self.group2 = group(16 * widen, 32 * widen, blocks, stride=2)
        self.group3 = group(32 * widen, channels, blocks, stride=2)
        self.pool = nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes)."""
        maps = self.group3(self.group2(self.group1(self.stem(x))))
        out: Tensor = self.linear(self.pool(maps))
        return out
