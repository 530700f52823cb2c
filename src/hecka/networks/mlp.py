"""A multilayer perceptron of unit-variance layers: the network of the toy tasks.

Layer l is  h_l = crater(unit_linear(h_{l-1})), the last one without an activation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn

from hecka.errors import InputError
from hecka.networks.activations import Crater
from hecka.networks.unit_variance import UnitLinear


class Dense(nn.Sequential):
    """A unit-variance linear layer and what follows it."""

    def __init__(self, in_features: int, out_features: int, activation: nn.Module) -> None:
        linear = UnitLinear(in_features, out_features)
        super().__init__(OrderedDict(linear=linear, activation=activation))


class MLP(nn.Module):
    """Layers of the given sizes: ``MLP(2, 30, 40, 30, 4)`` maps (B, 2) to (B, 4).

    The taps record every layer after its activation, the last one's output included.

    >>> net = MLP(2, 30, 40, 30, 4)
    >>> [name for name, _ in net.layers.named_children()], MLP.taps
    (['0', '1', '2', '3'], ('layers.*',))
    """

    taps: ClassVar[tuple[str, ...]] = ("layers.*",)

    def __init__(self, *sizes: int, activation: Callable[[], nn.Module] = Crater) -> None:
        super().__init__()
        if len(sizes) < 2:
            raise InputError(f"MLP: expected at least an input and an output size, got {sizes}; try MLP(2, 30, 4)")
        last = len(sizes) - 2
        self.layers = nn.Sequential(
            *(
                Dense(fan_in, fan_out, nn.Identity() if i == last else activation())
                for i, (fan_in, fan_out) in enumerate(pairwise(sizes))
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, sizes[0]) to (B, sizes[-1])."""
        out: Tensor = self.layers(x)
        return out
