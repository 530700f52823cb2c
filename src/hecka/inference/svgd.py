r"""Stein variational gradient descent: members share their gradients with those close by, and repel them.

.. math:: \text{direction} = \frac1M (K g + r), \qquad g_i = -\nabla \log p(\theta_i), \quad
          r_i = \sum_j \nabla_{\theta_i} k(\theta_i, \theta_j)

In space ``"logits"`` this is function-space SVGD (fSVGD).  With one member it is plain training, gradient times
:math:`k(\theta, \theta)`: 1 for an RBF and for CKA, the energy of coinciding members for HE-CKA.

Stein's own form repels by :math:`\sum_j \nabla_{\theta_j} k(\theta_j, \theta_i)`.  For an RBF that is -r.  For features
it would move member i by a gradient with respect to the weights of j, which means nothing to i's units; r, as in the
paper, moves i away from the others in its own weights.

References: Liu & Wang, "Stein Variational Gradient Descent", NeurIPS 2016; Wang et al., "Function Space Particle
Optimization for Bayesian Neural Networks", ICLR 2019; Smerkous, Bai & Li, NeurIPS 2024, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.inference.particles import Particles


@dataclass(frozen=True, kw_only=True)
class SVGD(Particles):
    """SVGD on weights with an RBF or a diversity term, or on outputs (see ``particles.Particles`` for the arguments).

    >>> from hecka.diversity.terms import HECKA
    >>> method = SVGD(kernel=HECKA(), data_size=60_000)
    >>> method.mixing(torch.ones(2, 2))
    (tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]]), tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]]))
    """

    def mixing(self, kernel: Tensor) -> tuple[Tensor, Tensor]:
        """K / M and I / M."""
        members = len(kernel)
        return kernel / members, torch.eye(members, dtype=kernel.dtype, device=kernel.device) / members
