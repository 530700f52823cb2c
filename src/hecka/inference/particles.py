r"""Particle inference: members move together until they are a sample of the posterior.

The posterior's score pulls every member uphill, and an estimate of the members' own density pushes them apart.  With
:math:`g_i = -\nabla \log p`, kernel matrix K and its gradient r (see ``member_kernels``), every method is

.. math:: \text{direction} = A(K)\, g + B(K)\, r

with two (M, M) matrices: ``svgd`` and ``wgd`` each say which.  Where particles live:

* ``space="weights"``: every member's weights are a point.  Compared by an RBF of their distance, or by a diversity term
  on their features;
* ``space="logits"``: the outputs on the batch are the point, and g the gradient with respect to them.  The direction is
  pulled back to the weights by the Jacobian's transpose, in one backward pass.  A prior on weights is one on functions:
  its score is estimated (``ssge``) at every step from as many fresh networks as there are members;
* ``space="softmax"``: the same, but the distance between two members is that of their probabilities.

Reference: D'Angelo & Fortuin, "Repulsive Deep Ensembles are Bayesian", NeurIPS 2021.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from hecka.diversity.energy import mean_over_pairs
from hecka.diversity.terms import PairTerm
from hecka.errors import InputError
from hecka.inference.gradient import gradient
from hecka.inference.likelihood import is_classification, member_losses
from hecka.inference.member_kernels import Closeness, at_taps, between_features, between_outputs, between_points, mix
from hecka.inference.posterior import Prior, energies
from hecka.inference.score_estimators import ETA, MEDIAN_RBF, ssge_score
from hecka.similarity.kernels import RBF
from hecka.types import Batch, Members, Params, State, Step

Space: TypeAlias = Literal["weights", "logits", "softmax"]

# Trained outputs lie far from those of fresh networks: the wide rule, without ln M, is the one that reaches them.
PRIOR_KERNEL = RBF(heuristic="distance")


@dataclass(frozen=True, kw_only=True)
class Particles(ABC):
    """What all particle methods share.

    Args:
        kernel: how members are compared: ``RBF`` by their distance in ``space``, a diversity term by their features.
        space: where particles live.
        data_size: N, how many targets the training set has; the driving force is the mean loss's when None.
        prior: the belief about weights before the data; flat when None.
        noise: standard deviation of the targets' noise, for regression with ``data_size``.
        eta: regulariser of the spectral and Stein estimators.
    """

    shares_gradients: ClassVar[bool] = True
    """Whether A mixes gradients.  Else, with a diversity term, A is I and B diagonal: one backward pass is enough."""

    kernel: RBF | PairTerm = MEDIAN_RBF
    space: Space = "weights"
    data_size: int | None = None
    prior: Prior | None = None
    noise: float = 1.0
    eta: float = ETA

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.kernel, RBF | PairTerm):
            raise InputError(
                f"{name}: expected kernel to be an RBF() or a diversity term such as HECKA(), got {self.kernel!r}"
            )
        if self.space not in get_args(Space):
            raise InputError(f"{name}: expected space to be one of {', '.join(get_args(Space))}, got {self.space!r}")
        if isinstance(self.kernel, PairTerm) and self.space != "weights":
            raise InputError(
                f"{name}: expected an RBF kernel with space={self.space!r}, got a {type(self.kernel).__name__}, which "
                "compares features; drop space"
            )
        for setting in ("data_size", "noise", "eta"):
            value = getattr(self, setting)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{name}: expected {setting} > 0, got {value}")

    @abstractmethod
    def mixing(self, kernel: Tensor) -> tuple[Tensor, Tensor]:
        """A and B (M, M) of the head of this file, from the kernel's matrix (M, M)."""

    def start(self, members: Members) -> State:
        """Nothing is carried from step to step."""
        return {}

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """One step towards the posterior; outliers in the batch are not looked at."""
        step = self._move_weights if self.space == "weights" else self._move_outputs
        return step(members, params, batch, state, generator)

    def _move_weights(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        logits, features = members.run(params, batch.inputs)
        losses = member_losses(logits, batch.targets)
        energy = energies(losses, batch.targets, self.data_size, self.noise)
        info = {"loss": losses.detach().mean()}
        if self.prior is not None:
            log_prior = self.prior.log_density(params)
            energy = energy - log_prior
            info["log_prior"] = log_prior.detach().mean()
        if isinstance(self.kernel, PairTerm) and not self.shares_gradients:
            matrix, pulls = at_taps(features, self.kernel, lambda kernel: self.mixing(kernel)[1].diagonal())
            info["kernel"] = mean_over_pairs(matrix)
            return Step(gradient(energy.sum(), params, pulls), info, state)
        if isinstance(self.kernel, RBF):
            closeness = between_points(params, self.kernel)
        else:
            closeness = between_features(params, features, self.kernel)
        info["kernel"] = mean_over_pairs(closeness.matrix)
        return Step(self._direction(gradient(energy.sum(), params), closeness), info, state)

    def _move_outputs(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        assert isinstance(self.kernel, RBF)  # refused otherwise when the settings were made
        if self.space == "softmax" and not is_classification(batch.targets):
            raise InputError(
                f"{type(self).__name__}: expected class indices as targets with space='softmax', got "
                f"{batch.targets.dtype}; use space='logits' for regression"
            )
        # Before the members' own pass: what the fresh networks leave in buffers can then be undone in place.
        fresh = None if self.prior is None else _run_aside(members, self.prior.draw(params, generator), batch.inputs)
        logits = members.run(params, batch.inputs).logits
        outputs = logits.detach().to(torch.promote_types(logits.dtype, torch.float32)).requires_grad_()
        losses = member_losses(outputs, batch.targets)
        energy = energies(losses, batch.targets, self.data_size, self.noise)
        slope = gradient(energy.sum(), {"outputs": outputs})
        closeness = between_outputs(outputs, self.kernel, softmax=self.space == "softmax")
        info = {"loss": losses.detach().mean(), "kernel": mean_over_pairs(closeness.matrix)}
        if fresh is not None:
            score = ssge_score(
                fresh.flatten(1).to(outputs.dtype), PRIOR_KERNEL, self.eta, at=outputs.detach().flatten(1)
            )
            slope = {"outputs": slope["outputs"] - score.reshape(outputs.shape)}
            info["prior_score"] = score.square().mean().sqrt()
        direction = self._direction(slope, closeness)["outputs"]
        return Step(gradient((logits * direction).sum(), params), info, state)

    def _direction(self, slope: Params, closeness: Closeness) -> Params:
        drive, repel = self.mixing(closeness.matrix)
        return {name: mix(drive, slope[name]) + mix(repel, closeness.gradient[name]) for name in slope}


@torch.no_grad()
def _run_aside(members: Members, params: Params, inputs: Tensor) -> Tensor:
    """Logits of foreign weights; running statistics are left as they were."""
    buffers = list(members.buffers()) if isinstance(members, nn.Module) else []
    before = [buffer.clone() for buffer in buffers]
    logits = members.run(params, inputs).logits
    for buffer, old in zip(buffers, before, strict=True):
        # Behind autograd's back: a hypernetwork's graph hangs on buffers that no run has touched.
        buffer.data.copy_(old)
    return logits
