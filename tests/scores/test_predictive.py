"""Probabilities, entropies and variances against NumPy, scipy and closed forms."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from hecka.errors import InputError
from hecka.scores import predictive
from hecka.scores.predictive import Prediction, Regression

SCORES = ("entropy", "aleatoric", "mutual_information", "confidence", "variance")


def random_logits(members=4, batch=6, classes=5, dtype=torch.float64, scale=3.0):
    return scale * torch.randn(
        members, batch, classes, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    ).to(dtype)


def truth(logits):
    """Every score by scipy, example by example, from float64 probabilities."""
    member_probs = scipy.special.softmax(logits.double().numpy(), axis=-1)
    mean = member_probs.mean(0)
    divergence = scipy.stats.entropy(member_probs, mean[None], axis=-1).mean(0)
    return {
        "probs": mean,
        "entropy": scipy.stats.entropy(mean, axis=-1),
        "aleatoric": scipy.stats.entropy(member_probs, axis=-1).mean(0),
        "mutual_information": divergence,
        "confidence": mean.max(-1),
        "variance": ((member_probs - mean) ** 2).mean(0).mean(-1),
        "labels": mean.argmax(-1),
    }


@pytest.mark.parametrize("name", [*SCORES, "probs", "labels"])
def test_function_and_attribute_equal_scipy(name):
    logits = random_logits()
    expected = torch.from_numpy(truth(logits)[name])
    torch.testing.assert_close(getattr(predictive, name)(logits), expected)
    torch.testing.assert_close(getattr(Prediction(logits), name), expected)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_low_precision_logits_are_scored_in_float32(name, dtype):
    logits = random_logits(dtype=dtype)
    score = getattr(predictive, name)(logits)
    assert score.dtype == torch.float32
    torch.testing.assert_close(score.double(), torch.from_numpy(truth(logits)[name]), rtol=1e-5, atol=1e-6)


def test_log_probs_stay_finite_where_probabilities_vanish():
    logits = torch.tensor([[[0.0, 800.0]], [[0.0, 900.0]]])
    expected = np.logaddexp(-800.0, -900.0) - np.log(2)
    assert predictive.probs(logits)[0, 0] == 0
    torch.testing.assert_close(predictive.log_probs(logits)[0, 0].item(), expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("impossible", [-1e4, -torch.inf])
def test_an_impossible_class_counts_for_nothing(name, impossible):
    logits = random_logits(classes=3)
    padded = torch.cat([logits, torch.full_like(logits[..., :1], impossible)], -1)
    factor = 3 / 4 if name == "variance" else 1  # a mean over one more class
    torch.testing.assert_close(getattr(predictive, name)(padded), factor * getattr(predictive, name)(logits))


@pytest.mark.parametrize("name", ["entropy", "aleatoric", "mutual_information"])
def test_entropies_have_finite_difference_gradients(name):
    logits = random_logits(members=3, batch=2, classes=3, scale=1.0).requires_grad_()
    assert torch.autograd.gradcheck(getattr(predictive, name), logits)


def test_a_masked_class_has_no_gradient_and_spoils_no_other():
    logits = random_logits(classes=3)
    masked = torch.cat([logits, torch.full_like(logits[..., :1], -torch.inf)], -1).requires_grad_()
    logits.requires_grad_()
    predictive.entropy(masked).sum().backward()
    predictive.entropy(logits).sum().backward()
    torch.testing.assert_close(masked.grad[..., :3], logits.grad)
    assert masked.grad[..., 3].eq(0).all()


def test_opposite_members_know_nothing_together_and_all_alone():
    opposite = Prediction(500 * torch.stack([torch.eye(2), 1 - torch.eye(2)]))
    ln2 = torch.full((2,), np.log(2))
    torch.testing.assert_close(opposite.entropy, ln2.float())
    torch.testing.assert_close(opposite.mutual_information, ln2.float())
    assert opposite.aleatoric.tolist() == [0, 0]


def test_equal_members_share_no_mutual_information():
    answer = Prediction(random_logits(members=1, batch=500, dtype=torch.float32).expand(7, -1, -1))
    assert (answer.mutual_information >= 0).all()
    assert (answer.mutual_information < 1e-6).all()
    assert answer.variance.max() < 1e-12


def test_nothing_depends_on_the_order_of_members_or_a_shift_of_their_logits():
    logits = random_logits()
    shifted = logits.flip(0) + torch.arange(4.0)[:, None, None]
    for name in SCORES:
        torch.testing.assert_close(getattr(Prediction(shifted), name), getattr(Prediction(logits), name))


def test_a_prediction_computes_each_score_once_and_has_the_batchs_length():
    answer = Prediction(random_logits(batch=6))
    assert answer.probs is answer.probs
    assert len(answer) == len(answer.regression) == 6


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 1), (0, 6, 5), (2, 4, 6, 5)])
def test_logits_that_are_no_classes_are_refused(shape):
    with pytest.raises(InputError, match=r"^scores: .*got .*; "):
        predictive.entropy(torch.zeros(shape))


@pytest.mark.parametrize("kind", [Prediction, Regression])
@pytest.mark.parametrize("shape", [(4,), (0, 6, 5)])
def test_outputs_without_members_or_batch_are_refused(kind, shape):
    with pytest.raises(InputError, match=kind.__name__):
        kind(torch.zeros(shape))


@pytest.mark.parametrize("shape", [(5, 8), (5, 8, 1), (5, 8, 3), (5, 8, 2, 2)])
def test_regression_equals_numpy(shape):
    outputs = torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    answer = Prediction(outputs).regression
    torch.testing.assert_close(answer.mean.numpy(), outputs.numpy().mean(0))
    torch.testing.assert_close(answer.variance.numpy(), outputs.numpy().var(0))
    torch.testing.assert_close(answer.std.numpy(), outputs.numpy().std(0))


def test_one_regressor_has_no_spread_and_half_precision_is_widened():
    answer = Regression(torch.ones(1, 3, 1, dtype=torch.bfloat16))
    assert answer.std.tolist() == [[0.0]] * 3
    assert answer.mean.dtype == torch.float32
