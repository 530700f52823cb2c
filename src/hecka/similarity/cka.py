r"""Centred kernel alignment: how alike two representations of the same N examples are.

.. math:: \mathrm{CKA}(K, L) = \frac{\langle PK, PL \rangle}{\|PK\| \, \|PL\|}

P is a centring.  All three in use are orthogonal projections, so CKA is always the cosine of the angle between two
projected, flattened Gram matrices -- two points on a hypersphere:

* ``"both"``       HKH, with :math:`H = I - 11^\top/N`: the true CKA (Kornblith et al. 2019), and the default;
* ``"one-sided"``  KH: what the vector form of the HE-CKA paper says; its published settings were tuned with it;
* ``"unbiased"``   U-centring of K without its diagonal (Szekely & Rizzo 2014): the HSIC of Song et al. (2012), free of
  the bias towards 1 that a small N brings.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from hecka.errors import InputError
from hecka.similarity.kernels import Kernel, KernelName, as_kernel, flatten_rows, gram, linear_gram
from hecka.types import Features, MemberFeatures

Centering: TypeAlias = Literal["both", "one-sided", "unbiased"]

# The unbiased estimate divides by N - 3, and three centred examples hardly have an angle to speak of.
SMALLEST_BATCH = 4


def cka(
    x: Tensor,
    y: Tensor,
    kernel: KernelName | Kernel = "linear",
    centering: Literal["both", "one-sided"] = "both",
    unbiased: bool = False,
) -> Tensor:
    r"""CKA of two feature matrices (N, D) and (N, D') of the same N examples (tensors or arrays): a scalar.

    ``unbiased`` takes the debiased estimate (both sides centred), which may fall a little below 0.

    >>> x = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    >>> round(cka(x, 3 * x.flip(1)).item(), 4)  # neither scale nor the order of features matters
    1.0
    """
    how = check_centering(centering, unbiased)
    views = {"x": torch.as_tensor(x), "y": torch.as_tensor(y)}
    for name, view in views.items():
        if view.dim() != 2:
            raise InputError(f"cka: expected {name} of shape (N, D), got {tuple(view.shape)}; flatten each example")
        if not bool(view.isfinite().all()):
            raise InputError(f"cka: expected finite features, got NaN or infinity in {name}; remove those examples")
    if len(views["x"]) != len(views["y"]):
        raise InputError(f"cka: expected the same examples twice, got {len(views['x'])} and {len(views['y'])} rows")
    check_batch(len(views["x"]), "x")
    cosines = gram_cosines(torch.stack([gram(view, kernel) for view in views.values()]), how)
    for index, name in enumerate(views):
        if not cosines[index, index] > 0:
            raise InputError(f"cka: features {name} are the same for all examples; CKA of a constant is not defined")
    return cosines[0, 1]


def pairwise_cka(
    features: MemberFeatures,
    kernel: KernelName | Kernel = "linear",
    centering: Literal["both", "one-sided"] = "both",
    unbiased: bool = False,
) -> Tensor:
    """CKA between all members at one tap, (M, M), from features (M, B, ...) or M tensors (B, ...).

    >>> pairwise_cka(torch.randn(3, 20, 4, 5, 5)).shape
    torch.Size([3, 3])
    """
    return gram_cosines(member_grams(features, kernel), check_centering(centering, unbiased))


class CKAGrid:
    r"""Unbiased CKA between every member and every layer, over a data set of any size, batch after batch.

    The terms of HSIC are averaged over batches BEFORE the ratio (Nguyen et al. 2021), so small batches do not bias it.

    >>> grid = CKAGrid()
    >>> for _ in range(3):
    ...     grid.update({"a": torch.randn(2, 16, 5), "b": torch.randn(2, 16, 7)})
    >>> grid.compute().shape  # layers, members, layers, members
    torch.Size([2, 2, 2, 2])
    """

    def __init__(self, kernel: KernelName | Kernel = "linear") -> None:
        self.kernel = kernel
        self.taps: tuple[str, ...] = ()
        self._sum: Tensor | None = None

    @torch.no_grad()
    def update(self, features: Features) -> None:
        """Add one batch of at least 4 examples."""
        grams = layer_grams(features, self.kernel)
        self.taps = tuple(features)
        self._shape = grams.shape[:2]
        products = hsic(grams.flatten(0, 1), "unbiased").double()
        self._sum = products if self._sum is None else self._sum + products

    def compute(self) -> Tensor:
        """CKA of (layer, member) with (layer', member'), (L, M, L, M)."""
        if self._sum is None:
            raise InputError("CKAGrid: expected at least one batch before compute(), got none; call update(features)")
        length = self._sum.diagonal().clamp_min(torch.finfo(self._sum.dtype).tiny).sqrt()
        return (self._sum / length.unsqueeze(0) / length.unsqueeze(1)).reshape(*self._shape, *self._shape)


def member_grams(features: MemberFeatures, kernel: KernelName | Kernel = "linear", tap: str = "features") -> Tensor:
    """Gram matrices of all members at one tap, (M, N, N)."""
    return as_kernel(kernel)(_linear_grams(features, tap))


def layer_grams(features: Features, kernel: KernelName | Kernel = "linear") -> Tensor:
    """Gram matrices of all members at all taps, (L, M, N, N)."""
    linear = [_linear_grams(each, tap) for tap, each in features.items()]
    if len({grams.shape for grams in linear}) > 1:
        sizes = {tap: grams.shape[-1] for tap, grams in zip(features, linear, strict=True)}
        raise InputError(
            f"cka: expected one batch size at all taps, got {sizes}; tap modules that keep the batch first"
        )
    return as_kernel(kernel)(torch.stack(linear))


def _linear_grams(features: MemberFeatures, tap: str) -> Tensor:
    if isinstance(features, Tensor):
        check_batch(features.shape[1], tap)
        return _in_turn(linear_gram(flatten_rows(features, leading=2)), features)
    check_batch(features[0].shape[0], tap)
    # One Gram a member: stacking the features first would copy them all.
    return torch.stack([_in_turn(linear_gram(flatten_rows(each, leading=1)), each) for each in features])


def _in_turn(gram: Tensor, features: Tensor) -> Tensor:
    """``gram``, whose gradient goes on to ``features`` no sooner than the way back comes to their layer.

    Autograd takes the newest steps first, and Gram matrices come after the whole network: the gradients of all recorded
    features would exist at once, before any of what the network keeps is freed.  Those of few features may: they are
    smaller than the Gram matrix's own, which waits instead.
    """
    if torch.compiler.is_compiling() or features.numel() < gram.numel():
        return gram
    if gram.grad_fn is not None and features.grad_fn is not None:
        take_place = getattr(gram.grad_fn, "_set_sequence_nr", None)  # no public name; without it, memory alone is more
        if take_place is not None:
            take_place(features.grad_fn._sequence_nr())
    return gram


def check_batch(size: int, tap: str) -> None:
    """Refuse a batch on which CKA says nothing."""
    if size < SMALLEST_BATCH:
        raise InputError(
            f"cka: features need a batch of at least {SMALLEST_BATCH}, got {size} (tap {tap!r}); use a larger "
            "batch, make more outliers, or leave out an epoch's last batch: hecka.Batches(..., drop_last=True)"
        )


def hsic(grams: Tensor, centering: Centering = "both") -> Tensor:
    r"""Hilbert-Schmidt independence criterion between all pairs of V Gram matrices (V, N, N): (V, V).

    ``"both"`` gives tr(KHLH) / (N-1)^2; ``"unbiased"`` gives the U-statistic, which divides by N (N-3).
    """
    count = grams.shape[-1]
    vectors = project(grams, centering).flatten(-2)
    scale = count * (count - 3) if centering == "unbiased" else (count - 1) ** 2
    with torch.autocast(grams.device.type, enabled=False):
        return vectors @ vectors.mT / scale


def project(grams: Tensor, centering: Centering) -> Tensor:
    """Centre symmetric matrices (..., N, N); see the head of this file."""
    count = grams.shape[-1]
    rows = grams.mean(-1)
    if centering == "one-sided":
        return grams - rows.unsqueeze(-1)
    if centering == "both":
        half = rows - rows.mean(-1, keepdim=True) / 2
        return (grams - half.unsqueeze(-1)).sub_(half.unsqueeze(-2))  # in place: a third of the passes over memory
    hollow = 1 - torch.eye(count, dtype=grams.dtype, device=grams.device)
    rows = (rows * count - grams.diagonal(dim1=-2, dim2=-1)) / (count - 2)
    half = rows - rows.sum(-1, keepdim=True) / (2 * (count - 1))
    return (grams - half.unsqueeze(-1) - half.unsqueeze(-2)) * hollow


def gram_cosines(grams: Tensor, centering: Centering = "both") -> Tensor:
    """CKA between all pairs of M symmetric Gram matrices (..., M, N, N): cosines (..., M, M).

    A matrix that is constant up to rounding has no direction: its cosines, its own included, and its gradient are 0.
    """
    with torch.autocast(grams.device.type, enabled=False):
        cosines: Tensor = _GramCosines.apply(grams, centering)[0]  # type: ignore[no-untyped-call]
    return cosines


class _GramCosines(torch.autograd.Function):
    r"""Cosines :math:`c_{ij} = \langle v_i, v_j \rangle / |v_i| |v_j|` of the projections v = P K.

    The gradient with respect to K_i is :math:`\sum_j s_{ij} (v_j/|v_j| - c_{ij} v_i/|v_i|) / |v_i|`, s the symmetrised
    gradient of c.  It lies in the range of P already: the way back needs no centring and is one matrix product.  v is
    made again for it rather than kept: K is kept by its kernel anyway, and one N x N matrix a member and layer is what
    the memory of a diverse step exceeds that of a plain one by.
    """

    @staticmethod
    def forward(grams: Tensor, centering: Centering) -> tuple[Tensor, Tensor]:
        vectors = project(grams, centering).flatten(-2)
        products = vectors @ vectors.mT
        squares = products.diagonal(dim1=-2, dim2=-1)
        # The trace bounds the norm of a positive matrix; centring leaves rounding errors of about eps of it.
        noise = 8 * torch.finfo(grams.dtype).eps * grams.diagonal(dim1=-2, dim2=-1).sum(-1)
        resolved = squares > noise.square()
        inverse = torch.where(resolved, squares.where(resolved, 1.0).rsqrt(), 0.0)
        return products * inverse.unsqueeze(-1) * inverse.unsqueeze(-2), inverse

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor, Centering], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(inputs[0], *output)
        ctx.centering = inputs[1]  # type: ignore[attr-defined]

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor | None, _: None) -> tuple[Tensor | None, None]:
        if gradient is None:
            return None, None
        grams, cosines, inverse = ctx.saved_tensors  # type: ignore[attr-defined]
        vectors = project(grams, ctx.centering).flatten(-2)  # type: ignore[attr-defined]
        symmetric = gradient + gradient.mT
        symmetric = symmetric - torch.diag_embed(symmetric.diagonal(dim1=-2, dim2=-1))  # c_ii is constant
        weights = symmetric * inverse.unsqueeze(-1) * inverse.unsqueeze(-2)
        weights = weights - torch.diag_embed((symmetric * cosines).sum(-1) * inverse.square())
        return (weights @ vectors).view(grams.shape), None


def check_centering(centering: str, unbiased: bool = False) -> Centering:
    """The centring that two arguments ask for."""
    if centering not in ("both", "one-sided"):
        raise InputError(f"cka: expected centering 'both' or 'one-sided', got {centering!r}")
    if unbiased and centering == "one-sided":
        raise InputError("cka: the unbiased estimate centres both sides; drop centering='one-sided' or unbiased=True")
    return "unbiased" if unbiased else centering  # type: ignore[return-value]
