"""Points on spheres: one step against its closed form, and the experiment's claim on other seeds than the figure's."""

import json
import math

import pytest
import torch

import hecka
from hecka.diversity.energy import mean_over_pairs
from hecka.experiments.sphere import MOMENTUM, RATE, descend, energy, sphere, spread, two_clusters, verdict


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_clusters_lie_on_the_sphere_around_two_directions():
    points = two_clusters(400, 1000, seeded())
    first, second = points[:200], points[200:]
    torch.testing.assert_close(points.norm(dim=1), torch.ones(400))
    # Noise of length .9 around a mean of length 1 leaves a cosine of 1 / (1 + .81) within a cluster.
    within = mean_over_pairs(first @ first.T).item()
    assert within == pytest.approx(1 / 1.81, abs=0.02)
    assert abs((first @ second.T).mean().item()) < within / 3


def test_spread_of_the_corners_of_a_square():
    corners = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)
    found = spread(corners @ corners.T)
    assert found.cosine == pytest.approx(-1 / 3)
    assert found.nearest == pytest.approx(math.pi / 2)
    smooth = 0.0025
    beside, opposite = (math.acos(cosine / (1 + smooth)) for cosine in (0, -1))
    pair = [(1 + smooth) / (angle**2 + smooth) for angle in (beside, opposite)]
    assert found.energy == pytest.approx((2 * pair[0] + pair[1]) / 3)


def test_two_steps_along_the_cosine_are_those_of_its_closed_form():
    start = two_clusters(10, 3, seeded()).double()
    x, velocity = start.clone(), torch.zeros_like(start)
    for _ in range(2):
        slope = 2 * (x.sum(0) - x) / (10 * 9)
        velocity = MOMENTUM * velocity + slope
        for i in range(10):  # onto the tangent plane of each point
            velocity[i] -= (velocity[i] @ x[i]) * x[i]
        x = x - RATE * velocity
        x = x / x.norm(dim=1, keepdim=True)
    found = descend(start, mean_over_pairs, iterations=2)
    torch.testing.assert_close(found.points, x)
    assert len(found.spreads) == 3
    assert found.spreads[0].cosine > found.spreads[-1].cosine


def test_descending_leaves_the_start_as_it_was():
    start = two_clusters(20, 3, seeded())
    before = start.clone()
    descend(start, energy, iterations=2)
    assert torch.equal(start, before)
    assert not start.requires_grad


@pytest.mark.parametrize("dimensions", [3, 1000])
def test_minimising_the_energy_ends_lower_in_both_measures(dimensions):
    for seed in (10, 11):
        start = two_clusters({3: 300, 1000: 200}[dimensions], dimensions, seeded(seed))
        by_cosine = descend(start, mean_over_pairs).spreads[-1]
        by_energy = descend(start, energy).spreads[-1]
        assert by_energy.cosine < by_cosine.cosine
        assert by_energy.energy < 0.9 * by_cosine.energy


def test_given_time_the_cosine_finds_its_lowest_value_but_leaves_points_in_clumps():
    start = two_clusters(100, 3, seeded())
    late = descend(start, mean_over_pairs, iterations=500).spreads[-1]
    assert late.cosine == pytest.approx(-1 / 99, abs=1e-5)
    assert late.nearest < 0.7 * descend(start, energy).spreads[-1].nearest


def test_the_command_writes_a_picture_and_numbers_and_counts_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr("hecka.experiments.sphere.POINTS", {3: 20, 50: 10})
    said = sphere(tmp_path, seeds=2, iterations=3)
    assert (tmp_path / "sphere.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((tmp_path / "sphere.json").read_text())
    assert [space["dimensions"] for space in content["spaces"]] == [3, 50]
    runs = content["spaces"][0]["ends"]["energy"]
    assert [run["seed"] for run in runs] == [0, 1]
    assert f"{sum(run['cosine'] for run in runs) / 2:.4f} ±" in said
    assert "3-D, 20 points: minimising the energy ends lower" in said


def test_the_verdict_counts_each_measure_by_itself():
    low, high = spread(torch.eye(4)), spread(torch.ones(4, 4))
    ends = {"energy": [low, high, low], "cosine": [high, low, high]}
    assert "in mean cosine on 2 of 3 seeds, in energy on 2 of 3" in verdict({3: ends})


def test_at_least_one_iteration_is_needed(tmp_path):
    with pytest.raises(hecka.InputError, match="at least 1 seed and 1 iteration"):
        sphere(tmp_path, iterations=0)
