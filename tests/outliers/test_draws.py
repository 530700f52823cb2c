import math

import pytest
import torch
from scipy.stats import binomtest, kstest
from torch import Tensor

from hecka.outliers.draws import Draws

REPEATS = 500


def kind_of(index: Tensor, sizes: list[int]) -> Tensor:
    """The kind that each place among the candidates belongs to."""
    return torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))[index]


@pytest.mark.parametrize("count", [1, 7, 48, 100])
@pytest.mark.parametrize("probabilities", [[0.35, 0.65], [0.5, 0.05, 0.15, 0.3], [1 / 8] * 8, [0.0, 1.0]])
def test_kinds_are_as_frequent_as_asked(draws: Draws, count: int, probabilities: list[float]) -> None:
    drawn = []
    for _ in range(REPEATS):
        sizes, index = draws.kinds(count, probabilities)
        assert index.shape == (count,)
        assert len(index.unique()) == count
        drawn.append(kind_of(index, sizes))
    kinds = torch.stack(drawn)
    for kind, probability in enumerate(probabilities):
        expected = count * probability
        of_kind = (kinds == kind).sum(dim=1)
        low, high = math.floor(expected + 1e-9), math.ceil(expected - 1e-9)
        assert ((low <= of_kind) & (of_kind <= high)).all()
        assert binomtest(int((of_kind > low).sum()), REPEATS, expected - low if high > low else 0.0).pvalue > 1e-4
        for place in {0, count - 1}:  # no place in the batch is special
            assert binomtest(int((kinds[:, place] == kind).sum()), REPEATS, probability).pvalue > 1e-4


def test_no_more_candidates_are_made_than_rounding_up_asks_for(draws: Draws) -> None:
    for count in range(1, 60):
        sizes, _ = draws.kinds(count, [0.35, 0.2, 0.45])
        assert all(size <= math.floor(count * p) + 1 for size, p in zip(sizes, [0.35, 0.2, 0.45], strict=True))


def test_sometimes_changes_each_image_with_its_probability(draws: Draws) -> None:
    images, seen = torch.arange(10.0).view(10, 1, 1, 1), set()

    def change(some: Tensor) -> Tensor:
        seen.add(len(some))
        return some + 100

    changes = torch.stack([draws.sometimes(images, 0.25, change) - images for _ in range(REPEATS)]).view(REPEATS, 10)
    assert seen == {3}  # of 10, 2 or 3 are changed
    assert changes.unique().tolist() == [0.0, 100.0]
    for times in (changes > 0).sum(dim=0).tolist():
        assert binomtest(times, REPEATS, 0.25).pvalue > 1e-4


def test_numbers_follow_their_distributions(draws: Draws) -> None:
    assert kstest((draws.uniform(REPEATS, low=-2.0, high=3.0) + 2).numpy() / 5, "uniform").pvalue > 1e-3
    assert kstest(draws.normal(REPEATS).numpy(), "norm").pvalue > 1e-3
    assert draws.whole(REPEATS, low=-1, high=1).unique().tolist() == [-1, 0, 1]
    coins = draws.coin(REPEATS, 0.3)
    assert coins.shape == (REPEATS, 1, 1, 1)
    assert binomtest(int(coins.sum()), REPEATS, 0.3).pvalue > 1e-3
