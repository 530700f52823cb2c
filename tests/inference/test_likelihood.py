import math

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import entropy
from torch.distributions import Normal, kl_divergence

from hecka.errors import InputError
from hecka.inference.likelihood import doubt, is_classification, member_losses, trivial_loss

CLASS = torch.tensor([0])
SURE = 1000 * torch.eye(4)  # logits of certain answers


@pytest.mark.parametrize("shape", [(5,), (5, 2), (5, 2, 3)])
def test_classification_is_each_members_own_mean_cross_entropy(shape):
    logits, targets = torch.randn(3, *shape, 4, dtype=torch.float64), torch.randint(4, shape)
    expected = [F.cross_entropy(one.reshape(-1, 4), targets.flatten()) for one in logits]
    torch.testing.assert_close(member_losses(logits, targets), torch.stack(expected))


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 2, 3)])
def test_regression_is_each_members_own_mean_squared_error(shape):
    outputs, targets = torch.randn(3, *shape), torch.randn(shape)
    expected = [((one - targets) ** 2).mean() for one in outputs]
    torch.testing.assert_close(member_losses(outputs, targets), torch.stack(expected))


def test_one_output_a_row_meets_plain_values_example_by_example():
    outputs, targets = torch.randn(3, 5, 1), torch.randn(5)
    torch.testing.assert_close(member_losses(outputs, targets), member_losses(outputs, targets[:, None]))


def test_doubt_is_minus_the_entropy_of_the_mean_answer():
    logits = 3 * torch.randn(4, 6, 5, dtype=torch.float64)
    mean = logits.softmax(-1).mean(0)
    expected = -entropy(mean.numpy(), axis=-1).mean()
    assert doubt(logits, CLASS).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([[0, 0, 0, 0]], -math.log(4)),  # one member that knows nothing
        ([SURE[0], SURE[0]], 0.0),  # members that are sure, and agree
        ([SURE[0], SURE[2]], -math.log(2)),  # or contradict each other
        ([*SURE], -math.log(4)),
    ],
    ids=["unsure", "agree", "disagree", "disagree in all"],
)
def test_doubt_is_lowest_where_the_mean_is_uniform(answers, expected):
    logits = torch.stack([torch.as_tensor(answer, dtype=torch.float32) for answer in answers])[:, None]
    logits.requires_grad_()
    value = doubt(logits, CLASS)
    value.backward()
    assert value.item() == pytest.approx(expected, abs=1e-6)
    assert logits.grad.isfinite().all()


def test_doubt_of_values_is_the_divergence_from_who_has_not_seen_the_input():
    targets = torch.tensor([1.0, 5.0])  # of mean 3 and variance 4
    outputs = torch.tensor([[2.0, 1.0], [-2.0, 3.0]])  # of means 0 and 2, variances 4 and 1
    common = Normal(torch.tensor([0.0, 2.0]), torch.tensor([4.0 + 4.0, 1.0 + 4.0]).sqrt())
    expected = kl_divergence(common, Normal(3.0, 8**0.5)).mean().item()
    assert doubt(outputs, targets).item() == pytest.approx(expected)
    assert doubt(outputs[..., None], targets).item() == pytest.approx(expected)
    assert doubt(10 * outputs - 7, 10 * targets - 7).item() == pytest.approx(expected)  # free of units
    assert doubt(targets[:, None].expand(2, 3), targets).item() == pytest.approx(0, abs=1e-7)  # as unsure as can be


def test_doubt_of_values_has_a_gradient_at_agreement_and_an_end():
    """Outputs that agree are driven apart; those that are too far apart, together."""
    targets = torch.tensor([-1.0, 1.0])
    for spread, sign in ((1e-3, -1), (0.5, -1), (2.0, 1), (100.0, 1)):
        width = torch.tensor(spread, requires_grad=True)
        doubt(torch.stack([-width, width])[:, None], targets).backward()
        assert width.grad.sign() == sign


def test_doubt_of_several_values_knows_each_mean():
    targets = torch.tensor([[0.0, 9.0], [2.0, 11.0]])
    away = doubt(torch.tensor([[[1.0, 10.0]]]), targets), doubt(torch.tensor([[[10.0, 1.0]]]), targets)
    assert away[0] < away[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("spread", [0.0, 1.0, 1e6])
def test_constant_targets_give_no_nan(dtype, spread):
    targets = torch.full((4,), 2.0, dtype=dtype)
    outputs = (spread * torch.tensor([[1.0], [-1.0]], dtype=dtype).expand(2, 4)).requires_grad_()
    value = doubt(outputs, targets)
    value.backward()
    assert value.isfinite()
    assert outputs.grad.isfinite().all()
    assert trivial_loss(outputs, targets) > 0


def test_the_trivial_loss_is_that_of_the_best_constant_answer():
    classes = torch.arange(8) % 4
    logits = torch.zeros(2, 8, 4)
    torch.testing.assert_close(trivial_loss(logits, classes), member_losses(logits, classes)[0])
    values = torch.randn(50)
    assert trivial_loss(torch.zeros(2, 50), values).item() == pytest.approx(values.numpy().var(), rel=1e-5)


@pytest.mark.parametrize(
    ("given", "computed"), [("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64")]
)
def test_classification_is_computed_in_float32_at_least(given, computed):
    logits = torch.randn(2, 4, 3).to(getattr(torch, given))
    for value in (member_losses(logits, torch.zeros(4, dtype=torch.long)), doubt(logits, CLASS)):
        assert value.dtype == getattr(torch, computed)


def test_targets_tell_the_task():
    assert is_classification(torch.tensor([1, 2]))
    assert not is_classification(torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize(
    ("outputs", "targets"),
    [((2, 5), (5, 1)), ((2, 5, 3), (5,)), ((2, 5, 1), (4,)), ((2, 5, 3), (5, 2)), ((2, 1), (5,))],
)
def test_values_of_another_shape_are_not_broadcast(outputs, targets):
    with pytest.raises(InputError, match="outputs of the targets' shape"):
        member_losses(torch.randn(outputs), torch.randn(targets))


@pytest.mark.parametrize(
    ("logits", "targets"),
    [((2, 5), (5,)), ((2, 5, 3), (5, 1)), ((2, 5, 3, 4), (5,)), ((2, 5, 3, 4), (4, 3)), ((2, 5, 3, 4, 4), (5, 4, 4))],
)
def test_classes_need_logits_of_one_more_axis(logits, targets):
    with pytest.raises(InputError, match="integer targets"):
        member_losses(torch.randn(logits), torch.zeros(targets, dtype=torch.long))


@pytest.mark.parametrize("shift", [-1, 1, -100])  # -100 is the label that torch leaves out without a word
def test_labels_out_of_range_are_refused(shift):
    targets = torch.arange(4) + shift
    with pytest.raises(InputError, match=f"labels from 0 to 3 for 4 outputs, got labels from {shift} to {3 + shift}"):
        member_losses(torch.randn(2, 4, 4), targets)
