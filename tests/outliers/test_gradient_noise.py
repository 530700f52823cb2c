import itertools
import math

import pytest
import torch
from torch import Tensor

from hecka.outliers.draws import Draws
from hecka.outliers.gradient_noise import perlin, perlin_noise, simplex, simplex_noise


def fade(t: float) -> float:
    return 6 * t**5 - 15 * t**4 + 10 * t**3


def mix(low: float, high: float, share: float) -> float:
    return low + (high - low) * share


def scalar_perlin(gradients: Tensor, row: float, column: float) -> float:
    """One point, as textbooks do it: four slopes, interpolated along columns and then along rows."""
    r, c = min(int(row), gradients.shape[0] - 2), min(int(column), gradients.shape[1] - 2)
    down, right = row - r, column - c

    def slope(i: int, j: int) -> float:
        g = gradients[r + i, c + j].tolist()
        return g[0] * (down - i) + g[1] * (right - j)

    near = mix(slope(0, 0), slope(0, 1), fade(right))
    far = mix(slope(1, 0), slope(1, 1), fade(right))
    return mix(near, far, fade(down))


def scalar_simplex(gradients: Tensor, x: float, y: float) -> float:
    """One point: the whole lattice of triangles around it, each point with its own slope."""
    period = len(gradients)
    stretch = (1 / math.sqrt(3) - 1) / 2
    squish = (math.sqrt(3) - 1) / 2
    skewed = [math.floor(value + stretch * (x + y)) for value in (x, y)]
    total = 0.0
    for i, j in itertools.product(*(range(value - 3, value + 5) for value in skewed)):
        dx, dy = x - (i + squish * (i + j)), y - (j + squish * (i + j))
        g = gradients[i % period, j % period].tolist()
        total += max(0.0, 2 - dx * dx - dy * dy) ** 4 * (g[0] * dx + g[1] * dy)
    return total


def test_perlin_is_the_textbooks(draws: Draws) -> None:
    gradients = draws.normal(3, 4, 6, 2)
    rows, columns = draws.uniform(7, high=3.0), draws.uniform(9, high=5.0)
    noise = perlin_noise(gradients, rows, columns)
    for (n, image), (h, row), (w, column) in itertools.product(
        enumerate(gradients), enumerate(rows.tolist()), enumerate(columns.tolist())
    ):
        assert noise[n, h, w].item() == pytest.approx(scalar_perlin(image, row, column), abs=1e-12)


def test_perlin_is_zero_on_its_lattice_and_has_the_gradients_there(draws: Draws) -> None:
    gradients = draws.normal(2, 5, 5, 2)
    lattice, step = torch.arange(5.0, dtype=torch.float64), 1e-6
    assert (perlin_noise(gradients, lattice, lattice) == 0).all()
    inner = lattice[1:-1]
    down = perlin_noise(gradients, inner + step, inner) / step
    right = perlin_noise(gradients, inner, inner + step) / step
    torch.testing.assert_close(torch.stack([down, right], dim=-1), gradients[:, 1:-1, 1:-1], rtol=0, atol=1e-4)


def test_perlin_of_unit_gradients_reaches_no_further_than_half_a_diagonal(draws: Draws) -> None:
    outwards = torch.tensor([[[1.0, 1.0], [1.0, -1.0]], [[-1.0, 1.0], [-1.0, -1.0]]], dtype=torch.float64)
    middle = torch.tensor([0.5], dtype=torch.float64)
    assert perlin_noise(outwards[None] / math.sqrt(2), middle, middle).item() == pytest.approx(math.sqrt(0.5))


def test_simplex_is_the_sum_over_the_whole_lattice(draws: Draws) -> None:
    gradients = draws.normal(2, 6, 6, 2)
    points = draws.uniform(200, 1, 2, low=-9.0, high=9.0)
    noise = simplex_noise(gradients, points, torch.ones(1, dtype=torch.float64))
    for n, image in enumerate(gradients):
        expected = [scalar_simplex(image, *point) for point in points[:, 0].tolist()]
        torch.testing.assert_close(noise[n], torch.tensor(expected, dtype=torch.float64))


def test_simplex_is_what_opensimplex_makes(draws: Draws) -> None:
    opensimplex = pytest.importorskip("opensimplex")
    internals = pytest.importorskip("opensimplex.internals")
    permutation = torch.from_numpy(opensimplex.OpenSimplex(seed=3)._perm)
    row = torch.arange(256)
    choice = permutation[(permutation[row][:, None] + row) & 255] & 0x0E
    table = torch.from_numpy(internals.GRADIENTS2).double()
    gradients = torch.stack([table[choice], table[choice + 1]], dim=-1)[None]
    points = draws.uniform(500, 1, 2, low=-40.0, high=40.0)
    noise = simplex_noise(gradients, points, torch.ones(1, dtype=torch.float64)) / internals.NORM_CONSTANT2
    expected = [opensimplex.OpenSimplex(seed=3).noise2(*point) for point in points[:, 0].tolist()]
    torch.testing.assert_close(noise[0], torch.tensor(expected, dtype=torch.float64))


def test_simplex_is_zero_on_its_lattice_and_continuous(draws: Draws) -> None:
    gradients, one = draws.normal(2, 8, 8, 2), torch.ones(1, dtype=torch.float64)
    skewed = torch.cartesian_prod(torch.arange(5.0), torch.arange(5.0)).double()
    lattice = skewed + (math.sqrt(3) - 1) / 2 * skewed.sum(dim=1, keepdim=True)
    alone = torch.zeros_like(gradients)
    alone[:, 2, 3] = gradients[:, 2, 3]
    # Neighbours just reach each other's rim, where the weight is 0: the noise vanishes on the lattice.
    torch.testing.assert_close(
        simplex_noise(alone, lattice[:, None], one), torch.zeros(2, 25).double(), rtol=0, atol=1e-9
    )
    across = draws.uniform(2000, 1, 2, high=6.0)
    jump = simplex_noise(gradients, across + 1e-7, one) - simplex_noise(gradients, across, one)
    assert jump.abs().max() < 1e-4


def test_octaves_add_up(draws: Draws) -> None:
    gradients, points = draws.normal(2, 8, 8, 2), draws.uniform(30, 3, 2, high=8.0)
    amplitudes = torch.tensor([1.0, 0.6, 0.36], dtype=torch.float64)
    parts = [a * simplex_noise(gradients, points[:, [o]], amplitudes[:1]) for o, a in enumerate(amplitudes)]
    torch.testing.assert_close(simplex_noise(gradients, points, amplitudes), sum(parts))


@pytest.mark.parametrize("noise", [perlin, simplex])
@pytest.mark.parametrize(("height", "width"), [(28, 28), (17, 23), (64, 64)])
def test_planes_span_the_range_and_are_smooth_and_balanced(noise, height: int, width: int, draws: Draws) -> None:
    planes = noise(draws, 200, height, width)
    assert planes.shape == (200, height, width)
    torch.testing.assert_close(planes.abs().amax(dim=(1, 2)), torch.ones(200).double())
    assert planes.mean().abs() < 0.05
    assert (planes > 0).double().mean() == pytest.approx(0.5, abs=0.05)
    neighbours = (planes[:, 1:] - planes[:, :-1]).square().mean()
    assert neighbours < planes.square().mean()  # white noise: twice as much


@pytest.mark.parametrize("noise", [perlin, simplex])
def test_no_pixel_is_darker_than_others(noise, draws: Draws) -> None:
    """The lattice, where noise is 0, lies elsewhere in every call."""
    strength = torch.cat([noise(draws, 5, 16, 16) for _ in range(200)]).square().mean(dim=0)
    assert strength.min() > 0.7 * strength.mean()
    for dim in (0, 1):
        assert strength.mean(dim).min() > 0.85 * strength.mean()
