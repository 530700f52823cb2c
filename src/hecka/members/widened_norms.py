"""BatchNorm under vmap and autocast: half-precision maps, statistics in float32.

Alone it takes both; vmapped, a GPU refuses them and a CPU answers in float32.  So the maps are widened for the norm,
which computes in float32 anyway, and its answer is narrowed again.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


def widen_norms(net: nn.Module) -> None:
    """Let every BatchNorm of ``net``, while it runs vmapped, see its maps in the type of its statistics."""
    for module in net.modules():
        if isinstance(module, _BatchNorm):
            widened = Widened()
            module.register_forward_pre_hook(widened.widen, with_kwargs=True)
            module.register_forward_hook(widened.narrow)


class Widened:
    """The type that maps came in, from the one hook to the other."""

    def __init__(self) -> None:
        self.narrower: torch.dtype | None = None

    def widen(
        self, norm: nn.Module, args: tuple[Tensor, ...], named: dict[str, Tensor]
    ) -> tuple[tuple[Tensor, ...], dict[str, Tensor]] | None:
        """Maps in the type of the statistics."""
        maps, statistics = args[0] if args else named["input"], norm.running_mean
        self.narrower = None
        if not isinstance(statistics, Tensor) or maps.dtype == statistics.dtype or not _is_vmapped(maps):
            return None
        self.narrower = maps.dtype
        return (maps.to(statistics.dtype),), {}

    def narrow(self, norm: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        """Back to the type that they came in."""
        return None if self.narrower is None else output.to(self.narrower)


def _is_vmapped(tensor: Tensor) -> bool:
    vmapped: bool = torch._C._functorch.is_batchedtensor(tensor)
    return vmapped
