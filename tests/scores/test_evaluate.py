"""Evaluation: streamed numbers equal the scores of the whole, whatever form the data has."""

import json

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from hecka.errors import InputError
from hecka.scores.accuracy import accuracy, brier, nll, nll_of_mean
from hecka.scores.calibration import ece
from hecka.scores.detection import aupr, auroc, fpr_at_tpr
from hecka.scores.disagreement import disagreement
from hecka.scores.evaluate import evaluate
from hecka.scores.predictive import Prediction
from hecka.types import Batch


class LinearMembers:
    """Random linear classifiers; remembers the sizes of the batches it was asked for."""

    def __init__(self, members=4, classes=3):
        generator = torch.Generator().manual_seed(7)
        self.weights = torch.randn(members, 5, classes, generator=generator, dtype=torch.float64)
        self.asked = []

    def predict(self, inputs, batch_size):
        self.asked.append(len(inputs))
        return Prediction(inputs.double() @ self.weights)


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(8)
    inputs, far = torch.randn(50, 5, generator=generator), 0.3 * torch.randn(23, 5, generator=generator)
    return inputs, torch.randint(3, (50,), generator=generator), far


def test_every_number_is_the_score_of_the_whole_set(data):
    inputs, targets, far = data
    members = LinearMembers()
    result = evaluate(members, (inputs, targets), {"far": far}, batch_size=16)
    here, there = members.predict(inputs, 50), members.predict(far, 23)
    assert result.examples == 50
    assert result.accuracy == accuracy(here.logits, targets)
    assert result.nll == pytest.approx(nll(here.logits, targets))
    assert result.nll_of_mean == pytest.approx(nll_of_mean(here.logits, targets))
    assert result.brier == pytest.approx(brier(here.logits, targets))
    assert result.ece == pytest.approx(ece(here.confidence, here.labels == targets, bins=15))
    assert result.mean_entropy == pytest.approx(here.entropy.mean().item())
    assert result.mean_mutual_information == pytest.approx(here.mutual_information.mean().item())
    assert result.disagreement == pytest.approx(disagreement(here.logits).mean().item())
    assert result.outliers["far"].examples == 23
    for score in ("entropy", "mutual_information"):
        pair = getattr(here, score), getattr(there, score)
        found = getattr(result.outliers["far"], score)
        assert found.auroc == pytest.approx(auroc(*pair))
        assert found.aupr == pytest.approx(aupr(*pair))
        assert found.fpr95 == pytest.approx(fpr_at_tpr(*pair, tpr=0.95))


def in_batches(*tensors):
    return zip(*(tensor.split(16) for tensor in tensors), strict=True)


LABELLED = {
    "loader": lambda x, y: DataLoader(TensorDataset(x, y), batch_size=16),
    "list of pairs": lambda x, y: list(in_batches(x, y)),
    "generator": lambda x, y: (pair for pair in in_batches(x, y)),
    "Batch": lambda x, y: [Batch(*pair) for pair in in_batches(x, y)],
}
UNLABELLED = {
    "tensors": lambda x: list(x.split(16)),
    "pair": lambda x: (x, torch.zeros(len(x))),
    "loader": lambda x: DataLoader(TensorDataset(x, torch.zeros(len(x))), batch_size=16),
    "loader without targets": lambda x: DataLoader(TensorDataset(x), batch_size=16),
    "Batch": lambda x: (Batch(part, torch.zeros(len(part))) for part in x.split(16)),
}


@pytest.mark.parametrize("form", LABELLED)
def test_the_form_of_the_data_does_not_matter(data, form):
    inputs, targets, _ = data
    plain = evaluate(LinearMembers(), (inputs, targets), batch_size=16)
    assert evaluate(LinearMembers(), LABELLED[form](inputs, targets)) == plain


@pytest.mark.parametrize("form", UNLABELLED)
def test_the_form_of_the_outliers_does_not_matter(data, form):
    inputs, targets, far = data
    plain = evaluate(LinearMembers(), (inputs, targets), {"far": far}, batch_size=16)
    given = {"far": UNLABELLED[form](far)}
    assert evaluate(LinearMembers(), (inputs, targets), given, batch_size=16) == plain


def test_tensors_go_through_the_networks_in_batches(data):
    inputs, targets, far = data
    members = LinearMembers()
    evaluate(members, (inputs, targets), {"far": far}, batch_size=20)
    assert members.asked == [20, 20, 10, 20, 3]


def test_one_member_cannot_disagree(data):
    inputs, targets, far = data
    result = evaluate(LinearMembers(members=1), (inputs, targets), {"far": far})
    assert result.disagreement == 0
    assert result.mean_mutual_information < 1e-6


def test_the_result_survives_json(data):
    inputs, targets, far = data
    result = evaluate(LinearMembers(), (inputs, targets), {"far": far, "near": inputs})
    read = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert read == result.to_dict()
    assert read["outliers"]["near"]["entropy"] == {
        "auroc": 0.5,
        "aupr": result.outliers["near"].entropy.aupr,
        "fpr95": result.outliers["near"].entropy.fpr95,
    }


X, Y = torch.zeros(6, 5), torch.zeros(6, dtype=torch.int64)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "no batch"),
        (X, "got Tensor"),
        ([X, Y], "got Tensor"),
        ((X,), "got tuple of 1"),
        ((X, Y[:5]), r"targets \(5,\)"),
        (TensorDataset(X, Y), "wrap a Dataset in a DataLoader"),
        ((X, Y + 3), r"0\.\.2 for 3 classes"),
        ((X * torch.nan, Y), "NaN for 6 of 6"),
    ],
)
def test_data_without_targets_or_numbers_is_refused(given, complaint):
    with pytest.raises(InputError, match=complaint):
        evaluate(LinearMembers(), given)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "'far' have no batch"),
        ([[0.0, 1.0]], "'far' must be a tensor"),
        ((X, X), r"targets \(6, 5\)"),
        (X * torch.nan, "NaN for 6 of 6 outliers 'far'"),
    ],
)
def test_outliers_without_numbers_are_refused_by_name(given, complaint):
    with pytest.raises(InputError, match=complaint):
        evaluate(LinearMembers(), (X, Y), {"far": given})


def test_an_empty_batch_size_is_refused():
    with pytest.raises(InputError, match="at least 1, got 0"):
        evaluate(LinearMembers(), (X, Y), batch_size=0)
