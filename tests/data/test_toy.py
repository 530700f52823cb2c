import math

import pytest
import torch
from scipy.stats import kstest

from hecka.data.toy import four_classes, in_far_field, in_gaps, plane, regression

QUADRANTS = [(2.0, 2.0), (-2.0, 2.0), (2.0, -2.0), (-2.0, -2.0)]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("task", [four_classes, regression])
def test_one_seed_repeats_and_two_draws_differ(task) -> None:
    generator = seeded()
    first, second = task(generator), task(generator)
    assert torch.equal(first[0], task(seeded())[0])
    assert not torch.equal(first[0], second[0])


def test_every_class_is_a_gaussian_around_its_mean() -> None:
    inputs, labels = four_classes(seeded(), per_class=2000)
    for label, mean in enumerate(QUADRANTS):
        standardised = (inputs[labels == label] - torch.tensor(mean)) / 0.4
        assert standardised.shape == (2000, 2)
        for column in standardised.T:
            assert kstest(column.numpy(), "norm").pvalue > 1e-3
            assert abs(column.var() - 1) < 5 * math.sqrt(2 / 2000)
        assert abs(torch.corrcoef(standardised.T)[0, 1]) < 5 / math.sqrt(2000)


def test_the_regression_has_its_noise_and_its_gap() -> None:
    x, y = regression(seeded(), per_side=2000, inside=3)
    assert ((x.abs() >= 2).sum(), (x < -2).sum(), (x > 2).sum()) == (4000, 2000, 2000)
    noise = torch.tensor(
        [
            value + math.sin(1.2 * at) * (1 + at)
            for at, value in zip(x.flatten().tolist(), y.flatten().tolist(), strict=True)
        ]
    )
    assert kstest((noise / 0.2).numpy(), "norm").pvalue > 1e-3
    assert kstest(((x[x < -2] + 6) / 4).numpy(), "uniform").pvalue > 1e-3


def test_the_plane_is_a_picture_with_its_origin_at_the_lower_left() -> None:
    picture = plane(5).reshape(5, 5, 2)
    axis = [-10.0, -5.0, 0.0, 5.0, 10.0]
    for row, y in enumerate(axis):
        for column, x in enumerate(axis):
            assert picture[row, column].tolist() == [x, y]


def test_regions_are_their_definitions() -> None:
    points = plane(81)
    for (x, y), gap, far in zip(points.tolist(), in_gaps(points), in_far_field(points), strict=True):
        assert gap == (min(abs(x), abs(y)) < 0.5 and max(abs(x), abs(y)) < 3)
        assert far == (max(abs(x), abs(y)) > 6)


def test_the_data_lie_in_neither_region() -> None:
    inputs, _ = four_classes(seeded(), per_class=1000)
    assert not in_far_field(inputs).any()
    assert in_gaps(inputs).float().mean() < 1e-3
