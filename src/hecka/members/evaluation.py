"""Evaluation mode for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Every part of ``module`` in evaluation mode inside the block, and afterwards as it was.

    Parts are put back one by one, because some may be held in evaluation mode: a frozen norm, for one.

    >>> net = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with evaluation_mode(net):
    ...     [part.training for part in net]
    [False, False]
    >>> [part.training for part in net]
    [True, False]
    """
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
