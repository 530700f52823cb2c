import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from hecka.diversity.energy import best_cosine, hyperspherical_energy, normalized, pair_energy
from hecka.errors import InputError

# Settings (s, kind, eps_dist, eps_arc), then the energies of pairs with these cosines, with as many digits as were
# published.
COSINES = (1, 0.99, 0.9, 0.5, 0)
PUBLISHED = [
    ((2, "riesz", 0.0025, 0.065), "7.97 6.91 3.13 .854 .406"),
    ((2, "riesz", 0.0025, 0.031), "15.9 12.1 3.82 .883 .406"),
    ((2, "riesz", 5e-5, 0.165), "3.45 3.24 2.11 .787 .405"),
    ((3, "riesz", 1e-4, 0.035), "56 38 7.25 .824 .258"),
    ((2, "exponential", 0.001, 0.001), ".914 .743 .404 .123 .043"),
]
KINDS = [(2, "riesz"), (0, "riesz"), (0.5, "riesz"), (5, "riesz"), (2, "exponential")]


def randn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def cosines_of(points):
    directions = F.normalize(points, dim=-1)
    return directions @ directions.mT


def relaxed(points, steps, rate, **settings):
    """Energies along the way of points that move against the gradient, and where they end."""
    energies = []
    for _ in range(steps):
        points = F.normalize(points.detach(), dim=-1).requires_grad_()
        energy = hyperspherical_energy(cosines_of(points), **settings)
        energies.append(energy.item())
        points = points - rate * torch.autograd.grad(energy, points)[0]
    return energies, cosines_of(points.detach())


@pytest.mark.parametrize(("settings", "published"), PUBLISHED, ids=str)
def test_pairs_have_the_published_energies(settings, published):
    energies = pair_energy(torch.tensor(COSINES), *settings).tolist()
    for energy, digits in zip(energies, published.split(), strict=True):
        assert energy == pytest.approx(float(digits), abs=10.0 ** -len(digits.partition(".")[2]))


def test_pairs_have_the_energies_of_the_formulas():
    """With smoothing large enough to show itself in every term."""
    angles = torch.tensor([0.2, 1.0, 2.0], dtype=torch.float64)
    cosines = 1.1 * angles.cos()
    torch.testing.assert_close(pair_energy(cosines, 3, "riesz", 0.2, 0.1), 1.2 / (angles**3 + 0.2))
    torch.testing.assert_close(pair_energy(cosines, 0, "riesz", 0.2, 0.1), torch.log(1.2 / (angles + 0.2)))
    torch.testing.assert_close(pair_energy(cosines, 3, "exponential", 0.2, 0.1), torch.exp(-(3 * angles + 0.2)))


def test_the_mean_is_over_ordered_pairs_of_different_points():
    cosines = torch.tensor([[1.0, 0.5, 0.0], [0.25, 1.0, -0.5], [0.75, -0.25, 1.0]], dtype=torch.float64)
    pairs = [1 / math.acos(cosines[i, j]) for i in range(3) for j in range(3) if i != j]
    energy = hyperspherical_energy(cosines.expand(2, 3, 3), s=1, eps_dist=0.0, eps_arc=0.0)
    torch.testing.assert_close(energy, torch.full((2,), sum(pairs) / 6, dtype=torch.float64))


@pytest.mark.parametrize(("s", "kind"), KINDS)
def test_energy_falls_as_points_spread(s, kind):
    energies, _ = relaxed(randn(6, 4), 100, 0.02, s=s, kind=kind)
    assert all(after < before for before, after in pairwise(energies))


@pytest.mark.parametrize(("s", "kind"), KINDS)
def test_points_that_nearly_coincide_end_in_a_simplex(s, kind):
    start = randn(1, 4) + 0.1 * randn(4, 4, seed=1)
    _, cosines = relaxed(start, 600, 0.4, s=s, kind=kind)
    off_diagonal = cosines[~torch.eye(4, dtype=torch.bool)]
    torch.testing.assert_close(off_diagonal, torch.full((12,), best_cosine(4), dtype=torch.float64), atol=0.02, rtol=0)


@pytest.mark.parametrize(("s", "kind"), KINDS)
@pytest.mark.parametrize("eps_arc", [0.0, 0.065])
def test_a_single_point_has_neither_energy_nor_force(s, kind, eps_arc):
    cosines = torch.ones(1, 1, requires_grad=True)
    energy = hyperspherical_energy(cosines, s, kind, eps_arc=eps_arc)
    energy.backward()
    assert energy.item() == 0
    assert cosines.grad.item() == 0


@pytest.mark.parametrize(("s", "kind"), KINDS)
@pytest.mark.parametrize("eps_arc", [0.0, 0.065])
@pytest.mark.parametrize("eps_dist", [0.0, 0.0025])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("cosine", [1.0, -1.0, 1.0 + 2**-7])
def test_points_that_coincide_have_finite_force(s, kind, eps_arc, eps_dist, dtype, cosine):
    cosines = torch.full((3, 3), cosine, dtype=dtype, requires_grad=True)  # rounding may pass 1 by a step
    energy = hyperspherical_energy(cosines, s, kind, eps_dist, eps_arc)
    energy.backward()
    assert energy.isfinite()
    assert cosines.grad.isfinite().all()


def test_the_force_is_largest_where_points_coincide():
    cosines = torch.tensor([1.0, 0.99, 0.5, 0.0, -0.4], requires_grad=True)
    (force,) = torch.autograd.grad(pair_energy(cosines, 2, "riesz", 0.0025, 0.065).sum(), cosines)
    assert (force.diff() < 0).all()
    assert (force > 0).all()


@pytest.mark.parametrize(("s", "kind"), KINDS)
@pytest.mark.parametrize("eps", [(0.0025, 0.065), (0.001, 0.0), (0.0, 0.01), (0.0, 0.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("batch", [None, 100, 4])
def test_normalized_energy_runs_from_0_to_1(s, kind, eps, dtype, batch):
    lowest = best_cosine(5, batch)
    spread = torch.full((5, 5), lowest, dtype=dtype).fill_diagonal_(1)
    for cosines, expected in ((spread, 0.0), (torch.ones(5, 5, dtype=dtype), 1.0)):
        energy = hyperspherical_energy(cosines, s, kind, *eps)
        scaled = normalized(energy, lowest, s, kind, *eps)
        assert scaled.dtype == dtype
        assert scaled.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("members", [2, 3, 5])
def test_a_free_sphere_lets_points_spread_to_a_simplex(members):
    simplex = torch.eye(members, dtype=torch.float64) - 1 / members
    off_diagonal = cosines_of(simplex)[~torch.eye(members, dtype=torch.bool)]
    torch.testing.assert_close(off_diagonal, torch.full_like(off_diagonal, best_cosine(members)))
    mean = (cosines_of(randn(200, members, 3)).sum((-2, -1)) - members) / (members * (members - 1))
    assert (mean > best_cosine(members) - 1e-9).all()


@pytest.mark.parametrize("batch", [4, 5, 9])
@pytest.mark.parametrize("members", [2, 3, 4, 6, 12])
@pytest.mark.parametrize("rank", [1, 2, 8])
def test_no_gram_matrices_spread_further_than_the_best(batch, members, rank):
    features = randn(200, members, batch, rank, seed=members)
    grams = (features - features.mean(-2, keepdim=True)) @ (features - features.mean(-2, keepdim=True)).mT
    cosines = cosines_of(grams.flatten(-2))
    mean = (cosines.sum((-2, -1)) - members) / (members * (members - 1))
    assert (mean > best_cosine(members, batch) - 1e-9).all()


@pytest.mark.parametrize("dimensions", [2, 3, 5])
def test_lines_through_a_simplex_reach_the_best(dimensions):
    """One more line than dimensions, all at one angle: the Gram matrix of a line is the projection on it."""
    lines = F.normalize(torch.eye(dimensions + 1, dtype=torch.float64) - 1 / (dimensions + 1), dim=-1)
    cosines = cosines_of((lines.unsqueeze(-1) * lines.unsqueeze(-2)).flatten(1))
    assert cosines[0, 1].item() == pytest.approx(best_cosine(dimensions + 1, batch=dimensions + 1))
    assert best_cosine(dimensions, batch=dimensions + 1) == 0  # as many as dimensions can be orthogonal


def test_one_point_is_spread_already():
    assert best_cosine(1) == best_cosine(1, batch=10) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "rietz"}, "'riesz' or 'exponential', got 'rietz'"),
        ({"s": -1}, "s >= 0, got -1"),
        ({"eps_dist": -0.1}, "eps_dist >= 0, got -0.1"),
        ({"eps_arc": math.inf}, "eps_arc >= 0, got inf"),
    ],
)
def test_mistakes_are_told(settings, message):
    with pytest.raises(InputError, match=message):
        hyperspherical_energy(torch.eye(3), **settings)


@pytest.mark.parametrize("shape", [(3,), (3, 2), (4, 3, 2)])
def test_cosines_of_all_pairs_are_square(shape):
    with pytest.raises(InputError, match=r"\(\.\.\., M, M\), got \("):
        hyperspherical_energy(torch.ones(shape))
