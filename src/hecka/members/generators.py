r"""Small networks that write the weights of larger ones.

A generator is a perceptron whose signals keep zero mean and unit variance from code to weight, before any training:
matrices start as :math:`N(0, 1/\text{fan-in})`, the activation is a standardised GELU, and a normalisation stands after
the first matrix and after every second one from there.  Two things keep it trainable.  Every matrix is softly bounded,
:math:`W / \max(1, \sigma(W) / b)` with b a multiple of the :math:`\sigma` that it started with; and what leaves it, a
number of size 1, is multiplied by the spread that the written tensor had in a fresh network, so that the first drawn
networks behave like fresh ones.

References: Ha, Dai and Le, "HyperNetworks", 2017; Ratzlaff and Li, "HyperGAN", 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hecka.networks.spectral import spectral_bound

# Mean and standard deviation of GELU under N(0, 1): E x Phi(x) and the root of E x^2 Phi(x)^2 - mean^2.
GELU_MEAN = 1 / (2 * math.sqrt(math.pi))
GELU_STD = math.sqrt(1 / 3 + 1 / (2 * math.pi * math.sqrt(3)) - GELU_MEAN**2)

GROWTH = 3.0  # how far a matrix may outgrow its first norm; the paper's bounds are 3 to 6


class StandardGELU(nn.Module):
    """GELU with mean 0 and variance 1 under N(0, 1).

    Without the mean taken off, all codes would share a part, and drawn members would start out alike.
    """

    def forward(self, x: Tensor) -> Tensor:
        """The activation of every element of ``x``."""
        return (F.gelu(x) - GELU_MEAN) / GELU_STD


class Generator(nn.Sequential):
    """A bounded perceptron of the given sizes, (..., sizes[0]) to (..., sizes[-1]).

    >>> Generator(8, 16, 16, 100)(torch.randn(5, 8)).shape
    torch.Size([5, 100])
    """

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        *hidden, last = pairwise(sizes)
        for block, (fan_in, fan_out) in enumerate(hidden):
            self.append(_bounded_linear(fan_in, fan_out))
            if block % 2 == 0:
                self.append(nn.LayerNorm(fan_out))
            self.append(StandardGELU())
        self.append(_bounded_linear(*last))


def _bounded_linear(fan_in: int, fan_out: int) -> nn.Linear:
    layer = nn.Linear(fan_in, fan_out)
    nn.init.normal_(layer.weight, std=1 / math.sqrt(fan_in))
    nn.init.zeros_(layer.bias)
    # The largest singular value of such a matrix, of whatever shape, is about 1 + sqrt(fan_out / fan_in).
    return spectral_bound(layer, GROWTH * (1 + math.sqrt(fan_out / fan_in)))


class LayerGenerator(nn.Module):
    """Writes the tensors of one layer, row by row: each of the ``rows`` equal parts of the layer has its own code.

    A convolution has one row for each filter (with its bias), any other layer is one row.

    Args:
        code: size of a code.
        widths: hidden sizes of the generator.
        fresh: the layer's tensors in N freshly initialised networks, (N, ...) each, for their scale.
        rows: how many parts; divides the first axis of every tensor.

    >>> fresh = [torch.randn(4, 6, 3, 5, 5), torch.randn(4, 6)]
    >>> weight, bias = LayerGenerator(8, (16, 16), fresh, rows=6)(torch.randn(2, 6, 8))
    >>> weight.shape, bias.shape
    (torch.Size([2, 6, 3, 5, 5]), torch.Size([2, 6]))
    """

    mean: Tensor
    std: Tensor

    def __init__(self, code: int, widths: Sequence[int], fresh: Sequence[Tensor], rows: int) -> None:
        super().__init__()
        self.shapes = [tensor.shape[1:] for tensor in fresh]
        self.sizes = [shape.numel() // rows for shape in self.shapes]
        self.net = Generator(code, *widths, sum(self.sizes))
        self.register_buffer("mean", torch.stack([tensor.mean() for tensor in fresh]))
        self.register_buffer("std", torch.stack([tensor.std() for tensor in fresh]))

    def forward(self, codes: Tensor) -> list[Tensor]:
        """Codes (M, rows, code) to the layer's tensors, (M, ...) each."""
        parts = self.net(codes).split(self.sizes, dim=-1)
        scaled = (mean + std * part for mean, std, part in zip(self.mean, self.std, parts, strict=True))
        return [part.reshape(len(codes), *shape) for part, shape in zip(scaled, self.shapes, strict=True)]
