"""Many inputs through trained members: in evaluation mode, batch after batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from hecka.errors import InputError


@contextmanager
def evaluation_mode(module: nn.Module, kind: type[nn.Module] = nn.Module) -> Iterator[None]:
    """Every part of ``module`` of this ``kind`` in evaluation mode inside the block, and afterwards as it was.

    Parts are put back one by one, because some may be held in evaluation mode: a frozen norm, for one.

    >>> net = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with evaluation_mode(net):
    ...     [part.training for part in net]
    [False, False]
    >>> [part.training for part in net]
    [True, False]
    """
    modes = [(part, part.training) for part in module.modules() if isinstance(part, kind)]
    try:
        for part, _ in modes:
            part.training = False
        yield
    finally:
        for part, training in modes:
            part.training = training


def batches(inputs: Tensor, batch_size: int) -> tuple[Tensor, ...]:
    """``inputs`` (B, ...) in parts of ``batch_size`` examples.

    >>> [len(batch) for batch in batches(torch.zeros(5, 2), 2)]
    [2, 2, 1]
    """
    if not isinstance(inputs, Tensor):
        raise InputError(
            f"predict: expected a tensor of inputs (B, ...), got a {type(inputs).__name__}; use torch.as_tensor"
        )
    if batch_size < 1:
        raise InputError(f"predict: expected a batch_size of at least 1, got {batch_size}")
    return torch.split(inputs, batch_size)
