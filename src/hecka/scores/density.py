r"""How dense training features are around an example: one Gaussian for each class.

.. math:: \log p(z) = \log \sum_c \pi_c\, N(z;\, \mu_c, \Sigma_c)

with :math:`\mu_c` and :math:`\Sigma_c` (divided by n - 1) of the features of class c, and :math:`\pi_c = 1`, or the
classes' shares where priors are asked for.  Low density means an input unlike any training example.  All is computed in
float64: with hundreds of features the log densities of two examples differ late.

Reference: Mukhoti et al., "Deep deterministic uncertainty", CVPR 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.scores.predictive import Prediction

# Added to each variance, the first that makes every covariance positive definite; it becomes singular when a feature is
# constant (a dead ReLU) or a class has no more examples than there are features.
JITTERS = (0.0, *(10.0**exponent for exponent in range(-10, 0)))


@dataclass(frozen=True, eq=False)
class ClassGaussians:
    """A Gaussian for each of C classes over D features.

    Args:
        means: (C, D).
        factors: lower Cholesky factors of the covariances, (C, D, D).
        log_weights: the logarithms of the classes' weights, (C,).
        jitter: what was added to each variance.

    >>> features = torch.tensor([[0.0], [2.0], [10.0], [12.0]])
    >>> gaussians = ClassGaussians.fit(features, torch.tensor([0, 0, 1, 1]))
    >>> gaussians.means.flatten(), gaussians.log_density(torch.tensor([[1.0], [30.0]]))
    (tensor([ 1., 11.], dtype=torch.float64), tensor([ -1.2655, -91.5155], dtype=torch.float64))
    """

    means: Tensor
    factors: Tensor
    log_weights: Tensor
    jitter: float

    @classmethod
    def fit(cls, features: Tensor, labels: Tensor, priors: bool = False) -> ClassGaussians:
        """The Gaussians of ``features`` (N, D) with class indices ``labels`` (N,).

        Classes are those that occur, each at least twice; with ``priors`` they are weighted by their size.
        """
        _check(features, labels)
        z = features.detach().double()
        counts = labels.bincount()
        classes = counts.nonzero().flatten()
        counts = counts[classes]
        if counts.min() < 2:
            few = int(classes[counts.argmin()])
            raise InputError(f"density: a covariance needs at least 2 examples of each class, got 1 of class {few}")
        groups = [z[labels == label] for label in classes]
        means = torch.stack([group.mean(0) for group in groups])
        covariances = torch.stack([_covariance(group) for group in groups])
        factors, jitter = _factorise(covariances)
        weights = counts.double() / len(labels) if priors else torch.ones_like(counts, dtype=torch.float64)
        return cls(means, factors, weights.log(), jitter)

    def log_density(self, features: Tensor) -> Tensor:
        """``log p`` of features (B, D): (B,) in float64."""
        classes, dimensions = self.means.shape
        if features.ndim != 2 or features.shape[1] != dimensions:
            raise InputError(f"density: expected features (B, {dimensions}), got {tuple(features.shape)}")
        z = features.detach().double()
        # One class at a time: all at once would need C copies of the features.
        log_densities = torch.stack([self._log_normal(index, z) for index in range(classes)])
        total: Tensor = torch.logsumexp(log_densities + self.log_weights[:, None], dim=0)
        return total

    def _log_normal(self, index: int, z: Tensor) -> Tensor:
        factor = self.factors[index]
        whitened = torch.linalg.solve_triangular(factor, (z - self.means[index]).T, upper=False)
        log_volume = factor.diagonal().log().sum() + 0.5 * len(factor) * math.log(2 * math.pi)
        log_density: Tensor = -0.5 * whitened.square().sum(0) - log_volume
        return log_density


@dataclass(frozen=True, eq=False)
class DensityPrediction(Prediction):
    """A prediction with the density of each example's features: ``log_density`` (B,).

    >>> answer = DensityPrediction(torch.zeros(1, 2, 3), log_density=torch.tensor([-3.0, -700.0]))
    >>> answer.outlyingness
    tensor([  3., 700.])
    """

    log_density: Tensor

    @property
    def outlyingness(self) -> Tensor:
        """Minus the log density, (B,): larger means more outlying."""
        return -self.log_density


def _covariance(group: Tensor) -> Tensor:
    centred = group - group.mean(0)
    return centred.T @ centred / (len(group) - 1)


def _factorise(covariances: Tensor) -> tuple[Tensor, float]:
    """Cholesky factors (C, D, D) of all covariances, with the smallest jitter that serves all classes.

    One jitter for all, as a class with a larger one would be denser far away for no reason.
    """
    identity = torch.eye(covariances.shape[-1], dtype=covariances.dtype, device=covariances.device)
    for jitter in JITTERS:
        factors, failed = torch.linalg.cholesky_ex(covariances + jitter * identity)
        if not failed.any():
            return factors, jitter
    raise InputError(
        f"density: expected covariances that a jitter of {JITTERS[-1]} makes positive definite, got features with "
        f"variances up to {float(covariances.diagonal(dim1=-2, dim2=-1).max()):.3g}; scale the features down"
    )


def _check(features: Tensor, labels: Tensor) -> None:
    if features.ndim != 2 or labels.shape != features.shape[:1] or labels.dtype != torch.int64 or not len(labels):
        raise InputError(
            f"density: expected features (N, D) and int64 classes (N,), got {tuple(features.shape)} and "
            f"{labels.dtype} {tuple(labels.shape)}; flatten feature maps"
        )
    if not features.isfinite().all():
        raise InputError("density: expected finite features, got NaN or infinity; look at the network's outputs")
