import pytest
import torch

from hecka.errors import InputError
from hecka.scores.accuracy import accuracy, nll
from hecka.scores.predictive import Prediction
from hecka.training.feed import Feed
from hecka.training.validate import validate


class Fixed:
    """Members whose outputs are functions of one number."""

    def __init__(self, outputs):
        self.outputs = outputs

    def predict(self, inputs, batch_size=1024):
        return Prediction(self.outputs[:, inputs[:, 0].long()])


def test_scores_over_uneven_batches_are_those_of_the_whole_set():
    torch.manual_seed(0)
    logits, targets, rows = torch.randn(3, 7, 4), torch.randint(4, (7,)), torch.arange(7.0)[:, None]
    batches = [(rows[:5], targets[:5]), (rows[5:], targets[5:])]
    scores = validate(Fixed(logits), Feed(batches, "cpu"))
    assert scores["validation_accuracy"] == pytest.approx(accuracy(logits, targets))
    assert scores["validation_nll"] == pytest.approx(nll(logits, targets))


def test_values_are_scored_by_the_squared_error_of_the_mean():
    outputs = torch.tensor([[[1.0], [2.0]], [[3.0], [2.0]]])  # means 2 and 2
    feed = Feed((torch.tensor([[0.0], [1.0]]), torch.tensor([[5.0], [2.0]])), "cpu", shuffle=False)
    assert validate(Fixed(outputs), feed) == {"validation_mse": 4.5}


def test_plain_values_meet_one_output_a_row_as_in_training():
    outputs = torch.tensor([[[1.0], [4.0]], [[3.0], [4.0]]])  # means 2 and 4
    feed = Feed((torch.tensor([[0.0], [1.0]]), torch.tensor([5.0, 4.0])), "cpu", shuffle=False)
    assert validate(Fixed(outputs), feed) == {"validation_mse": 4.5}  # every output with every value would give 3.5


@pytest.mark.parametrize(
    ("batches", "message"),
    [([], "got none"), ([(torch.zeros(2, 1), torch.zeros(2, 3))], r"targets' shape \(2, 3\), got \(2, 1\)")],
)
def test_unusable_validation_data_is_refused(batches, message):
    with pytest.raises(InputError, match=message):
        validate(Fixed(torch.zeros(1, 2, 1)), Feed(batches, "cpu"))
