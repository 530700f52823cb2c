"""From a loss to a direction: the step that every method ends with."""

from __future__ import annotations

import torch
from torch import Tensor

from hecka.types import Params


def gradient(loss: Tensor, params: Params) -> Params:
    """The gradient of ``loss`` with respect to each of ``params``; zero where a parameter took no part."""
    names = list(params)
    gradients = torch.autograd.grad(loss, [params[name] for name in names], materialize_grads=True)
    return dict(zip(names, gradients, strict=True))
