"""How much the members differ: in what they answer, and in how they see.

- ``disagreement``: the share of pairs of members that name different classes, ``mean_{i<j} [y_i != y_j]``.
- ``effective_members``: how many members' worth of diversity a similarity matrix K (M, M) holds.  With
  ``l_i`` the eigenvalues of K / M it is ``exp(-sum_i l_i log l_i)``: 1 when all members are equal, M when
  no two have anything in common.  This is the Vendi score: Friedman & Dieng, "The Vendi Score: A Diversity
  Evaluation Metric for Machine Learning", TMLR 2023.
- ``cka_per_layer``: the mean over pairs of members of the CKA of their features, tap by tap.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.scores.predictive import class_logits
from hecka.similarity.cka import pairwise_cka
from hecka.similarity.kernels import Kernel, KernelName
from hecka.types import Features

ROUNDING = 1e-4
"""How far float32 similarities may miss a unit diagonal, symmetry, or (for each member) an eigenvalue of 0."""


def disagreement(logits: Tensor) -> Tensor:
    """Share of pairs of members that name different classes, for each example: (M, B, C) -> (B,).

    A single member disagrees with nobody: 0.

    >>> disagreement(torch.tensor([[[0.0, 1.0]], [[0.0, 1.0]], [[1.0, 0.0]]]))  # 2 of 3 pairs
    tensor([0.6667])
    """
    logits = class_logits(logits)
    members = len(logits)
    named = logits.argmax(-1)
    ordered_pairs = (named[:, None] != named[None]).sum((0, 1))
    return ordered_pairs.to(logits.dtype) / max(members * (members - 1), 1)  # one member: 0 of no pairs


def effective_members(similarity: Tensor) -> float:
    """Number of members, from 1 to M, that a similarity matrix is worth: ``exp(entropy of K / M)``.

    Args:
        similarity: (M, M), symmetric and positive semi-definite with ones on its diagonal, such as a matrix
            of pairwise CKA or of cosines.

    >>> [round(effective_members(matrix), 6) for matrix in (torch.ones(5, 5), torch.eye(5))]
    [1.0, 5.0]
    """
    kernel = _checked(similarity)
    eigenvalues = torch.linalg.eigvalsh(kernel)
    if float(eigenvalues[0]) < -ROUNDING * len(kernel):
        raise InputError(
            f"effective_members: similarity must be positive semi-definite, got an eigenvalue of "
            f"{float(eigenvalues[0]):.3g}; pass cosines or CKA, not distances"
        )
    shares = eigenvalues.clamp(min=0.0)  # rounding alone, see above
    return float(torch.special.entr(shares / shares.sum()).sum().exp())


def cka_per_layer(
    features: Features,
    kernel: KernelName | Kernel = "linear",
    centering: Literal["both", "one-sided"] = "both",
    unbiased: bool = False,
) -> dict[str, float]:
    """Mean CKA over pairs of members, for each tap.

    A member that answers alike to every example has no CKA at that tap and is left out; NaN where fewer than 2 remain.

    Args:
        features: for each tap the members' features, (M, B, ...) or M tensors (B, ...), at least 2 members.
        kernel: as in :func:`hecka.similarity.cka.pairwise_cka`, and so are the next two.
        centering: see there.
        unbiased: see there.

    >>> x = torch.randn(1, 8, 3, generator=torch.Generator().manual_seed(0))
    >>> {tap: round(value, 4) for tap, value in cka_per_layer({"fc1": torch.cat([x, 2 * x])}).items()}
    {'fc1': 1.0}
    """
    with torch.no_grad():
        return {
            tap: _mean_over_pairs(pairwise_cka(recorded, kernel, centering, unbiased), tap)
            for tap, recorded in features.items()
        }


def _mean_over_pairs(matrix: Tensor, tap: str) -> float:
    members = len(matrix)
    if members < 2:
        raise InputError(f"cka_per_layer: needs at least 2 members, got {members} (tap {tap!r}); add members")
    if bool(matrix.isnan().any()):
        raise InputError(f"cka_per_layer: expected finite features, got NaN (tap {tap!r}); look for diverged members")
    alive = matrix.diagonal() > 0
    pairs = matrix[alive][:, alive]
    if len(pairs) < 2:
        return math.nan
    above, right = torch.triu_indices(len(pairs), len(pairs), offset=1)
    return float(pairs[above, right].mean())


def _checked(similarity: Tensor) -> Tensor:
    """The matrix in float64 on the CPU (small, and not every GPU has float64), once it is a similarity."""
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1] or similarity.numel() == 0:
        raise InputError(
            f"effective_members: similarity must be (M, M), got {tuple(similarity.shape)}; "
            "pass one number for each pair of members"
        )
    matrix = similarity.detach().cpu().double()
    off_diagonal = float((matrix.diagonal() - 1).abs().max())
    asymmetry = float((matrix - matrix.T).abs().max())
    if not (off_diagonal <= ROUNDING and asymmetry <= ROUNDING):  # "not <=" catches NaN as well
        raise InputError(
            f"effective_members: similarity must be symmetric with a diagonal of ones, got one off by "
            f"{off_diagonal:.3g} and an asymmetry of {asymmetry:.3g}; divide K_ij by sqrt(K_ii K_jj)"
        )
    return matrix
