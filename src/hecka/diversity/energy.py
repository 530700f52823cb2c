r"""Hyperspherical energy: how far from evenly spread M points lie on a sphere.  THE MAIN IDEA of hecka.

CKA makes every member's Gram matrix a point on a hypersphere and the similarity of two members the cosine of the angle
:math:`\phi` between their points.  Minimising cosines hardly moves members that are alike: the gradient of
:math:`\cos \phi` vanishes at :math:`\phi = 0`.  So members repel each other like charges instead, by the energy

.. math:: E = \frac{1}{M (M - 1)} \sum_{i \ne j} e(\phi_{ij}), \qquad
          e(\phi) = \frac{1 + \epsilon_{dist}}{\phi^s + \epsilon_{dist}}, \qquad
          \phi_{ij} = \arccos \frac{c_{ij}}{1 + \epsilon_{arc}}

whose force is strongest where two members coincide.  ``s = 0`` is the limit log e; ``kind="exponential"`` is
:math:`e(\phi) = \exp(-(s \phi + \epsilon_{dist}))`, bounded by 1.  The smoothing keeps coinciding members from flying
apart at infinite speed: :math:`\epsilon_{arc}` bounds the slope of the arccos, :math:`\epsilon_{dist}` the energy.

Reference: Smerkous, Bai & Li, "Enhancing Diversity in Bayesian Deep Learning via Hyperspherical Energy Minimization of
CKA", NeurIPS 2024, equations 5 and 13; Liu et al., "Learning towards Minimum Hyperspherical Energy", NeurIPS 2018.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from hecka.errors import InputError

Kind: TypeAlias = Literal["riesz", "exponential"]


def hyperspherical_energy(
    cosines: Tensor,
    s: float = 2.0,
    kind: Kind = "riesz",
    eps_dist: float = 0.0025,
    eps_arc: float = 0.065,
) -> Tensor:
    """Mean energy over ordered pairs of different points, from cosines (..., M, M): (...,).  A single point has none.

    >>> alike, spread = torch.ones(5, 5), torch.eye(5)
    >>> [round(hyperspherical_energy(c).item(), 3) for c in (alike, spread)]
    [7.967, 0.406]
    """
    check_energy(s, kind, eps_dist, eps_arc)
    cosines = torch.as_tensor(cosines)
    if cosines.dim() < 2 or cosines.shape[-1] != cosines.shape[-2]:
        raise InputError(
            f"hyperspherical_energy: expected the cosines of all pairs, (..., M, M), got {tuple(cosines.shape)}"
        )
    return mean_over_pairs(pair_energy(cosines, s, kind, eps_dist, eps_arc))


def mean_over_pairs(matrix: Tensor) -> Tensor:
    """Mean of the entries off the diagonal of (..., M, M); 0 where there is one point only."""
    members = matrix.shape[-1]
    # Masked, not subtracted: a point's energy with itself may be many times all the rest.
    others = 1 - torch.eye(members, dtype=matrix.dtype, device=matrix.device)
    return (matrix * others).sum((-2, -1)) / max(members * (members - 1), 1)


def pair_energy(cosines: Tensor, s: float, kind: Kind, eps_dist: float, eps_arc: float) -> Tensor:
    """Energy of pairs of points with these cosines, element by element."""
    # Without eps_arc the slope at a cosine of 1 is infinite: the clamp leaves two equal points at rest instead.
    edge = 1 - 4 * torch.finfo(cosines.dtype).eps
    angles = torch.arccos((cosines / (1 + eps_arc)).clamp(-edge, edge))
    if kind == "exponential":
        return torch.exp(-(s * angles + eps_dist))
    if s == 0:
        return -torch.log((angles + eps_dist) / (1 + eps_dist))
    return (1 + eps_dist) / (angles**s + eps_dist)


def best_cosine(members: int, batch: int | None = None) -> float:
    r"""The largest cosine that a pair must have when M points are spread as evenly as they can be.

    On a free sphere of enough dimensions (``batch=None``) that is a regular simplex, :math:`-1/(M-1)`.  Gram matrices
    are positive, so their cosines are never negative: centred Gram matrices of N examples, which act on N - 1
    dimensions, can be orthogonal up to M = N - 1; for more of them
    :math:`M + \sum_{i \ne j} c_{ij} = |\sum_i v_i|^2 \ge (\sum_i \mathrm{tr}\, v_i)^2 / (N-1) \ge M^2 / (N-1)`.

    >>> best_cosine(5), best_cosine(5, batch=100), best_cosine(8, batch=5)
    (-0.25, 0.0, 0.14285714285714285)
    """
    if members == 1:
        return 0.0
    if batch is None:
        return -1 / (members - 1)
    return max(0.0, (members / (batch - 1) - 1) / (members - 1))


def normalized(energy: Tensor, lowest_cosine: float, s: float, kind: Kind, eps_dist: float, eps_arc: float) -> Tensor:
    """Energy on a scale on which M equal points have 1 and the best reachable spread has 0.

    That makes one gamma mean the same for every M, batch size, layer and smoothing.

    >>> spread = hyperspherical_energy(torch.eye(5))
    >>> normalized(spread, best_cosine(5, batch=100), 2.0, "riesz", 0.0025, 0.065).abs() < 1e-6
    tensor(True)
    """
    low, high = (pair_energy(energy.new_full((), c), s, kind, eps_dist, eps_arc) for c in (lowest_cosine, 1.0))
    scaled: Tensor = (energy - low) / (high - low)
    return scaled


def check_energy(s: float, kind: str, eps_dist: float, eps_arc: float) -> None:
    """Refuse settings for which the energy is no energy."""
    if kind not in get_args(Kind):
        raise InputError(f"hyperspherical_energy: expected kind 'riesz' or 'exponential', got {kind!r}")
    for name, value in (("s", s), ("eps_dist", eps_dist), ("eps_arc", eps_arc)):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"hyperspherical_energy: expected {name} >= 0, got {value}")
