"""The choice of ambiguous images, with stand-ins whose every answer is known."""

import math
from types import SimpleNamespace

import pytest
import torch
from scipy.stats import entropy as scipy_entropy

from hecka.errors import InputError
from hecka.experiments import between_digits as module
from hecka.experiments.between_digits import HIGH, LOW, MOST_DISAGREEMENT, STEPS, Judged, candidates, choose
from hecka.scores.predictive import mutual_information

CODES = torch.tensor([[0.0], [1.0]])  # of class 0 and class 1: a mix's code is its share of class 1
LABELS = torch.tensor([0, 1])


class Painter:
    """Draws codes (N, 1) as grey planes; images of 8 x 8 give their class's code back."""

    def encode(self, images):
        return images.mean((1, 2, 3))[:, None]

    def decode(self, codes):
        return codes.view(-1, 1, 1, 1).expand(-1, 1, 8, 8)


class Judge:
    """As sure as the picture says: p = (1 - grey, grey, 0, ...); disagrees about one of ``every`` pictures."""

    def __init__(self, every=3):
        self.every = every

    def predict(self, inputs):
        grey = ((inputs.mean((1, 2, 3)) * 0.3081 + 0.1307) * 255).round() / 255  # MNIST's whitening undone
        probs = torch.zeros(len(inputs), 10)
        probs[:, 0], probs[:, 1] = 1 - grey, grey
        return SimpleNamespace(probs=probs, mutual_information=0.3 * (torch.arange(len(inputs)) % self.every == 0))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_candidates_lie_between_digits_of_two_classes_and_not_too_near_either():
    codes, labels = torch.tensor([[0.0], [0.0], [1.0]]), torch.tensor([0, 0, 1])
    made = candidates(Painter(), Judge(), codes, labels, 3000, seeded())
    share = made.images[:, 0, 0, 0] / 255
    assert len(share) == pytest.approx(3000 * 4 / 9, rel=0.1)  # pairs of one class are left out
    assert 0.2 - 1 / 255 <= share.min() < 0.21
    assert 0.79 < share.max() <= 0.8 + 1 / 255


def test_what_is_judged_is_what_is_kept():
    made = candidates(Painter(), Judge(), CODES, LABELS, 100, seeded())
    assert made.images.dtype == torch.uint8
    torch.testing.assert_close(made.probs[:, 1], made.images[:, 0, 0, 0] / 255)


def test_entropy_of_the_judged_is_scipy_s():
    probs = torch.rand(20, 10, generator=seeded()).double().softmax(dim=1)
    found = Judged(torch.zeros(20, 1, 28, 28, dtype=torch.uint8), probs, torch.zeros(20)).entropy
    torch.testing.assert_close(found, torch.from_numpy(scipy_entropy(probs.numpy(), axis=1)))


@pytest.fixture
def whole_scale(monkeypatch):
    """Mixes near a digit too, so that the stand-ins' candidates cover the lower end of the scale."""
    monkeypatch.setattr(module, "NEAREST", 0.0)
    monkeypatch.setattr(module, "HIGH", 0.66)  # two classes reach no more than ln 2 = .69


def test_as_many_are_chosen_from_every_step_of_entropy_and_none_of_much_disagreement(whole_scale):
    digits = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 1, 8, 8)
    half, seen = choose(Painter(), Judge(), digits, LABELS, 10 * STEPS, seeded())
    entropies = torch.from_numpy(scipy_entropy(half.probs.double().numpy(), axis=1))
    assert entropies.histc(STEPS, LOW, 0.66).tolist() == [10] * STEPS
    assert half.disagreement.max() <= MOST_DISAGREEMENT
    assert 0 < seen <= module.ROUND
    assert {-1, 1} <= set(entropies.diff().sign().tolist())  # in no order


def test_a_scale_that_cannot_be_filled_is_told(whole_scale, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS", 2)
    digits = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 1, 8, 8)
    with pytest.raises(InputError, match=r"expected 1 images of every entropy, got 0 of one among \d+ candidates"):
        choose(Painter(), Judge(every=1), digits, LABELS, STEPS, seeded())
    with pytest.raises(InputError, match=f"a count that {STEPS} steps of entropy can share, got {STEPS + 1}"):
        choose(Painter(), Judge(), digits, LABELS, STEPS + 1, seeded())


def test_the_scale_holds_the_published_mean_and_an_even_choice_of_two():
    middle = (LOW + HIGH) / 2
    assert middle == pytest.approx(0.43)
    assert LOW < math.log(2) < HIGH


def test_judges_learn_digits_by_themselves():
    images = torch.zeros(300, 1, 28, 28, dtype=torch.uint8)
    labels = torch.arange(300) % 3
    for label in range(3):
        images[labels == label, :, 8 * label : 8 * label + 8] = 255
    judges = module.train_judges(images, labels, seed=0, epochs=6)
    answer = judges.predict(module.MNIST.whitening(images))
    assert (answer.labels == labels).all()
    assert answer.logits.shape == (module.JUDGES, 300, 10)
    torch.testing.assert_close(answer.mutual_information, mutual_information(answer.logits))
