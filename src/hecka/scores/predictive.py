"""What an ensemble believes about each example, and how unsure it is.

With ``p_m`` the softmax of member m and ``p`` their mean, entropy splits into two causes of doubt::

    H(p)            =  mean_m H(p_m)   +  mean_m KL(p_m || p)
    entropy (PE)       aleatoric          mutual information (MI)
    total doubt        in the data        members disagree

Reference: Depeweg et al., "Decomposition of Uncertainty in Bayesian Deep Learning", ICML 2018.

Every function takes the members' logits (M, B, C) and answers per example; all are differentiable, run on
the logits' device, and compute in float32 or, where the logits have it, float64.  ``Prediction`` names the
same numbers as attributes.  ``Regression`` is its counterpart for networks whose outputs are values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from hecka.errors import InputError


def class_logits(logits: Tensor) -> Tensor:
    """The logits in float32 or float64, once they are known to be (M, B, C) with at least 2 classes.

    >>> class_logits(torch.zeros(5, 8, 10, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    if logits.ndim != 3 or logits.shape[0] == 0:
        raise InputError(
            f"scores: logits must be (members, batch, classes), got {tuple(logits.shape)}; "
            "one network's logits (B, C) become an ensemble of one with logits[None]"
        )
    if logits.shape[2] < 2:
        raise InputError(
            f"scores: class probabilities need at least 2 columns, got logits {tuple(logits.shape)}; "
            "for a sigmoid output put a column of zeros before it, for values read Prediction.regression"
        )
    return _at_least_float32(logits)


def probs(logits: Tensor) -> Tensor:
    """Mean over members of the softmax, ``p = mean_m softmax(z_m)``: (M, B, C) -> (B, C).

    >>> probs(torch.tensor([[[0.0, 200.0]], [[200.0, 0.0]]]))
    tensor([[0.5000, 0.5000]])
    """
    return class_logits(logits).softmax(-1).mean(0)


def log_probs(logits: Tensor) -> Tensor:
    """``log p``, finite where ``p`` itself would round to 0: (M, B, C) -> (B, C).

    >>> log_probs(torch.tensor([[[0.0, 1000.0]], [[0.0, 1000.0]]]))
    tensor([[-1000.,     0.]])
    """
    return _log_mean(class_logits(logits).log_softmax(-1))


def labels(logits: Tensor) -> Tensor:
    """The most probable class under the mean: (M, B, C) -> (B,) int64.

    >>> labels(torch.tensor([[[0.0, 9.0]], [[1.0, 0.0]]]))
    tensor([1])
    """
    return probs(logits).argmax(-1)


def confidence(logits: Tensor) -> Tensor:
    """Probability of the most probable class, ``max_c p_c``: (M, B, C) -> (B,).

    >>> confidence(torch.zeros(3, 1, 4))
    tensor([0.2500])
    """
    return probs(logits).amax(-1)


def entropy(logits: Tensor) -> Tensor:
    """Predictive entropy ``H(p) = -sum_c p_c log p_c`` in nats: (M, B, C) -> (B,).

    >>> entropy(torch.tensor([[[0.0, 200.0]], [[200.0, 0.0]]]))  # ln 2
    tensor([0.6931])
    """
    return _entropy(_log_mean(_finite_log_probs(logits)))


def aleatoric(logits: Tensor) -> Tensor:
    """Mean of the members' own entropies, ``mean_m H(p_m)`` in nats: (M, B, C) -> (B,).

    >>> aleatoric(torch.tensor([[[0.0, 200.0]], [[200.0, 0.0]]]))  # each member is sure of itself
    tensor([0.])
    """
    return _entropy(_finite_log_probs(logits)).mean(0)


def mutual_information(logits: Tensor) -> Tensor:
    """What members disagree about, ``H(p) - mean_m H(p_m) >= 0`` in nats: (M, B, C) -> (B,).

    >>> mutual_information(torch.tensor([[[0.0, 200.0]], [[200.0, 0.0]]]))  # ln 2
    tensor([0.6931])
    """
    member_log_probs = _finite_log_probs(logits)
    difference = _entropy(_log_mean(member_log_probs)) - _entropy(member_log_probs).mean(0)
    return difference.clamp(min=0.0)  # Jensen: never negative but for the rounding of two near-equal numbers


def variance(logits: Tensor) -> Tensor:
    """Variance of the members' probabilities, averaged over classes: (M, B, C) -> (B,).

    ``mean_c mean_m (p_mc - p_c)^2``: divided by M, as the members are the whole mixture and no sample of it.

    >>> variance(torch.tensor([[[0.0, 200.0]], [[200.0, 0.0]]]))
    tensor([0.2500])
    """
    return class_logits(logits).softmax(-1).var(0, correction=0).mean(-1)


@dataclass(frozen=True, eq=False)
class Prediction:
    """The members' answer to a batch: ``logits`` (M, B, C), and every score of this file when asked for.

    Nothing is computed before it is read, and nothing twice.  Where the networks' outputs are values and no
    logits, read ``regression``.

    >>> answer = Prediction(torch.tensor([[[0.0, 200.0]], [[200.0, 0.0]]]))
    >>> len(answer), answer.entropy, answer.aleatoric
    (1, tensor([0.6931]), tensor([0.]))
    """

    logits: Tensor

    def __post_init__(self) -> None:
        _check_members(self.logits, "Prediction")

    def __len__(self) -> int:
        return self.logits.shape[1]

    @cached_property
    def probs(self) -> Tensor:
        """(B, C), see :func:`probs`."""
        return probs(self.logits)

    @cached_property
    def labels(self) -> Tensor:
        """(B,), see :func:`labels`."""
        return self.probs.argmax(-1)

    @cached_property
    def confidence(self) -> Tensor:
        """(B,), see :func:`confidence`."""
        return self.probs.amax(-1)

    @cached_property
    def entropy(self) -> Tensor:
        """(B,), see :func:`entropy`."""
        return entropy(self.logits)

    @cached_property
    def aleatoric(self) -> Tensor:
        """(B,), see :func:`aleatoric`."""
        return aleatoric(self.logits)

    @cached_property
    def mutual_information(self) -> Tensor:
        """(B,), see :func:`mutual_information`."""
        return mutual_information(self.logits)

    @cached_property
    def variance(self) -> Tensor:
        """(B,), see :func:`variance`."""
        return variance(self.logits)

    @cached_property
    def regression(self) -> Regression:
        """The same outputs read as values, with their mean and spread."""
        return Regression(self.logits)


@dataclass(frozen=True, eq=False)
class Regression:
    """The members' answer where outputs are values: ``outputs`` (M, B, ...), their mean and spread.

    >>> answer = Regression(torch.tensor([[[1.0]], [[3.0]]]))
    >>> answer.mean, answer.std
    (tensor([[2.]]), tensor([[1.]]))
    """

    outputs: Tensor

    def __post_init__(self) -> None:
        _check_members(self.outputs, "Regression")

    def __len__(self) -> int:
        return self.outputs.shape[1]

    @cached_property
    def mean(self) -> Tensor:
        """(B, ...), the mean over members."""
        return _at_least_float32(self.outputs).mean(0)

    @cached_property
    def variance(self) -> Tensor:
        """(B, ...), the variance between members, divided by M (one member: 0)."""
        return _at_least_float32(self.outputs).var(0, correction=0)

    @cached_property
    def std(self) -> Tensor:
        """(B, ...), the standard deviation between members."""
        return self.variance.sqrt()


def _finite_log_probs(logits: Tensor) -> Tensor:
    # A class masked by a logit of -inf has 0 log 0 = 0, and exp(-inf) * -inf would be NaN, backward too.
    log_p = class_logits(logits).log_softmax(-1)
    return log_p.clamp(min=torch.finfo(log_p.dtype).min)


def _log_mean(member_log_probs: Tensor) -> Tensor:
    return member_log_probs.logsumexp(0) - math.log(len(member_log_probs))


def _entropy(log_p: Tensor) -> Tensor:
    return (log_p.exp() * -log_p).sum(-1)


def _at_least_float32(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _check_members(outputs: Tensor, where: str) -> None:
    if outputs.ndim < 2 or outputs.shape[0] == 0:
        raise InputError(
            f"{where}: outputs must be (members, batch, ...), got {tuple(outputs.shape)}; "
            "one network's outputs (B, ...) become an ensemble of one with outputs[None]"
        )
