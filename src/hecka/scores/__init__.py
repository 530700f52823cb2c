"""Logits in, numbers out: how good the answers are, and how well doubt finds outliers."""

from hecka.scores.accuracy import accuracy, brier, nll, nll_of_mean
from hecka.scores.calibration import ReliabilityTable, ece, reliability_table
from hecka.scores.detection import ROC, aupr, auroc, fpr_at_tpr, roc_curve
from hecka.scores.disagreement import cka_per_layer, disagreement, effective_members
from hecka.scores.predictive import (
    Prediction,
    Regression,
    aleatoric,
    confidence,
    entropy,
    mutual_information,
    variance,
)

__all__ = [
    "ROC",
    "Prediction",
    "Regression",
    "ReliabilityTable",
    "accuracy",
    "aleatoric",
    "aupr",
    "auroc",
    "brier",
    "cka_per_layer",
    "confidence",
    "disagreement",
    "ece",
    "effective_members",
    "entropy",
    "fpr_at_tpr",
    "mutual_information",
    "nll",
    "nll_of_mean",
    "reliability_table",
    "roc_curve",
    "variance",
]
