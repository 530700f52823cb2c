r"""Diversity terms: features of all members in, one scalar out that is lower when members differ more.

A term is a plain callable, so it drops into any training loop::

    loss = cross_entropy + 0.5 * hecka.HECKA()(features)

Each goes the same way: features -> Gram matrices -> cosines between members (CKA) -> a value for every pair ->
weighted sum over layers -> mean over pairs.  Terms differ in the value alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from hecka.diversity.energy import (
    Kind,
    best_cosine,
    check_energy,
    mean_over_pairs,
    normalized,
    pair_energy,
)
from hecka.diversity.layer_weights import Weighting, layer_weights
from hecka.errors import InputError
from hecka.similarity.cka import check_centering, gram_cosines, member_grams
from hecka.similarity.kernels import Kernel, KernelName, as_kernel
from hecka.types import Features


@dataclass(frozen=True, kw_only=True)
class PairTerm(ABC):
    """A mean over pairs of members of a function of their CKA, weighted over layers.

    Args:
        kernel: between the features of two examples: ``"cosine"``, ``"linear"``, ``"rbf"`` or a kernel object.
        weights: of the recorded layers, in the order of the taps (see ``hecka.diversity.layer_weights``).
        normalize_weights: whether the weights are divided by their sum.
        centering: ``"both"`` for the true CKA, ``"one-sided"`` for the paper's vector form.
    """

    kernel: KernelName | Kernel = "cosine"
    weights: Weighting = "linear"
    normalize_weights: bool = True
    centering: Literal["both", "one-sided"] = "both"

    def __post_init__(self) -> None:
        as_kernel(self.kernel)
        check_centering(self.centering)

    @abstractmethod
    def pairs(self, cosines: Tensor, batch: int) -> Tensor:
        """The value of each pair by itself, (..., M, M) from as many cosines of Gram matrices of ``batch`` examples."""

    def matrix(self, features: Features) -> Tensor:
        """Weighted sum over layers of the value of every pair of members, (M, M); a member with itself too."""
        if not features:
            raise InputError(
                f"{type(self).__name__}: expected recorded features, got none; give the members taps=[...]"
            )
        weights = layer_weights(self.weights, len(features), self.normalize_weights)
        counting = [(*item, weight) for item, weight in zip(features.items(), weights, strict=True) if weight]
        cosines, batches = [], []
        for tap, each, _ in counting:  # a layer that does not count costs nothing
            # Layer by layer: one layer's Gram matrices fit into a cache, and the way back frees them layer by layer.
            grams = member_grams(each, self.kernel, tap)
            cosines.append(gram_cosines(grams, self.centering))
            batches.append(grams.shape[-1])
        if len(set(batches)) == 1:  # M x M numbers are nothing, but a dozen operations on them are not: all at once
            values = self.pairs(torch.stack(cosines), batches[0]).unbind()
        else:
            values = tuple(self.pairs(each, batch) for each, batch in zip(cosines, batches, strict=True))
        weighted = [weight * each for (*_, weight), each in zip(counting, values, strict=True)]
        return torch.stack(weighted).sum(0)

    def __call__(self, features: Features) -> Tensor:
        """The term: a scalar."""
        return mean_over_pairs(self.matrix(features))


@dataclass(frozen=True, kw_only=True)
class HECKA(PairTerm):
    """Hyperspherical energy of CKA: members' Gram matrices repel each other on the sphere (see ``energy``).

    With ``normalized=True`` the energy is 1 for equal members and 0 for the best reachable spread, whatever M, the
    batch and the smoothing are; without it, it is the paper's.

    >>> import torch
    >>> features = {"fc": torch.randn(5, 16, 8, generator=torch.Generator().manual_seed(0))}
    >>> alike = {"fc": features["fc"][:1].expand(5, 16, 8)}
    >>> term = HECKA(normalized=True)
    >>> round(term(alike).item(), 3), round(term(features).item(), 3)
    (1.0, 0.038)
    """

    s: float = 2.0
    kind: Kind = "riesz"
    eps_dist: float = 0.0025
    eps_arc: float = 0.065
    normalized: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_energy(self.s, self.kind, self.eps_dist, self.eps_arc)
        if self.normalized and self.kind == "exponential" and self.s == 0:
            raise InputError(
                "HECKA: expected s > 0 with kind='exponential', got 0: all angles have the same energy then"
            )

    def pairs(self, cosines: Tensor, batch: int) -> Tensor:
        """Energies of all pairs."""
        energies = pair_energy(cosines, self.s, self.kind, self.eps_dist, self.eps_arc)
        if not self.normalized:
            return energies
        lowest = best_cosine(cosines.shape[-1], batch)
        return normalized(energies, lowest, self.s, self.kind, self.eps_dist, self.eps_arc)


@dataclass(frozen=True, kw_only=True)
class PairwiseCKA(PairTerm):
    """Mean CKA between members, the paper's CKA_pw: simple, but blind to members that coincide (see ``energy``).

    >>> import torch
    >>> round(PairwiseCKA(kernel="linear")({"fc": torch.randn(1, 8, 4).expand(3, 8, 4)}).item(), 4)
    1.0
    """

    def pairs(self, cosines: Tensor, batch: int) -> Tensor:
        """The cosines themselves."""
        return cosines
