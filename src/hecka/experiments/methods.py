"""Methods as settings: plain values that a command line can set and a file can hold, and what makes a method of them.

The library's methods take objects (a kernel, a prior, a term); here each is spelled out in numbers and names.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from hecka.diversity.energy import Kind
from hecka.diversity.terms import HECKA, PairTerm, PairwiseCKA
from hecka.inference.independent import Independent
from hecka.inference.input_gradients import InputGradients
from hecka.inference.particles import Particles, Space
from hecka.inference.posterior import Gaussian
from hecka.inference.repulsive import Repulsive
from hecka.inference.score_estimators import Estimator
from hecka.inference.svgd import SVGD
from hecka.inference.weight_penalty import WeightPenalty
from hecka.inference.wgd import WGD
from hecka.similarity.kernels import RBF, Kernel, KernelName
from hecka.types import Method


@dataclass(frozen=True)
class TermSettings:
    """A diversity term (see ``hecka.diversity.terms``).

    Args:
        energy: hyperspherical energy of CKA, or the plain mean of CKA.
        kernel: between the features of two examples.
        multiplier: of an RBF kernel's bandwidth.
        weights: of the recorded layers, in the order of the taps.
        normalize_weights: whether they are divided by their sum.
        centering: both for the true CKA, one-sided for the paper's vector form, with which its settings were tuned.
        s: exponent of the energy.
        kind: form of the energy.
        eps_dist: smoothing that bounds the energy.
        eps_arc: smoothing that bounds the slope of the arccos.
        normalized: whether the energy is 1 for equal members and 0 for the best reachable spread.
    """

    energy: Literal["hecka", "cka"] = "hecka"
    kernel: KernelName = "cosine"
    multiplier: float = 1.0
    weights: Literal["linear", "uniform"] | tuple[float, ...] = "linear"
    normalize_weights: bool = True
    centering: Literal["both", "one-sided"] = "both"
    s: float = 2.0
    kind: Kind = "riesz"
    eps_dist: float = 0.0025
    eps_arc: float = 0.065
    normalized: bool = False

    def make(self) -> PairTerm:
        """The term.

        >>> TermSettings(energy="cka", kernel="linear").make()
        PairwiseCKA(kernel='linear', weights='linear', normalize_weights=True, centering='both')
        """
        kernel: KernelName | Kernel = RBF(self.multiplier) if self.kernel == "rbf" else self.kernel
        if self.energy == "cka":
            return PairwiseCKA(
                kernel=kernel,
                weights=self.weights,
                normalize_weights=self.normalize_weights,
                centering=self.centering,
            )
        return HECKA(
            kernel=kernel,
            weights=self.weights,
            normalize_weights=self.normalize_weights,
            centering=self.centering,
            s=self.s,
            kind=self.kind,
            eps_dist=self.eps_dist,
            eps_arc=self.eps_arc,
            normalized=self.normalized,
        )


@dataclass(frozen=True)
class IndependentSettings:
    """A deep ensemble: every member learns as if it were alone."""

    def make(self, data_size: int) -> Method:
        """The method."""
        return Independent()

    def scaled(self, budget: float) -> IndependentSettings:
        """Nothing here counts steps."""
        return self


@dataclass(frozen=True)
class RepulsiveSettings:
    """Fit plus repulsion (see ``hecka.inference.repulsive``).

    Args:
        term: the diversity term, of inliers and of outliers.
        gamma: its weight; auto: as large as the inlier loss allows.
        gamma_ood: its weight on outliers; the same as gamma when None.
        beta: weight of the entropy on outliers.
        beta_in: weight of the mean cross-entropy; the number of members when None.
        warmup: steps over which repulsion grows from 0.
        tolerance: for gamma auto: what diversity may cost, as a fraction of the loss of a constant answer.
    """

    term: TermSettings = field(default_factory=TermSettings)
    gamma: float | Literal["auto"] = "auto"
    gamma_ood: float | None = None
    beta: float = 1.0
    beta_in: float | None = None
    warmup: int = 0
    tolerance: float = 0.01

    def make(self, data_size: int) -> Method:
        """The method."""
        return Repulsive(
            self.term.make(),
            self.gamma,
            gamma_ood=self.gamma_ood,
            beta=self.beta,
            beta_in=self.beta_in,
            warmup=self.warmup,
            tolerance=self.tolerance,
        )

    def scaled(self, budget: float) -> RepulsiveSettings:
        """The same with as many times fewer steps of warm-up."""
        return replace(self, warmup=round(self.warmup * budget))


@dataclass(frozen=True)
class ParticleSettings:
    """Particle inference (see ``hecka.inference.particles``).

    Args:
        update: svgd: members share gradients and repel; wgd: members follow the posterior's score minus their own.
        estimator: of the members' own score, for wgd.
        term: compares members by their features; by an RBF of their distance when None.
        multiplier: of that RBF's bandwidth.
        space: where particles live, for an RBF.
        data_size: how many targets stand behind the mean loss: a number, all of the training set, or None for one.
        prior_std: of a Gaussian prior on weights; flat when None.
    """

    update: Literal["svgd", "wgd"] = "svgd"
    estimator: Estimator = "kde"
    term: TermSettings | None = None
    multiplier: float = 1.0
    space: Space = "weights"
    data_size: int | Literal["train"] | None = None
    prior_std: float | None = None

    def make(self, data_size: int) -> Particles:
        """The method for a training set of ``data_size`` examples."""
        kernel = RBF(self.multiplier) if self.term is None else self.term.make()
        targets = data_size if self.data_size == "train" else self.data_size
        prior = None if self.prior_std is None else Gaussian(self.prior_std)
        if self.update == "svgd":
            return SVGD(kernel=kernel, space=self.space, data_size=targets, prior=prior)
        return WGD(kernel=kernel, space=self.space, data_size=targets, prior=prior, estimator=self.estimator)

    def scaled(self, budget: float) -> ParticleSettings:
        """Nothing here counts steps."""
        return self


@dataclass(frozen=True)
class InputGradientsSettings:
    """Repulsion between input gradients; all input numbers count alike (see ``hecka.inference.input_gradients``)."""

    def make(self, data_size: int) -> Method:
        """The method."""
        return InputGradients()

    def scaled(self, budget: float) -> InputGradientsSettings:
        """Nothing here counts steps."""
        return self


@dataclass(frozen=True)
class PenalisedSettings:
    """A repulsive method with a pull of weights towards zero (see ``hecka.inference.weight_penalty``).

    Args:
        method: beside which the weights are pulled.
        strength: of the pull.
    """

    method: RepulsiveSettings = field(default_factory=RepulsiveSettings)
    strength: float = 0.0

    def make(self, data_size: int) -> Method:
        """The method."""
        return WeightPenalty(self.method.make(data_size), self.strength)

    def scaled(self, budget: float) -> PenalisedSettings:
        """The same with as many times fewer steps of warm-up."""
        return replace(self, method=self.method.scaled(budget))


MethodSettings: TypeAlias = (
    RepulsiveSettings | ParticleSettings | IndependentSettings | InputGradientsSettings | PenalisedSettings
)
