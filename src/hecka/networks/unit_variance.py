"""Layers that store N(0, 1) and scale when they run, so that one learning rate suits every layer.

    y = gain / sqrt(fan_in) * (W x + b),   W, b ~ N(0, 1)

With gain 1 the outputs' mean square is that of the inputs plus 1 / fan_in, and every stored number has the
same size whatever the width: learning rate, weight decay and clipping act on the stored values.
Reference: Karras et al., "Progressive growing of GANs", 2018 ("equalized learning rate").
"""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn.functional import conv2d, linear


class UnitLinear(nn.Linear):
    """A linear layer that stores N(0, 1) weights and biases.

    >>> layer = UnitLinear(100, 3)
    >>> layer.scale
    0.1
    """

    def __init__(self, in_features: int, out_features: int, gain: float = 1.0) -> None:
        super().__init__(in_features, out_features)
        self.scale = gain / math.sqrt(in_features)

    def reset_parameters(self) -> None:
        """Draw weights and biases from N(0, 1)."""
        nn.init.normal_(self.weight)
        nn.init.normal_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        # One product on the output instead of two on weight and bias: faster, forward and backward.
        return self.scale * linear(x, self.weight, self.bias)


class UnitConv2d(nn.Conv2d):
    """A square convolution that stores N(0, 1) weights and biases.

    >>> UnitConv2d(4, 8, kernel_size=5).scale
    0.1
    """

    bias: nn.Parameter  # never None here, unlike in nn.Conv2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        gain: float = 1.0,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding)
        self.scale = gain / math.sqrt(in_channels * kernel_size**2)

    def reset_parameters(self) -> None:
        """Draw weights and biases from N(0, 1)."""
        nn.init.normal_(self.weight)
        nn.init.normal_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, in_channels, H, W) to (B, out_channels, H', W')."""
        # The kernel is far smaller than the feature map, so here it is the weights that are scaled.
        return conv2d(x, self.scale * self.weight, self.scale * self.bias, self.stride, self.padding)
