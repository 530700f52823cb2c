r"""Wasserstein gradient descent: members follow the posterior's score minus their own density's.

.. math:: \text{direction} = g + W(K)\, r

The gradient flow of the KL divergence is :math:`\nabla \log p - \nabla \log q`.  Nobody shares gradients here; what
members do to each other is an estimate W r of :math:`\nabla \log q`, by any of the three in ``score_estimators``.  In
space ``"logits"`` it is the function-space form (fWGD).  With one member it is plain training.

``"sge"`` and ``"ssge"`` rest on a kernel of distances; a diversity term goes with ``"kde"`` alone.

Reference: D'Angelo & Fortuin, "Repulsive Deep Ensembles are Bayesian", NeurIPS 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import torch
from torch import Tensor

from hecka.diversity.terms import PairTerm
from hecka.errors import InputError
from hecka.inference.particles import Particles
from hecka.inference.score_estimators import Estimator, weights


@dataclass(frozen=True, kw_only=True)
class WGD(Particles):
    """WGD with one of three estimates of the members' own score (see ``particles.Particles`` for the arguments).

    >>> WGD(estimator="kde").mixing(torch.ones(2, 2))
    (tensor([[1., 0.],
            [0., 1.]]), tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]]))
    """

    shares_gradients: ClassVar[bool] = False

    estimator: Estimator = "kde"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator not in get_args(Estimator):
            raise InputError(
                f"WGD: expected estimator to be one of {', '.join(get_args(Estimator))}, got {self.estimator!r}"
            )
        if isinstance(self.kernel, PairTerm) and self.estimator != "kde":
            raise InputError(
                f"WGD: expected estimator='kde' with a {type(self.kernel).__name__} kernel, got {self.estimator!r}, "
                "which needs a kernel of distances; use kernel=RBF()"
            )

    def mixing(self, kernel: Tensor) -> tuple[Tensor, Tensor]:
        """I and W."""
        identity = torch.eye(len(kernel), dtype=kernel.dtype, device=kernel.device)
        return identity, weights(kernel, self.estimator, self.eta)
