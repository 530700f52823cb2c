"""Calibration against a slow loop, scikit-learn's calibration curve and closed forms."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from hecka.errors import InputError
from hecka.scores.calibration import ece, reliability_table

YES, NO = True, False


def slow_ece(confidence, correct, bins):
    total = 0.0
    for b in range(bins):
        lo, hi = b / bins, (b + 1) / bins
        inside = [n for n, c in enumerate(confidence) if lo < c <= hi or (b == 0 and c == 0)]
        total += abs(sum(confidence[n] - correct[n] for n in inside))
    return total / len(confidence)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.floats(0, 1), st.integers(0, 30).map(lambda k: k / 30)),  # many on the edges
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([1, 10, 15, 30]),
)
def test_ece_equals_a_loop_over_bins(examples, bins):
    confidence, correct = zip(*examples, strict=True)
    fast = ece(torch.tensor(confidence, dtype=torch.float64), torch.tensor(correct), bins)
    assert fast == pytest.approx(slow_ece(confidence, correct, bins), abs=1e-12)


def test_the_table_equals_scikit_learns_curve():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.2, 1.0, 500)  # so that low bins are empty
    correct = rng.uniform(size=500) < confidence**2
    accuracy, mean_confidence = calibration_curve(correct, confidence, n_bins=15)
    table = reliability_table(torch.from_numpy(confidence), torch.from_numpy(correct))
    filled = table.count > 0
    np.testing.assert_allclose(table.accuracy[filled], accuracy)
    np.testing.assert_allclose(table.confidence[filled], mean_confidence)
    assert table.confidence[~filled].isnan().all()
    assert table.accuracy[~filled].isnan().all()
    assert int(table.count.sum()) == 500


def test_bins_are_closed_on_the_right_and_hold_certainty():
    table = reliability_table(torch.tensor([0.0, 0.5, 0.5001, 1.0, 1.000001]), torch.tensor([YES] * 5), bins=2)
    assert table.count.tolist() == [2, 3]
    assert (table.lo.tolist(), table.hi.tolist()) == ([0.0, 0.5], [0.5, 1.0])


@pytest.mark.parametrize(("right", "expected"), [(4, 0.2), (3, 0.05), (0, 0.8)])
def test_one_bin_scores_the_plain_gap(right, expected):
    correct = torch.tensor([YES] * right + [NO] * (4 - right))
    assert ece(torch.full((4,), 0.8), correct) == pytest.approx(expected)


def test_gaps_in_opposite_directions_do_not_cancel():
    confidence = torch.tensor([0.4, 0.9])
    assert ece(confidence, torch.tensor([YES, NO])) == pytest.approx((0.6 + 0.9) / 2)
    assert ece(confidence, torch.tensor([YES, NO]), bins=1) == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("confidence", "correct", "bins", "complaint"),
    [
        (torch.tensor([0.5]), torch.tensor([YES]), 0, "at least 1 bin"),
        (torch.tensor([]), torch.tensor([], dtype=torch.bool), 15, "not empty"),
        (torch.full((2, 3), 0.5), torch.tensor([YES, NO]), 15, "one-dimensional"),
        (torch.tensor([0.5]), torch.tensor([1]), 15, "must be bool"),
        (torch.tensor([0.5]), torch.tensor([YES, NO]), 15, "must be bool"),
        (torch.tensor([1.1]), torch.tensor([YES]), 15, "not logits"),
        (torch.tensor([-0.1]), torch.tensor([YES]), 15, "not logits"),
        (torch.tensor([torch.nan]), torch.tensor([YES]), 15, "not logits"),
    ],
)
def test_what_cannot_be_binned_is_refused(confidence, correct, bins, complaint):
    with pytest.raises(InputError, match=complaint):
        ece(confidence, correct, bins)
