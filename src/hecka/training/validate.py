"""How well members do on data that they are not trained on, once an epoch."""

from __future__ import annotations

from torch import Tensor

from hecka.errors import InputError
from hecka.inference.likelihood import is_classification, like_targets
from hecka.scores.accuracy import accuracy, nll
from hecka.scores.predictive import Prediction, Regression
from hecka.training.feed import Feed
from hecka.types import Members


def validate(members: Members, feed: Feed) -> dict[str, float]:
    """Scores of the members together, in evaluation mode, as means over all examples of ``feed``.

    ``accuracy`` and the proper ``nll`` for class indices; for values ``mse``, the squared error of the members' mean.
    """
    totals: dict[str, float] = {}
    examples = 0
    for batch in feed:
        count = len(batch.inputs)
        examples += count
        for name, score in _scores(members.predict(batch.inputs), batch.targets).items():
            totals[name] = totals.get(name, 0.0) + score * count
    if not examples:
        raise InputError("fit: expected at least 1 batch of validation data, got none")
    return {f"validation_{name}": total / examples for name, total in totals.items()}


def _scores(answer: Prediction, targets: Tensor) -> dict[str, float]:
    if is_classification(targets):
        return {"accuracy": accuracy(answer.logits, targets), "nll": nll(answer.logits, targets)}
    mean = Regression(like_targets(answer.logits, targets)).mean
    return {"mse": float((mean - targets).square().mean())}
