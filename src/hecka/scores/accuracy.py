"""How right an ensemble is: accuracy, two negative log-likelihoods, and the Brier score.

With ``p`` the mean over members of the softmax and ``y`` the true class of each example::

    accuracy     mean of [argmax p = y]
    nll          mean of -log p(y)                 a proper score: the default
    nll_of_mean  -log(mean of p(y))                never above nll (Jensen); some published tables hold it
    brier        mean of sum_c (p_c - [c = y])^2   in [0, 2]

Reference: Gneiting & Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 2007.

``log_likelihood`` and ``squared_error`` are the last three before their mean, for whoever streams.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.scores.predictive import log_probs, probs


def accuracy(logits: Tensor, targets: Tensor) -> float:
    """Share of examples whose most probable class is the true one.

    Args:
        logits: (M, B, C).
        targets: (B,), class indices.

    >>> accuracy(torch.tensor([[[0.0, 9.0], [0.0, 9.0]]]), torch.tensor([1, 0]))
    0.5
    """
    mean_probs = probs(logits)
    return _mean(mean_probs.argmax(-1) == _checked(targets, mean_probs))


def nll(logits: Tensor, targets: Tensor) -> float:
    """Mean of ``-log p(y)`` in nats, finite even where ``p(y)`` would round to 0.

    Args:
        logits: (M, B, C).
        targets: (B,), class indices.

    >>> nll(torch.tensor([[[0.0, 1000.0], [0.0, 1000.0]]]), torch.tensor([1, 0]))
    500.0
    """
    return _mean(-log_likelihood(logits, targets))


def nll_of_mean(logits: Tensor, targets: Tensor) -> float:
    """``-log(mean of p(y))`` in nats: not proper, for comparison with tables that hold it.

    Args:
        logits: (M, B, C).
        targets: (B,), class indices.

    >>> nll_of_mean(torch.tensor([[[0.0, 1000.0], [0.0, 1000.0]]]), torch.tensor([1, 0]))  # ln 2
    0.6931471805599453
    """
    return negative_log_mean(log_likelihood(logits, targets))


def brier(logits: Tensor, targets: Tensor) -> float:
    """Mean over examples of ``sum_c (p_c - [c = y])^2``.

    Args:
        logits: (M, B, C).
        targets: (B,), class indices.

    >>> brier(torch.zeros(1, 3, 2), torch.tensor([1, 0, 0]))
    0.5
    """
    return _mean(squared_error(logits, targets))


def log_likelihood(logits: Tensor, targets: Tensor) -> Tensor:
    """``log p(y)`` of each example, by logsumexp over members: (M, B, C), (B,) -> (B,).

    >>> log_likelihood(torch.tensor([[[0.0, 1000.0]]]), torch.tensor([0]))
    tensor([-1000.])
    """
    log_p = log_probs(logits)
    return log_p.gather(-1, _checked(targets, log_p)[:, None])[:, 0]


def squared_error(logits: Tensor, targets: Tensor) -> Tensor:
    """``sum_c (p_c - [c = y])^2`` of each example: (M, B, C), (B,) -> (B,).

    >>> squared_error(torch.zeros(1, 1, 2), torch.tensor([1]))
    tensor([0.5000])
    """
    mean_probs = probs(logits)
    truth = torch.zeros_like(mean_probs).scatter_(-1, _checked(targets, mean_probs)[:, None], 1.0)
    return (mean_probs - truth).square().sum(-1)


def negative_log_mean(log_likelihoods: Tensor) -> float:
    """``-log(mean of exp(l))`` of log-likelihoods (N,), without leaving log space.

    >>> negative_log_mean(torch.tensor([-1000.0, -1000.0]))
    1000.0
    """
    total = log_likelihoods.detach().cpu().double().logsumexp(0)
    return math.log(len(log_likelihoods)) - float(total)


def _mean(values: Tensor) -> float:
    # In float64, as a float32 sum over a test set loses digits; on the CPU, as not every GPU has float64.
    return float(values.detach().cpu().double().mean())


def _checked(targets: Tensor, answers: Tensor) -> Tensor:
    """The targets (B,) as int64, once each names a column of ``answers`` (B, C) and no answer is NaN."""
    batch, classes = answers.shape
    if targets.shape != (batch,) or batch == 0:
        raise InputError(
            f"scores: targets must be ({batch},), one for each of at least 1 example, "
            f"got {tuple(targets.shape)}; pass class indices, not one-hot rows"
        )
    if targets.is_floating_point() or targets.is_complex() or targets.dtype == torch.bool:
        raise InputError(f"scores: targets must be integers, got {targets.dtype}; convert them with .long()")
    low, high = int(targets.min()), int(targets.max())
    if low < 0 or high >= classes:
        raise InputError(
            f"scores: targets must lie in 0..{classes - 1} for {classes} classes, got {low}..{high}; "
            "check the labels, or the width of the networks' last layer"
        )
    broken = int(answers.isnan().any(-1).sum())
    if broken:
        raise InputError(
            f"scores: probabilities must be numbers, got NaN for {broken} of {batch} examples; "
            "look for NaN or +inf in the logits: a member may have diverged"
        )
    return targets.long()
