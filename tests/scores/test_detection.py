"""Detection scores against scikit-learn, counting by hand, and what order alone implies."""

import time

import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st

from hecka.errors import InputError
from hecka.scores.detection import aupr, auroc, fpr_at_tpr, roc_curve

ALL = (auroc, aupr, fpr_at_tpr)
scores = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False)),  # small integers: many ties
    min_size=1,
    max_size=30,
).map(lambda values: torch.tensor(values, dtype=torch.float64))
finite_scores = st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e30, 1e30)), min_size=1, max_size=30).map(
    lambda values: torch.tensor(values, dtype=torch.float64)
)


def labelled(inliers, outliers):
    return np.r_[np.zeros(len(inliers)), np.ones(len(outliers))], np.r_[inliers.numpy(), outliers.numpy()]


@given(scores, scores)
def test_auroc_counts_ordered_pairs_and_half_the_ties(inliers, outliers):
    wins = sum((o > i) + 0.5 * (o == i) for o in outliers.tolist() for i in inliers.tolist())
    assert auroc(inliers, outliers) == wins / (len(inliers) * len(outliers))


@given(finite_scores, finite_scores)
def test_all_equal_scikit_learn(inliers, outliers):
    truth, score = labelled(inliers, outliers)
    false_positives, true_positives, thresholds = sklearn.metrics.roc_curve(truth, score, drop_intermediate=False)
    curve = roc_curve(inliers, outliers)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    np.testing.assert_allclose(curve.false_positive_rate, false_positives, rtol=1e-15)
    np.testing.assert_allclose(curve.true_positive_rate, true_positives, rtol=1e-15)
    assert auroc(inliers, outliers) == pytest.approx(sklearn.metrics.roc_auc_score(truth, score), rel=1e-12)
    assert aupr(inliers, outliers) == pytest.approx(sklearn.metrics.average_precision_score(truth, score), rel=1e-12)
    for tpr in (0.5, 0.8, 0.95, 1.0):
        expected = false_positives[np.argmax(true_positives >= tpr)]
        assert fpr_at_tpr(inliers, outliers, tpr) == pytest.approx(expected, rel=1e-15)


@given(st.lists(st.integers(-50, 50), min_size=1), st.lists(st.integers(-50, 50), min_size=1))
def test_only_the_order_of_scores_counts(inliers, outliers):
    integers = [torch.tensor(values, dtype=torch.float64) for values in (inliers, outliers)]
    transformed = [torch.exp(7 * values) for values in integers]
    squeezed = [1e-200 * values for values in integers]
    for score in ALL:
        assert score(*integers) == score(*transformed) == score(*squeezed)


@given(scores, scores)
def test_swapping_sides_mirrors_auroc(inliers, outliers):
    assert auroc(inliers, outliers) + auroc(outliers, inliers) == pytest.approx(1.0, abs=1e-15)
    assert auroc(inliers, outliers) == auroc(-outliers, -inliers)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("outlier_count", [1, 7, 1000])
def test_a_perfect_detector_scores_exactly_one(dtype, outlier_count):
    inliers, outliers = torch.zeros(1003, dtype=dtype), torch.ones(outlier_count, dtype=dtype)
    assert (auroc(inliers, outliers), aupr(inliers, outliers)) == (1.0, 1.0)
    assert fpr_at_tpr(inliers, outliers) == 0.0
    assert auroc(outliers, inliers) == 0.0


def test_a_constant_score_is_a_blind_guess():
    inliers, outliers = torch.full((30,), 2.5), torch.full((10,), 2.5)
    assert [score(inliers, outliers) for score in ALL] == [0.5, 0.25, 1.0]


def test_infinities_are_the_largest_and_smallest_scores():
    inliers, outliers = torch.tensor([-torch.inf, 0.0, torch.inf]), torch.tensor([torch.inf, 1e30])
    assert auroc(inliers, outliers) == (2.5 + 2) / 6


def test_scores_a_rounding_apart_stay_apart():
    inliers = torch.full((4,), 1e6, dtype=torch.float64)
    assert auroc(inliers, inliers + 1e-9) == 1.0


def test_nineteen_of_twenty_outliers_are_95_percent():
    outliers = torch.arange(20.0)
    assert fpr_at_tpr(torch.tensor([0.5, 1.0]), outliers) == 0.5  # the threshold is 1; only 0 is missed


def test_a_million_scores_are_counted_exactly_and_fast():
    count = 1_000_000
    ranks = torch.randperm(2 * count, generator=torch.Generator().manual_seed(4)).double()
    inliers, outliers = ranks[:count], ranks[count:]
    # Mann-Whitney: U = R - n (n + 1) / 2, with R the outliers' summed ranks from 1, in Python's integers.
    pairs = int(outliers.long().sum()) + count - count * (count + 1) // 2
    start = time.perf_counter()
    result = auroc(inliers, outliers)
    assert time.perf_counter() - start < 5  # about .3 s on an idle core; slack for a busy machine
    assert result == pairs / count**2


@pytest.mark.parametrize("score", [*ALL, roc_curve])
@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (torch.tensor([1.0, torch.nan]), "1 NaN of 2"),
        (torch.tensor([]), "not empty"),
        (torch.tensor(1.0), "one-dimensional"),
        (torch.ones(2, 2), "one-dimensional"),
    ],
)
def test_scores_without_an_order_are_refused_on_either_side(score, bad, complaint):
    good = torch.tensor([1.0, 2.0])
    with pytest.raises(InputError, match=rf"inlier scores .*{complaint}"):
        score(bad, good)
    with pytest.raises(InputError, match=rf"outlier scores .*{complaint}"):
        score(good, bad)


@pytest.mark.parametrize("tpr", [0.0, -0.1, 1.01, float("nan")])
def test_a_share_outside_its_range_is_refused(tpr):
    with pytest.raises(InputError, match="tpr must lie"):
        fpr_at_tpr(torch.tensor([1.0]), torch.tensor([2.0]), tpr)


def test_arrays_and_lists_are_scores_at_their_full_precision():
    close = [0.1, 0.1 + 1e-12], [0.1 + 2e-12, 0.1 + 3e-12]  # all equal in float32
    assert auroc(*close) == auroc(*map(np.array, close)) == 1.0
    assert auroc([1, 2], np.array([2, 3])) == 0.875
    with pytest.raises(InputError, match="1 NaN of 2"):
        auroc([0.0, float("nan")], [1.0])
