"""ResNet18 for small images: a 3 x 3 stem without max-pooling, then four stages of two basic blocks.

    block(x) = relu(bn(conv(relu(bn(conv(x))))) + shortcut(x))

The shortcut is the identity, or a 1 x 1 convolution with BatchNorm where the shape changes.
Reference: He et al., "Deep residual learning for image recognition", 2016.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn, relu

# No ReLU works in place anywhere here: it would overwrite what a tap on the module before it has recorded.


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with BatchNorm around a shortcut."""

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        """(B, in_channels, H, W) to (B, channels, H / stride, W / stride)."""
        out = relu(self.bn1(self.conv1(x)))
        return relu(self.bn2(self.conv2(out)) + self.shortcut(x))


def stage(in_channels: int, channels: int, stride: int) -> nn.Sequential:
    """Two blocks, the first of which may halve the image."""
    return nn.Sequential(BasicBlock(in_channels, channels, stride), BasicBlock(channels, channels, stride=1))


class ResNet18(nn.Module):
    """(B, 3, H, W) to (B, classes), for images of 32 x 32 or 64 x 64; 11 173 962 parameters for ten classes.

    The taps record the paper's eight outputs: 65536, 65536, 32768, 16384, 16384, 8192, 8192 and ``classes``
    features at 32 x 32 and full width.  ``pool`` is the input of the last layer, ``8 * width`` features.

    >>> import torch
    >>> ResNet18(width=8).eval()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    taps: ClassVar[tuple[str, ...]] = (
        "stem",
        "stage1.0",
        "stage2.0",
        "stage3.0",
        "stage3.1",
        "stage4.0",
        "stage4.1",
        "linear",
    )

    def __init__(self, classes: int = 10, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.stage1 = stage(width, width, stride=1)
        self.stage2 = stage(width, 2 * width, stride=2)
        self.stage3 = stage(2 * width, 4 * width, stride=2)
        self.stage4 = stage(4 * width, 8 * width, stride=2)
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.linear = nn.Linear(8 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes)."""
        maps = self.stage4(self.stage3(self.stage2(self.stage1(self.stem(x)))))
        out: Tensor = self.linear(self.pool(maps))
        return out
