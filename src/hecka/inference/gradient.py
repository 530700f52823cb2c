"""From a loss to a direction: the step that every method ends with."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hecka.types import Params


def gradient(loss: Tensor, params: Params, pulls: Sequence[tuple[Tensor, Tensor]] = ()) -> Params:
    """The gradient of ``loss`` with respect to each of ``params``; zero where a parameter took no part.

    ``pulls`` are tensors on the way with a gradient that reaches them from elsewhere: the same pass takes it along.
    """
    names = list(params)
    gradients = torch.autograd.grad(
        [loss, *(tensor for tensor, _ in pulls)],
        [params[name] for name in names],
        [torch.ones_like(loss), *(pull for _, pull in pulls)],
        materialize_grads=True,
    )
    return dict(zip(names, gradients, strict=True))
