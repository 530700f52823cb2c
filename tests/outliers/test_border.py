import math

import pytest
import torch
from scipy.stats import binomtest, kstest
from torch import Tensor

from hecka.errors import InputError
from hecka.outliers.border import Border

COUNT = 4000


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(border: Border, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return border(torch.zeros(1, len(border.low), dtype=dtype), seeded(seed))


def faces(points: Tensor, border: Border) -> Tensor:
    """(N, 2, D): whether a point lies on the lower or the upper face of a column."""
    corners = torch.tensor((border.low, border.high), dtype=points.dtype)
    return points[:, None, :] == corners


@pytest.mark.parametrize("sides", [(1.0,), (3.0, 1.0), (1.0, 2.0, 5.0), (2.0, 2.0, 2.0, 2.0, 2.0)])
def test_points_are_uniform_over_the_surface(sides: tuple[float, ...]) -> None:
    border = Border(low=(0.0,) * len(sides), high=sides, count=COUNT, noise=0.0)
    points = draw(border)
    on = faces(points, border)
    assert (on.sum(dim=(1, 2)) == 1).all()  # on exactly one face

    areas = [math.prod(sides) / side for side in sides]
    for column, area in enumerate(areas):
        for end in range(2):
            here = on[:, end, column]
            assert binomtest(int(here.sum()), COUNT, area / (2 * sum(areas))).pvalue > 1e-4
            for other in set(range(len(sides))) - {column}:
                assert kstest((points[here, other] / sides[other]).numpy(), "uniform").pvalue > 1e-4


def test_noise_is_normal_and_measured_in_units() -> None:
    settings = {"low": (-8.0, -8.0), "high": (8.0, 8.0), "count": COUNT, "unit": (1.0, 10.0)}
    noise = draw(Border(**settings, noise=0.5)) - draw(Border(**settings, noise=0.0))
    for column, scale in enumerate((0.5, 5.0)):
        assert kstest((noise[:, column] / scale).numpy(), "norm").pvalue > 1e-3


def test_the_papers_square_holds_the_toys_points() -> None:
    points = draw(Border(low=(-8.0, -8.0), high=(8.0, 8.0)))
    assert points.shape == (30, 2)
    assert ((points.abs().amax(dim=1) - 8).abs() < 5 * 0.5).all()


def test_around_pads_each_column_by_its_range() -> None:
    table = torch.tensor([[0.0, -1e-3, 7.0], [200.0, 1e-3, 7.0]], dtype=torch.float64)
    border = Border.around(table, padding=0.5)
    assert border.low == pytest.approx((-100.0, -2e-3, 6.5))
    assert border.high == pytest.approx((300.0, 2e-3, 7.5))
    assert border.unit == pytest.approx((200.0, 2e-3, 1.0))  # a constant column gets a plain unit


def test_around_takes_absolute_lengths() -> None:
    table = torch.tensor([[0.0, -1.0], [200.0, 1.0]])
    border = Border.around(table, padding=5.0, noise=0.5, relative=False)
    assert border == Border(low=(-5.0, -6.0), high=(205.0, 6.0), noise=0.5)


def test_a_change_of_units_changes_nothing() -> None:
    table = torch.randn(50, 3, generator=seeded(1), dtype=torch.float64)
    units, shift = torch.tensor([1e-4, 1.0, 1e6], dtype=torch.float64), torch.tensor([3.0, 0.0, 5e6])
    plain = Border.around(table)(table, seeded())
    scaled = Border.around(units * table + shift)(table, seeded())
    torch.testing.assert_close((scaled - shift) / units, plain, rtol=1e-8, atol=1e-8)


def test_a_constant_table_still_has_a_border() -> None:
    table = torch.full((5, 2), 3.0)
    points = Border.around(table, count=100)(table, seeded())
    assert points.isfinite().all()
    assert points.unique(dim=0).shape == (100, 2)


def test_one_seed_repeats_and_two_draws_differ() -> None:
    border, generator, table = Border((-1.0,), (1.0,)), seeded(), torch.zeros(3, 1)
    first, second = border(table, generator), border(table, generator)
    assert torch.equal(first, border(table, seeded()))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_points_take_the_inputs_dtype(dtype: torch.dtype) -> None:
    assert draw(Border((-1.0, -1.0), (1.0, 1.0)), dtype=dtype).dtype == dtype


def test_the_repr_makes_the_border_again() -> None:
    border = Border.around(torch.randn(20, 2, generator=seeded()))
    assert eval(repr(border), {"Border": Border}) == border


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: Border((0.0,), (1.0, 1.0)), "one low, one high and one unit a column, got 1, 2 and 1"),
        (lambda: Border((), ()), "one low, one high"),
        (lambda: Border((0.0, 1.0), (1.0, 1.0)), r"low < high .*\(column 1\)"),
        (lambda: Border.around(torch.full((3, 1), 2.0), padding=0.0), r"padding="),
        (lambda: Border.around(torch.tensor([[0.0], [math.nan]])), "finite"),
        (lambda: Border.around(torch.zeros(4)), r"\(N, D\)"),
        (lambda: draw(Border((0.0,), (1.0,)), dtype=torch.int64), "floating-point"),
        (lambda: Border((0.0,), (1.0,))(torch.zeros(3, 2), seeded()), r"\(B, 1\)"),
    ],
)
def test_mistakes_are_told(mistake, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mistake()
