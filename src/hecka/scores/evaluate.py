"""One pass over a test set, and over each set of outliers: every score that the paper's tables hold.

Batches stream through ``members.predict``; of each example only a handful of numbers is kept, so memory
does not depend on the size of inputs, logits or features.  What each number means stands in the file that
defines it: predictive, accuracy, calibration, detection, disagreement.

Outliers are told from the inliers of ``data`` by two scores, the entropy of the mean (PE) and the mutual
information (MI), and by the density of features where predictions have one (``hecka.members.ddu``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.scores.accuracy import log_likelihood, negative_log_mean, squared_error
from hecka.scores.calibration import ece
from hecka.scores.density import DensityPrediction
from hecka.scores.detection import aupr, auroc, fpr_at_tpr
from hecka.scores.disagreement import disagreement
from hecka.scores.predictive import Prediction
from hecka.types import Batch

LabelledData: TypeAlias = tuple[Tensor, Tensor] | Iterable[Batch | Sequence[Tensor]]
"""A pair (inputs, targets), or an iterable, such as a DataLoader, of such pairs or of ``Batch``."""

UnlabelledData: TypeAlias = Tensor | tuple[Tensor, ...] | Iterable[Tensor | Batch | Sequence[Tensor]]
"""Inputs, or an iterable of inputs; where they come in a tuple with targets, the targets are left aside."""


class Predictor(Protocol):
    """Whatever answers for a batch: an ensemble, a hypernetwork, a ``DDU``."""

    def predict(self, inputs: Tensor, batch_size: int = ...) -> Any:
        """A ``Prediction`` for ``inputs`` (B, ...)."""


@dataclass(frozen=True)
class Detection:
    """How well one score tells one set of outliers from the inliers; see ``detection``."""

    auroc: float
    aupr: float
    fpr95: float


@dataclass(frozen=True)
class OutlierEvaluation:
    """One set of outliers: how many, and how well each score finds them (``density`` where there is one)."""

    examples: int
    entropy: Detection
    mutual_information: Detection
    density: Detection | None = None


@dataclass(frozen=True)
class Evaluation:
    """Scores of one ensemble on one test set, and on each set of outliers by name.

    ``ece`` has 15 bins; entropies are in nats; ``nll`` is the proper one, ``nll_of_mean`` for comparison.
    """

    examples: int
    accuracy: float
    nll: float
    nll_of_mean: float
    brier: float
    ece: float
    mean_entropy: float
    mean_mutual_information: float
    disagreement: float
    outliers: dict[str, OutlierEvaluation]

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts of plain numbers, ready for JSON."""
        return asdict(self)


def evaluate(
    members: Predictor,
    data: LabelledData,
    outliers: Mapping[str, UnlabelledData] | None = None,
    *,
    batch_size: int = 1024,
) -> Evaluation:
    """Score classifying ``members`` on a test set, and on named sets of outliers.

    Args:
        members: whatever has ``predict(inputs, batch_size) -> Prediction``.
        data: a tuple (inputs (N, ...), targets (N,)), or an iterable of such pairs or of ``Batch``.
        outliers: name -> inputs (N_o, ...), or an iterable of inputs or of (inputs, ...) pairs.
        batch_size: examples that go through the networks at once.

    >>> class Confident:
    ...     def predict(self, inputs, batch_size):
    ...         return Prediction(torch.stack([inputs, 2 * inputs]))
    >>> x = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> result = evaluate(Confident(), (x, torch.tensor([0, 1])), {"origin": 0.1 * x})
    >>> result.accuracy, result.outliers["origin"].entropy.auroc
    (1.0, 1.0)
    """
    if batch_size < 1:
        raise InputError(f"evaluate: batch_size must be at least 1, got {batch_size}; 1024 is the default")
    return summarise(
        score_inliers(members, data, batch_size),
        {name: score_outliers(members, inputs, name, batch_size) for name, inputs in (outliers or {}).items()},
    )


class InlierScores(NamedTuple):
    """What an evaluation keeps of each inlier, (N,) each; no rows of ``outlyingness`` where there is no density."""

    correct: Tensor
    log_likelihood: Tensor
    squared_error: Tensor
    confidence: Tensor
    disagreement: Tensor
    entropy: Tensor
    mutual_information: Tensor
    outlyingness: Tensor


class OutlierScores(NamedTuple):
    """What an evaluation keeps of each outlier, (N_o,) each; see ``InlierScores``."""

    entropy: Tensor
    mutual_information: Tensor
    outlyingness: Tensor


def score_inliers(members: Predictor, data: LabelledData, batch_size: int = 1024) -> InlierScores:
    """One pass over a test set; ``data`` and ``batch_size`` as in ``evaluate``."""
    rows = []
    for inputs, targets in _labelled_batches(data, batch_size):
        answer: Prediction = members.predict(inputs, batch_size)
        targets = targets.to(answer.logits.device)
        row = InlierScores(
            log_likelihood=log_likelihood(answer.logits, targets),  # first, as it checks the targets
            correct=answer.labels == targets,
            squared_error=squared_error(answer.logits, targets),
            confidence=answer.confidence,
            disagreement=disagreement(answer.logits),
            entropy=answer.entropy,
            mutual_information=answer.mutual_information,
            outlyingness=_outlyingness(answer),
        )
        rows.append([column.detach().cpu() for column in row])
    if not rows:
        raise InputError("evaluate: data has no batch; an iterator can be read only once, pass a fresh one")
    return InlierScores(*map(torch.cat, zip(*rows, strict=True)))


def score_outliers(members: Predictor, data: UnlabelledData, name: str, batch_size: int = 1024) -> OutlierScores:
    """One pass over the outliers called ``name``; ``data`` and ``batch_size`` as in ``evaluate``."""
    rows = []
    for inputs in _unlabelled_batches(data, name, batch_size):
        answer: Prediction = members.predict(inputs, batch_size)
        row = OutlierScores(answer.entropy, answer.mutual_information, _outlyingness(answer))
        rows.append([column.detach().cpu() for column in row])
    if not rows:
        raise InputError(
            f"evaluate: outliers {name!r} have no batch; an iterator can be read only once, pass a fresh one"
        )
    scores = OutlierScores(*map(torch.cat, zip(*rows, strict=True)))
    broken = int(scores.entropy.isnan().sum())
    if broken:
        raise InputError(
            f"evaluate: entropies must be numbers, got NaN for {broken} of {len(scores.entropy)} outliers "
            f"{name!r}; look for NaN in these inputs"
        )
    return scores


def summarise(inliers: InlierScores, outliers: Mapping[str, OutlierScores]) -> Evaluation:
    """The numbers of a table, from what was kept of each example."""
    return Evaluation(
        examples=len(inliers.correct),
        accuracy=_mean(inliers.correct),
        nll=_mean(-inliers.log_likelihood),
        nll_of_mean=negative_log_mean(inliers.log_likelihood),
        brier=_mean(inliers.squared_error),
        ece=ece(inliers.confidence, inliers.correct),
        mean_entropy=_mean(inliers.entropy),
        mean_mutual_information=_mean(inliers.mutual_information),
        disagreement=_mean(inliers.disagreement),
        outliers={name: _detect_by_each(inliers, scores) for name, scores in outliers.items()},
    )


def _outlyingness(answer: Prediction) -> Tensor:
    return answer.outlyingness if isinstance(answer, DensityPrediction) else answer.entropy.new_empty(0)


def _detect_by_each(inliers: InlierScores, outliers: OutlierScores) -> OutlierEvaluation:
    return OutlierEvaluation(
        examples=len(outliers.entropy),
        entropy=_detect(inliers.entropy, outliers.entropy),
        mutual_information=_detect(inliers.mutual_information, outliers.mutual_information),
        density=_detect(inliers.outlyingness, outliers.outlyingness) if len(outliers.outlyingness) else None,
    )


def _detect(inlier_scores: Tensor, outlier_scores: Tensor) -> Detection:
    return Detection(
        auroc=auroc(inlier_scores, outlier_scores),
        aupr=aupr(inlier_scores, outlier_scores),
        fpr95=fpr_at_tpr(inlier_scores, outlier_scores, tpr=0.95),
    )


def _labelled_batches(data: LabelledData, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    if isinstance(data, tuple):
        inputs, targets = _pair(data)
        yield from zip(torch.split(inputs, batch_size), torch.split(targets, batch_size), strict=True)
    else:
        yield from map(_pair, data)


def _pair(batch: Batch | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    if isinstance(batch, Batch):
        batch = (batch.inputs, batch.targets)
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise InputError(
            f"evaluate: data must be a tuple (inputs, targets) or give such pairs, got {_kind(batch)}; "
            "wrap a Dataset in a DataLoader"
        )
    inputs, targets = batch
    if inputs.ndim == 0 or targets.shape != (len(inputs),):
        raise InputError(
            f"evaluate: inputs (B, ...) need targets (B,), got inputs {tuple(inputs.shape)} and targets "
            f"{tuple(targets.shape)}; pass class indices, and wrap a Dataset in a DataLoader"
        )
    return inputs, targets


def _unlabelled_batches(data: UnlabelledData, name: str, batch_size: int) -> Iterator[Tensor]:
    if isinstance(data, Tensor):
        yield from torch.split(data, batch_size)
    elif isinstance(data, tuple):
        yield from torch.split(_pair(data)[0], batch_size)
    else:
        for batch in data:
            inputs = batch.inputs if isinstance(batch, Batch) else batch
            inputs = inputs[0] if isinstance(inputs, tuple | list) else inputs
            if not isinstance(inputs, Tensor):
                raise InputError(
                    f"evaluate: outliers {name!r} must be a tensor or give tensors or (inputs, ...) tuples, "
                    f"got {_kind(batch)}; convert them to tensors"
                )
            yield inputs


def _kind(value: object) -> str:
    of = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    return type(value).__name__ + of


def _mean(values: Tensor) -> float:
    return float(values.double().mean())
