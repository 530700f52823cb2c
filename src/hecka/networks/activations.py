"""Crater: a smooth activation that keeps unit variance.

    crater(x) = c x (1 + tanh(x')),   x' = (sqrt(2)/2) (x + 1),   c = sqrt(2)/2 + .008274364699

It looks like GELU with a deeper dip left of zero.  Its output has a variance of 1.012 under x ~ N(0, 1), so
that layers of `hecka.networks.unit_variance` can be stacked without any normalisation.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

SLOPE = math.sqrt(2) / 2 + 0.008274364699  # c: chosen for a variance near 1
SHARPNESS = math.sqrt(2)  # twice the factor of x', because 1 + tanh(z) = 2 sigmoid(2z)


def crater(x: Tensor) -> Tensor:
    """The activation of every element, c x (1 + tanh(x')).

    Computed as 2 c x sigmoid(2 x'), the same function in a little over half the time.

    >>> crater(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7154,  0.0000,  1.3509])
    """
    if torch.compiler.is_compiling():  # the compiler makes one pass of all, and need not look into the class below
        return (2 * SLOPE) * (x * torch.sigmoid(SHARPNESS * (x + 1)))
    if not torch.is_grad_enabled():  # no way back, and no time spent on preparing one
        return _answer_and_sigmoid(x)[0]
    answer: Tensor = _Crater.apply(x)[0]  # type: ignore[no-untyped-call]
    return answer


class _Crater(torch.autograd.Function):
    r"""y = 2 c x s with s = sigmoid(k x + k), k the sharpness; y' = k lerp(y, 2 c / k, s) = 2 c s + k y (1 - s).

    Feature maps are large and this is all passes over them: three forward and two back, where autograd takes five and
    seven.  x is not kept: y is, which a pooling that follows keeps anyway, and s.  Both are outputs and the way back
    is made of them alone, so that it can itself be differentiated.
    """

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        return _answer_and_sigmoid(x)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor | None) -> Tensor | None:
        y, s = ctx.saved_tensors  # type: ignore[attr-defined]
        total = None
        if gradients[0] is not None:
            slope = torch.lerp(y, y.new_full((), 2 * SLOPE / SHARPNESS), s)
            total = torch.addcmul(y.new_zeros(()), gradients[0], slope, value=SHARPNESS)
        if gradients[1] is not None:  # only where a gradient is differentiated
            part = SHARPNESS * gradients[1] * s * (1 - s)
            total = part if total is None else total + part
        return total

    @staticmethod
    def vmap(info: object, in_dims: tuple[int], x: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """Element by element, so that another axis makes no difference."""
        outputs: tuple[Tensor, Tensor] = _Crater.apply(x)  # type: ignore[no-untyped-call]
        return outputs, (in_dims[0], in_dims[0])


def _answer_and_sigmoid(x: Tensor) -> tuple[Tensor, Tensor]:
    s = torch.add(x.new_full((), SHARPNESS), x, alpha=SHARPNESS).sigmoid_()
    return torch.addcmul(x.new_zeros(()), x, s, value=2 * SLOPE), s


class Crater(nn.Module):
    """`crater` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        """The activation of every element of ``x``."""
        return crater(x)
