r"""Gram matrices of features: linear, cosine and RBF kernels.

Every kernel here is a function of the LINEAR Gram matrix :math:`X X^\top` alone, (..., N, N), so features of any width
are touched once and all further work is on N x N matrices:

* linear  :math:`G_{ij} = x_i \cdot x_j`
* cosine  :math:`G_{ij} / \sqrt{G_{ii} G_{jj}}`
* RBF     :math:`\exp(-D_{ij} / 2b)`, :math:`D_{ij} = G_{ii} + G_{jj} - 2 G_{ij}`, with b from the median of D
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from hecka.errors import InputError, nearest

# Products of fewer rows are slower than what they save.
SMALLEST_STRIP = 32


class Kernel(Protocol):
    """Turns linear Gram matrices (..., N, N) into those of a kernel."""

    def __call__(self, linear: Tensor) -> Tensor:
        """Gram matrices of the kernel, (..., N, N)."""


KernelName: TypeAlias = Literal["linear", "cosine", "rbf"]


@dataclass(frozen=True)
class Linear:
    """The inner product of two feature vectors.

    The gradient of the diagonal is stopped, as in the paper's published settings: a squared length says nothing of how
    an example relates to others, and would only pay a member for making its features longer.
    """

    def __call__(self, linear: Tensor) -> Tensor:
        """The linear Gram matrices themselves; gradients skip their diagonals."""
        if not linear.requires_grad:
            return linear
        off_diagonal = 1 - torch.eye(linear.shape[-1], dtype=linear.dtype, device=linear.device)
        return linear * off_diagonal + torch.diag_embed(linear.detach().diagonal(dim1=-2, dim2=-1))


@dataclass(frozen=True)
class Cosine:
    """The cosine of the angle between two feature vectors; a zero vector has cosine 0 with all."""

    def __call__(self, linear: Tensor) -> Tensor:
        """Gram matrices scaled to unit diagonals."""
        kernel: Tensor = _CosineOfLinear.apply(linear)[0]  # type: ignore[no-untyped-call]
        return kernel


class _CosineOfLinear(torch.autograd.Function):
    r"""K = G / (n n^T), n the lengths.

    With A the gradient of K, that of G is A / (n n^T), on the diagonal less half the sums of rows and columns of A K
    over n^2.  Written out because passes over N x N numbers are what the kernel costs: four here, eleven by autograd.
    """

    @staticmethod
    def forward(linear: Tensor) -> tuple[Tensor, Tensor]:
        squares = linear.diagonal(dim1=-2, dim2=-1)
        tiny = smallest_square(linear.dtype)
        inverse = torch.where(squares > tiny, squares.clamp_min(tiny).rsqrt(), 0.0)  # 0 for a zero vector
        return (linear * inverse.unsqueeze(-1)).mul_(inverse.unsqueeze(-2)), inverse

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*output)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor, _: Tensor) -> Tensor:
        kernel, inverse = ctx.saved_tensors  # type: ignore[attr-defined]
        product = gradient * kernel
        sums = product.sum(-1) + product.sum(-2)
        through = torch.mul(gradient, inverse.unsqueeze(-1), out=product).mul_(inverse.unsqueeze(-2))
        through.diagonal(dim1=-2, dim2=-1).addcmul_(sums, inverse.square(), value=-0.5)
        return through


@dataclass(frozen=True)
class RBF:
    r"""A Gaussian of the distance between two feature vectors, :math:`\exp(-D / 2b)`.

    ``heuristic="svgd"``: :math:`b = x \cdot \mathrm{median}(D) / (2 \ln(N + 1))`, the rule of the particle methods;
    ``"distance"``: :math:`\sqrt b = x \cdot \mathrm{median}(\sqrt D)`, the rule of the CKA literature.
    x is ``multiplier``; the median is over all N^2 entries, the zero diagonal included, and carries no gradient.
    """

    multiplier: float = 1.0
    heuristic: Literal["svgd", "distance"] = "svgd"

    def __post_init__(self) -> None:
        if not self.multiplier > 0:
            raise InputError(f"RBF: expected a positive multiplier, got {self.multiplier}")
        if self.heuristic not in ("svgd", "distance"):
            raise InputError(f"RBF: expected heuristic 'svgd' or 'distance', got {self.heuristic!r}")

    def __call__(self, linear: Tensor) -> Tensor:
        """Gram matrices in (0, 1] with a unit diagonal."""
        with torch.no_grad():
            distances = squared_distances(linear)
            slope = -0.5 / self.bandwidth(distances, linear)
            # Powers of 2 take a quarter of the time of exp, which goes through a library where there is one.
            values = distances.mul_(slope * math.log2(math.e)).exp2_()
        kernel: Tensor = _GaussianOfDistance.apply(linear, values, slope)  # type: ignore[no-untyped-call]
        return kernel

    def bandwidth(self, distances: Tensor, linear: Tensor) -> Tensor:
        """The bandwidth b of every matrix, (..., 1, 1), bounded away from zero."""
        median = median_entry(distances.detach())
        if self.heuristic == "svgd":
            bandwidth = median * (self.multiplier / (2 * math.log(distances.shape[-1] + 1)))
        else:
            bandwidth = median * self.multiplier**2
        # Outliers on which a member answers alike have median distance 0, and a bandwidth of 0 makes NaN.  Differences
        # of squared lengths are known to a few eps of those lengths: the bandwidth stops where distances become noise.
        noise = 8 * torch.finfo(linear.dtype).eps * linear.detach().diagonal(dim1=-2, dim2=-1).mean(-1)
        return bandwidth.maximum(noise + smallest_square(linear.dtype))[..., None, None]


class _GaussianOfDistance(torch.autograd.Function):
    r"""Gives :math:`K = \exp(\mathrm{slope} \cdot D)` its gradient with respect to the linear Gram matrix.

    With W = slope * gradient * K it is -2 W, and on the diagonal the sums of W's rows and columns.  Written out, it
    takes three passes over N x N numbers where autograd takes twelve: passes are most of what the kernel costs.
    """

    @staticmethod
    def forward(linear: Tensor, values: Tensor, slope: Tensor) -> Tensor:
        return values.view_as(values)

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None, None]:
        values, slope = ctx.saved_tensors  # type: ignore[attr-defined]
        twice = (gradient * values).mul_(-2 * slope)
        twice.diagonal(dim1=-2, dim2=-1).sub_((twice.sum(-1) + twice.sum(-2)) / 2)
        return twice, None, None


_KERNELS: dict[str, Kernel] = {"linear": Linear(), "cosine": Cosine(), "rbf": RBF()}


def as_kernel(kernel: KernelName | Kernel) -> Kernel:
    """A kernel by its name, or the kernel itself.

    >>> as_kernel("cosine")
    Cosine()
    """
    if not isinstance(kernel, str):
        return kernel
    if kernel not in _KERNELS:
        raise InputError(f"kernel: no kernel is called {kernel!r}; {nearest(kernel, _KERNELS)}")
    return _KERNELS[kernel]


def gram(features: Tensor, kernel: KernelName | Kernel = "linear") -> Tensor:
    r"""Gram matrices :math:`k(x_i, x_j)` of features (..., N, D), as (..., N, N).

    Half precision is computed and returned in float32: the angles that CKA compares are far below bfloat16's steps.

    >>> gram(torch.tensor([[3.0, 4.0], [4.0, -3.0], [6.0, 8.0]]), "cosine")
    tensor([[1., 0., 1.],
            [0., 1., 0.],
            [1., 0., 1.]])
    """
    return as_kernel(kernel)(linear_gram(features))


def flatten_rows(features: Tensor, leading: int) -> Tensor:
    """Flatten all but the first ``leading`` axes in the order in which they lie in MEMORY.

    A Gram matrix does not care in which order features stand, but a copy of a channels-last map into the usual order
    costs as much as the Gram itself.

    >>> x = torch.randn(4, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    >>> flatten_rows(x, 1).shape, flatten_rows(x, 1).data_ptr() == x.data_ptr()
    (torch.Size([4, 75]), True)
    """
    if features.dim() == leading:
        return features.unsqueeze(-1)
    if features.stride(leading) < features.stride(-1):  # channels last
        features = features.movedim(leading, -1)
    return features.flatten(leading)


def linear_gram(features: Tensor) -> Tensor:
    """X X^T of features (..., N, D), in float32 at least."""
    if features.dtype in (torch.bfloat16, torch.float16):
        features = features.float()
    with torch.autocast(features.device.type, enabled=False):
        product: Tensor = _Gram.apply(features)  # type: ignore[no-untyped-call]
    return product


class _Gram(torch.autograd.Function):
    """X X^T, whose gradient (A + A^T) X is ONE matrix product; autograd would make two."""

    @staticmethod
    def forward(features: Tensor) -> Tensor:
        if features.dim() == 2 and features.device.type == "cpu" and not torch.compiler.is_compiling():
            return _half_of_gram(features)
        return features @ features.mT

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        (features,) = ctx.saved_tensors  # type: ignore[attr-defined]
        product: Tensor = (gradient + gradient.mT) @ features
        return product

    @staticmethod
    def vmap(info: object, in_dims: tuple[int], features: Tensor) -> tuple[Tensor, int]:
        """One batched product."""
        grams: Tensor = _Gram.apply(features.movedim(in_dims[0], 0))  # type: ignore[no-untyped-call]
        return grams, 0


def _half_of_gram(features: Tensor) -> Tensor:
    """X X^T in strips, each up to the diagonal, and mirrored: two thirds of the products."""
    count = len(features)
    gram = features.new_empty(count, count)
    strip = max(SMALLEST_STRIP, -(-count // 3))
    for start in range(0, count, strip):
        end = min(start + strip, count)
        torch.mm(features[start:end], features[:end].mT, out=gram[start:end, :end])
        gram[:start, start:end] = gram[start:end, :start].mT
    return gram


def smallest_square(dtype: torch.dtype) -> float:
    """Squared lengths below this count as zero; the gradient divides by their square, which must not overflow."""
    return float(torch.finfo(dtype).tiny ** 0.5)


def squared_distances(linear: Tensor) -> Tensor:
    """Squared distances between rows from their linear Gram matrices; the diagonal is exactly zero."""
    squares = linear.diagonal(dim1=-2, dim2=-1)
    return (squares.unsqueeze(-1) + squares.unsqueeze(-2)).sub_(linear, alpha=2).clamp_min_(0)


def median_entry(distances: Tensor) -> Tensor:
    """The median of all N^2 entries of symmetric matrices (..., N, N) with zero diagonals, as (...,).

    Entries off the diagonal come in pairs, so the upper triangle is enough: half the work.

    >>> median_entry(torch.tensor([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]]))
    tensor(1.)
    """
    count = distances.shape[-1]
    if count < 3:  # half of the entries are zeros: the middle is not among the pairs
        return distances.flatten(-2).quantile(0.5, dim=-1)
    rows, columns = torch.triu_indices(count, count, 1, device=distances.device)
    pairs = distances.flatten(-2).index_select(-1, rows * count + columns)
    # Sorted, the N^2 entries are N zeros, then every pair twice; an even number of entries has two in the middle.
    rank = ((count**2 - 1) // 2 - count) // 2
    median: Tensor = _mean_of_ranks(pairs, rank, rank + 1 - count % 2)
    return median


@torch.library.custom_op("hecka::mean_of_ranks", mutates_args=())
def _mean_of_ranks(values: Tensor, low: int, high: int) -> Tensor:
    """Mean of the ``low``-th and the ``high``-th smallest value along the last axis, from 0; ``high - low`` is 0 or 1.

    An operator of its own, because ``torch.kthvalue`` takes 7 times as long on a CPU as NumPy's partition (which a
    compiled graph could not look into).
    """
    if values.device.type != "cpu":
        return (values.kthvalue(low + 1).values + values.kthvalue(high + 1).values) / 2
    ordered = np.partition(values.numpy(), low, axis=-1)  # all that is right of ``low`` is at least as large
    return torch.as_tensor((ordered[..., low] + ordered[..., high:].min(axis=-1)) / 2)


@_mean_of_ranks.register_fake
def _(values: Tensor, low: int, high: int) -> Tensor:
    return values.new_empty(values.shape[:-1])
