"""Accuracy, likelihoods and Brier score against scikit-learn and slow loops."""

import math

import pytest
import scipy.special
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st

from hecka.errors import InputError
from hecka.scores.accuracy import (
    accuracy,
    brier,
    log_likelihood,
    negative_log_mean,
    nll,
    nll_of_mean,
    squared_error,
)

ALL = (accuracy, nll, nll_of_mean, brier)


@pytest.fixture
def answers():
    generator = torch.Generator().manual_seed(3)
    logits = 3 * torch.randn(4, 50, 5, generator=generator, dtype=torch.float64)
    targets = torch.randint(5, (50,), generator=generator)
    targets[:5] = torch.arange(5)  # every class occurs, for scikit-learn
    return logits, targets, scipy.special.softmax(logits.numpy(), axis=-1).mean(0)


def test_accuracy_equals_scikit_learn(answers):
    logits, targets, p = answers
    assert accuracy(logits, targets) == sklearn.metrics.accuracy_score(targets, p.argmax(-1))


def test_nll_equals_scikit_learns_log_loss(answers):
    logits, targets, p = answers
    assert nll(logits, targets) == pytest.approx(sklearn.metrics.log_loss(targets, p))


def test_nll_of_mean_and_brier_equal_a_loop(answers):
    logits, targets, p = answers
    of_truth = [p[n, y] for n, y in enumerate(targets.tolist())]
    squares = [sum((p[n, c] - (c == y)) ** 2 for c in range(5)) for n, y in enumerate(targets.tolist())]
    assert nll_of_mean(logits, targets) == pytest.approx(-math.log(sum(of_truth) / 50))
    assert brier(logits, targets) == pytest.approx(sum(squares) / 50)


def test_per_example_scores_average_to_the_whole(answers):
    logits, targets, _ = answers
    assert -log_likelihood(logits, targets).mean().item() == pytest.approx(nll(logits, targets))
    assert squared_error(logits, targets).mean().item() == pytest.approx(brier(logits, targets))


@given(st.lists(st.floats(-1000, 0, width=32), min_size=1, max_size=20))
def test_log_of_the_mean_is_never_above_the_mean_of_logs(values):
    log_likelihoods = torch.tensor(values, dtype=torch.float64)
    largest = max(values)
    loop = -largest - math.log(sum(math.exp(v - largest) for v in values) / len(values))
    assert negative_log_mean(log_likelihoods) == pytest.approx(loop, abs=1e-9)
    assert loop <= -sum(values) / len(values) + 1e-9


def test_a_certain_error_costs_its_margin_and_no_infinity():
    logits = torch.tensor([[[0.0, 500.0]]])
    assert nll(logits, torch.tensor([0])) == nll_of_mean(logits, torch.tensor([0])) == 500
    assert brier(logits, torch.tensor([0])) == 2


def test_a_certain_truth_costs_exactly_nothing():
    logits = torch.tensor([[[0.0, 500.0]]] * 3)
    assert [score(logits, torch.tensor([1])) for score in ALL] == pytest.approx([1, 0, 0, 0], abs=1e-7)


def test_a_mean_over_many_examples_loses_no_digits():
    logits = torch.zeros(1, 300_000, 3)
    targets = torch.zeros(300_000, dtype=torch.int32)
    assert nll(logits, targets) == pytest.approx(math.log(3), rel=1e-7)


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize(
    ("targets", "complaint"),
    [
        (torch.tensor([0, 3]), r"0\.\.2 for 3 classes, got 0\.\.3"),
        (torch.tensor([-1, 0]), r"got -1\.\.0"),
        (torch.tensor([0]), r"must be \(2,\)"),
        (torch.eye(3, dtype=torch.int64)[:2], "not one-hot"),
        (torch.tensor([0.0, 1.0]), "integers"),
        (torch.tensor([True, False]), "integers"),
    ],
)
def test_targets_that_name_no_class_are_refused(score, targets, complaint):
    with pytest.raises(InputError, match=complaint):
        score(torch.zeros(2, 2, 3), targets)


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_diverged_member_is_reported(score, bad):
    logits = torch.zeros(2, 3, 4)
    logits[1, 2, 0] = bad
    with pytest.raises(InputError, match="NaN for 1 of 3 examples"):
        score(logits, torch.zeros(3, dtype=torch.int64))


@pytest.mark.parametrize("score", ALL)
def test_no_example_has_no_score(score):
    with pytest.raises(InputError, match="at least 1 example"):
        score(torch.zeros(2, 0, 3), torch.zeros(0, dtype=torch.int64))
