"""How well a score tells outliers from inliers, over all thresholds.

An example is called an outlier when its score is at least the threshold: a LARGER score means MORE
outlying, and outliers are the positives.  Then, with ``P_k`` precision and ``R_k`` recall at threshold k::

    AUROC = P(outlier > inlier) + P(outlier = inlier) / 2
    AUPR  = sum_k (R_k - R_{k-1}) P_k                        average precision
    FPR95 = share of inliers called outliers where at least 95 % of the outliers are found

Reference: Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 2006.

All come from one sort and whole counts in int64, so they are exact at any scale of score: only the order of
the scores counts, equal scores share one threshold, and infinities are scores like others.  NaN has no
place in an order and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from hecka.errors import InputError

Scores: TypeAlias = Tensor | ArrayLike
"""One number for each example, (N,): a tensor, an array or a list."""


@dataclass(frozen=True, eq=False)
class ROC:
    """Operating points (K + 1,) in float64, by falling threshold from (0, 0) to (1, 1).

    ``thresholds`` are the K distinct scores, after +inf at which nothing is called an outlier.
    """

    thresholds: Tensor
    false_positive_rate: Tensor
    true_positive_rate: Tensor


def roc_curve(inlier_scores: Scores, outlier_scores: Scores) -> ROC:
    """The share of inliers and of outliers at or above each distinct score.

    Args:
        inlier_scores: (N,), any real scale, ties and infinities allowed.
        outlier_scores: (N_o,), the same score.

    >>> curve = roc_curve(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0]))
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    thresholds, false_positives, true_positives = _counts(inlier_scores, outlier_scores)
    return ROC(
        torch.cat([thresholds.new_tensor([torch.inf]), thresholds]),
        false_positives.double() / false_positives[-1],
        true_positives.double() / true_positives[-1],
    )


def auroc(inlier_scores: Scores, outlier_scores: Scores) -> float:
    """Area under the ROC curve: the chance that an outlier scores above an inlier, ties counted half.

    Args:
        inlier_scores: (N,), any real scale, ties and infinities allowed.
        outlier_scores: (N_o,), the same score.

    >>> auroc(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0]))
    0.875
    """
    _, false_positives, true_positives = _counts(inlier_scores, outlier_scores)
    # Trapezoids over whole counts: twice the number of ordered pairs, exact in int64 up to 4e18.
    twice_pairs = (false_positives.diff() * (true_positives[1:] + true_positives[:-1])).sum()
    return int(twice_pairs) / (2 * int(false_positives[-1]) * int(true_positives[-1]))


def aupr(inlier_scores: Scores, outlier_scores: Scores) -> float:
    """Average precision with outliers as positives: ``sum_k (R_k - R_{k-1}) P_k``.

    It depends on how many outliers there are to an inlier; a blind guess scores that share.

    Args:
        inlier_scores: (N,), any real scale, ties and infinities allowed.
        outlier_scores: (N_o,), the same score.

    >>> aupr(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 3.0]))
    0.75
    """
    _, false_positives, true_positives = _counts(inlier_scores, outlier_scores)
    precision = true_positives[1:].double() / (true_positives + false_positives)[1:]
    return float((true_positives.diff() * precision).sum()) / int(true_positives[-1])


def fpr_at_tpr(inlier_scores: Scores, outlier_scores: Scores, tpr: float = 0.95) -> float:
    """Share of inliers called outliers at the highest threshold that finds ``tpr`` of the outliers.

    Outliers are the positives here.  Parts of the literature call the inliers positive; that gives another
    number.  Thresholds are observed scores, without interpolation.

    Args:
        inlier_scores: (N,), any real scale, ties and infinities allowed.
        outlier_scores: (N_o,), the same score.
        tpr: the share of outliers to be found, in (0, 1].

    >>> fpr_at_tpr(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([3.0, 5.0]))
    0.5
    """
    if not 0.0 < tpr <= 1.0:
        raise InputError(f"fpr_at_tpr: tpr must lie in (0, 1], got {tpr}; 0.95 is usual")
    curve = roc_curve(inlier_scores, outlier_scores)
    first = torch.searchsorted(curve.true_positive_rate, tpr)  # of those >= tpr; the rate never falls
    return float(curve.false_positive_rate[first])


def _counts(inlier_scores: Scores, outlier_scores: Scores) -> tuple[Tensor, Tensor, Tensor]:
    """K falling distinct scores; K + 1 counts of inliers and of outliers at or above them, from 0."""
    inliers = _checked(inlier_scores, "inlier")
    outliers = _checked(outlier_scores, "outlier")
    scores, order = torch.cat([inliers, outliers]).sort(descending=True)
    is_outlier = order >= len(inliers)
    group_ends = torch.cat([scores[1:] != scores[:-1], torch.tensor([True])]).nonzero()[:, 0]
    none = torch.zeros(1, dtype=torch.int64)
    true_positives = is_outlier.cumsum(0)[group_ends]
    false_positives = group_ends + 1 - true_positives
    return scores[group_ends], torch.cat([none, false_positives]), torch.cat([none, true_positives])


def _checked(scores: Scores, which: str) -> Tensor:
    if not isinstance(scores, Tensor):
        scores = torch.as_tensor(scores, dtype=torch.float64)  # arrays and lists, at full precision
    if scores.ndim != 1 or len(scores) == 0:
        raise InputError(
            f"detection: {which} scores must be one-dimensional and not empty, got {tuple(scores.shape)}; "
            "pass one number for each example"
        )
    if bool(scores.isnan().any()):
        raise InputError(
            f"detection: {which} scores hold {int(scores.isnan().sum())} NaN of {len(scores)}; "
            "find the inputs that the networks cannot answer"
        )
    return scores.detach().cpu().double()  # exact for every float type; not every GPU has float64
