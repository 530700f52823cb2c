r"""The score of a distribution that is known by points alone: an estimate of :math:`\nabla \log q(x_i)` from M draws.

All three are linear in the kernel's gradient :math:`r_i = \sum_j \nabla_{x_i} k(x_i, x_j)`, score = W r:

* ``"kde"``   W = diag(1 / row sums of K): exact for the points' density smoothed by k, so it sees a distribution that
  is wider than q by the bandwidth;
* ``"sge"``   :math:`W = (K + \eta I)^{-1}`, Stein's identity solved at the points (Li & Turner 2018);
* ``"ssge"``  :math:`W = K (K + \eta I)^{-2}`, the score expanded in the kernel's eigenfunctions (Shi, Sun & Zhu 2018);
  the only one that says something of other points too.  All M eigenfunctions are in use, so nothing has to be
  decomposed.

No linear solve here checks its outcome, which would make a GPU wait: :math:`K + \eta I` is positive definite.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from torch import Tensor

from hecka.inference.member_kernels import between_points, gaussian, mix, pull
from hecka.similarity.kernels import RBF, linear_gram

Estimator: TypeAlias = Literal["kde", "sge", "ssge"]

ETA = 0.01  # the published regulariser; K has a unit diagonal, so it is one percent of that
MEDIAN_RBF = RBF()


def kde_score(points: Tensor, kernel: RBF = MEDIAN_RBF) -> Tensor:
    """Scores (M, D) at ``points`` (M, D), by the kernel density estimate.

    >>> kde_score(torch.tensor([[-1.0], [0.0], [1.0]])).sign().flatten()
    tensor([ 1.,  0., -1.])
    """
    return _score(points, kernel, "kde", ETA)


def sge_score(points: Tensor, kernel: RBF = MEDIAN_RBF, eta: float = ETA) -> Tensor:
    """Scores (M, D) at ``points`` (M, D), by the Stein gradient estimator.

    >>> sge_score(torch.tensor([[-1.0], [1.0]])).sign().flatten()
    tensor([ 1., -1.])
    """
    return _score(points, kernel, "sge", eta)


def ssge_score(points: Tensor, kernel: RBF = MEDIAN_RBF, eta: float = ETA, at: Tensor | None = None) -> Tensor:
    r"""Scores at ``points`` (M, D), or ``at`` others (N, D), by the spectral Stein gradient estimator.

    With Y the points, :math:`k(x, Y) (K + \eta I)^{-2} r` at any x.  The bandwidth is then taken over Y and x together,
    as its authors do: were Y's own too narrow to reach x, the score would be 0 there.

    >>> ssge_score(torch.tensor([[-1.0], [1.0]]), at=torch.tensor([[-2.0], [0.0], [2.0]])).sign().flatten()
    tensor([ 1.,  0., -1.])
    """
    if at is None:
        return _score(points, kernel, "ssge", eta)
    count = len(points)
    both = torch.cat([points, at])
    both = both - both.mean(0)
    matrix, bandwidth = gaussian(linear_gram(both), kernel)
    inner, across = matrix[:count, :count], matrix[count:, :count]
    repulsion = pull(inner, bandwidth, both[:count])
    return mix(across, _solve(inner, eta, _solve(inner, eta, repulsion)))


def weights(matrix: Tensor, estimator: Estimator, eta: float) -> Tensor:
    """The matrix W (M, M) for which W r estimates the score, from the kernel's matrix K (M, M)."""
    if estimator == "kde":
        return torch.diag(1 / matrix.sum(-1))
    if estimator == "sge":
        return _solve(matrix, eta, torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device))
    return _solve(matrix, eta, _solve(matrix, eta, matrix))  # K commutes with its own inverse


def _solve(matrix: Tensor, eta: float, right: Tensor) -> Tensor:
    """(K + eta I)^-1 times ``right``."""
    regular = matrix + eta * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    solution: Tensor = torch.linalg.solve_ex(regular, right)[0]
    return solution


def _score(points: Tensor, kernel: RBF, estimator: Estimator, eta: float) -> Tensor:
    matrix, gradient = between_points({"points": points}, kernel)
    return mix(weights(matrix, estimator, eta), gradient["points"])
