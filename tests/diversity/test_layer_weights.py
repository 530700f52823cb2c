import math

import pytest

from hecka.diversity.layer_weights import EndsAndLine, layer_weights
from hecka.errors import InputError


@pytest.mark.parametrize(
    ("settings", "published"),
    [
        ((0.03, 0.60, 1.80, 6.8), (0.002, 0.043, 0.171, 0.299, 0.485)),
        ((0, 0.5, 1.75, 6.5), (0, 0.038, 0.170, 0.302, 0.491)),
    ],
)
def test_ends_and_line_gives_the_published_weights(settings, published):
    assert layer_weights(EndsAndLine(*settings), 5) == pytest.approx(published, abs=6e-4)


@pytest.mark.parametrize(
    ("weighting", "layers", "expected"),
    [
        ("uniform", 3, (1, 1, 1)),
        ("linear", 4, (1, 2, 3, 4)),
        (EndsAndLine(first=5, middle=1, increment=2, last=7), 5, (5, 1, 3, 5, 7)),
        (EndsAndLine(first=5, middle=1, increment=2, last=7), 2, (5, 7)),
        ([0, 3], 2, (0, 3)),
        ((2,), 1, (2,)),
    ],
    ids=str,
)
def test_weights_sum_to_1_unless_raw(weighting, layers, expected):
    assert layer_weights(weighting, layers, normalize=False) == expected
    assert layer_weights(weighting, layers) == pytest.approx([weight / sum(expected) for weight in expected])


@pytest.mark.parametrize(
    ("weighting", "layers", "message"),
    [
        ("quadratic", 3, "'uniform', 'linear', EndsAndLine or a list, got 'quadratic'"),
        ([1, 2], 3, "each of the 3 recorded layers, got 2"),
        (EndsAndLine(1, 1, 1, 1), 1, "at least 2 recorded layers, got 1"),
        ([2, -1], 2, "values >= 0"),
        ([1, math.nan], 2, "values >= 0"),
        ([0, 0], 2, "one of them positive"),
    ],
    ids=str,
)
def test_mistakes_are_told(weighting, layers, message):
    with pytest.raises(InputError, match=message):
        layer_weights(weighting, layers)
