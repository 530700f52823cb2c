"""Whether a confidence of 80 % is right 80 % of the time.

Examples are sorted by confidence into equal bins ``(lo, hi]``; within a bin the mean confidence should equal
the accuracy.  The expected calibration error is the mean gap, each bin weighted by its share of examples::

    ECE = sum_b  n_b / N  * | accuracy_b - confidence_b |

Reference: Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.  The number depends on the
bins: compare only values with the same count (15 here and in most tables; 30 in some).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.errors import InputError

ROUNDING = 1e-5
"""How far beyond [0, 1] a float32 sum of probabilities may round."""


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """Columns (bins,) in float64: bin ``(lo, hi]`` holds ``count`` examples (int64).

    ``confidence`` and ``accuracy`` are the means within the bin, NaN where it is empty.
    """

    lo: Tensor
    hi: Tensor
    count: Tensor
    confidence: Tensor
    accuracy: Tensor

    @property
    def ece(self) -> float:
        """The expected calibration error of these bins."""
        filled = self.count > 0
        gap = (self.accuracy - self.confidence)[filled].abs()
        return float((self.count[filled] * gap).sum() / self.count.sum())


def reliability_table(confidence: Tensor, correct: Tensor, bins: int = 15) -> ReliabilityTable:
    """Mean confidence and accuracy of the examples in each of ``bins`` equal bins of confidence.

    Args:
        confidence: (N,), probability of the class that was named, in [0, 1].
        correct: (N,) bool, whether that class was the true one.
        bins: how many.  They are closed on the right; 0 belongs to the first.

    >>> table = reliability_table(torch.tensor([0.3, 0.9, 1.0]), torch.tensor([False, True, True]), bins=2)
    >>> table.count, table.accuracy
    (tensor([1, 2]), tensor([0., 1.], dtype=torch.float64))
    """
    _check(confidence, correct, bins)
    confidence = confidence.detach().cpu().double()  # edges in float64, and not every GPU has it
    edges = torch.arange(bins + 1, dtype=torch.float64) / bins
    position = (torch.bucketize(confidence, edges) - 1).clamp(0, bins - 1)
    count = torch.bincount(position, minlength=bins)
    return ReliabilityTable(
        lo=edges[:-1],
        hi=edges[1:],
        count=count,
        confidence=torch.bincount(position, weights=confidence, minlength=bins) / count,
        accuracy=torch.bincount(position, weights=correct.cpu().double(), minlength=bins) / count,
    )


def ece(confidence: Tensor, correct: Tensor, bins: int = 15) -> float:
    """Expected calibration error, in [0, 1].

    Args:
        confidence: (N,), probability of the class that was named, in [0, 1].
        correct: (N,) bool, whether that class was the true one.
        bins: how many equal bins, closed on the right.

    >>> ece(torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([True, True, True, False]))
    0.25
    """
    return reliability_table(confidence, correct, bins).ece


def _check(confidence: Tensor, correct: Tensor, bins: int) -> None:
    if bins < 1:
        raise InputError(f"calibration: needs at least 1 bin, got {bins}; 15 is usual")
    if confidence.ndim != 1 or len(confidence) == 0:
        raise InputError(
            f"calibration: confidence must be one-dimensional and not empty, got {tuple(confidence.shape)}; "
            "pass the probability of the named class, not of all classes"
        )
    if correct.shape != confidence.shape or correct.dtype != torch.bool:
        raise InputError(
            f"calibration: correct must be bool {tuple(confidence.shape)}, "
            f"got {correct.dtype} {tuple(correct.shape)}; pass labels == targets"
        )
    if not bool(((confidence >= -ROUNDING) & (confidence <= 1 + ROUNDING)).all()):
        raise InputError(
            f"calibration: confidence must lie in [0, 1], got {float(confidence.min())} to "
            f"{float(confidence.max())}; pass probabilities, not logits"
        )
