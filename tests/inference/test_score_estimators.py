"""Estimated scores against the true score of a Gaussian, and against each estimator's own published formula."""

import numpy as np
import pytest
import torch

from hecka.inference.score_estimators import kde_score, sge_score, ssge_score
from hecka.similarity.kernels import RBF

MEAN = torch.tensor([1.0, -2.0], dtype=torch.float64)
FACTOR = torch.tensor([[1.0, 0.0], [0.6, 0.7]], dtype=torch.float64)
COVARIANCE = FACTOR @ FACTOR.T
WIDE = RBF(heuristic="distance")


def draws(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return MEAN + torch.randn(count, 2, generator=generator, dtype=torch.float64) @ FACTOR.T


def gaussian_score(points, covariance=COVARIANCE):
    return -(points - MEAN) @ torch.linalg.inv(covariance)


def relative_error(estimate, truth):
    return float((estimate - truth).norm() / truth.norm())


def slow_kernel(points, kernel_points=None, pool=None):
    """exp(-D ln(M + 1) / median D) and its bandwidth, as published; the median is over ``pool``'s distances."""
    points, other = np.asarray(points), np.asarray(points if kernel_points is None else kernel_points)
    pool = other if pool is None else np.asarray(pool)
    median = np.median(((pool[:, None] - pool[None]) ** 2).sum(-1))
    bandwidth = median / (2 * np.log(len(pool) + 1))
    return np.exp(-((points[:, None] - other[None]) ** 2).sum(-1) / (2 * bandwidth)), bandwidth


def slow_gradient_sums(points, matrix, bandwidth):
    """r_i = sum_j grad_i k(x_i, x_j), pair by pair."""
    points = np.asarray(points)
    sums = np.zeros_like(points)
    for i in range(len(points)):
        for j in range(len(points)):
            sums[i] += matrix[i, j] * (points[j] - points[i]) / bandwidth
    return sums


def slow_ssge(points, at, eta, pool):
    """The spectral estimator as published: Nystrom eigenfunctions, and their mean slopes as coefficients."""
    matrix, bandwidth = slow_kernel(points, pool=pool)
    count = len(matrix)
    values, vectors = np.linalg.eigh(matrix + eta * np.eye(count))
    across, _ = slow_kernel(at, points, pool=pool)
    eigenfunctions = np.sqrt(count) * across @ vectors / values
    slopes = slow_gradient_sums(points, matrix, bandwidth)
    coefficients = -np.sqrt(count) * vectors.T @ (-slopes / count) / values[:, None]
    return eigenfunctions @ coefficients


def test_kde_is_its_formula():
    points = draws(12)
    matrix, bandwidth = slow_kernel(points)
    expected = slow_gradient_sums(points, matrix, bandwidth) / matrix.sum(1, keepdims=True)
    np.testing.assert_allclose(kde_score(points), expected, rtol=1e-9)


def test_sge_is_its_formula():
    points = draws(12)
    matrix, bandwidth = slow_kernel(points)
    expected = np.linalg.solve(matrix + 0.3 * np.eye(12), slow_gradient_sums(points, matrix, bandwidth))
    np.testing.assert_allclose(sge_score(points, eta=0.3), expected, rtol=1e-8)


def test_ssge_is_its_formula_at_its_points():
    points = draws(12)
    np.testing.assert_allclose(ssge_score(points, eta=0.3), slow_ssge(points, points, 0.3, pool=points), rtol=1e-8)


def test_ssge_is_its_formula_at_other_points():
    points, others = draws(12), 2 * draws(5, seed=1)
    expected = slow_ssge(points, others, 0.3, pool=torch.cat([points, others]))
    np.testing.assert_allclose(ssge_score(points, eta=0.3, at=others), expected, rtol=1e-8)


def test_kde_tends_to_the_score_of_the_smoothed_density():
    """A Gaussian smoothed by the kernel has the covariance plus the bandwidth."""
    errors = []
    for count in (50, 200, 800):
        points = draws(count)
        _, bandwidth = slow_kernel(points)
        smoothed = COVARIANCE + bandwidth * torch.eye(2, dtype=torch.float64)
        errors.append(relative_error(kde_score(points), gaussian_score(points, smoothed)))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.2


@pytest.mark.parametrize(
    "estimate",
    [
        lambda points: (points, sge_score(points, WIDE, eta=1.0)),
        lambda points: (points, ssge_score(points, WIDE, eta=1.0)),
        lambda points: (draws(50, seed=1), ssge_score(points, WIDE, eta=1.0, at=draws(50, seed=1))),
    ],
    ids=["sge", "ssge", "ssge elsewhere"],
)
def test_stein_estimators_tend_to_the_true_score(estimate):
    errors = []
    for count in (25, 800):
        where, score = estimate(draws(count))
        errors.append(relative_error(score, gaussian_score(where)))
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.25


@pytest.mark.parametrize("score", [kde_score, sge_score, ssge_score])
class TestEveryEstimator:
    def test_scales_inversely_and_ignores_the_origin(self, score):
        points = draws(9)
        torch.testing.assert_close(score(100 + 4 * points), score(points) / 4, rtol=1e-6, atol=1e-8)

    def test_a_single_point_has_no_score(self, score):
        assert not score(draws(1)).any()

    def test_points_that_coincide_have_no_score(self, score):
        assert not score(torch.full((4, 3), 0.1)).any()

    def test_single_precision_is_near_double(self, score):
        points = draws(60)
        # Two solves with a condition number of up to 60 / .01 stand between points and score.
        assert relative_error(score(points.float()).double(), score(points)) < 1e-2

    def test_autocast_changes_nothing(self, score):
        points = draws(20).float()
        with torch.autocast("cpu", torch.bfloat16):
            cast = score(points)
        torch.testing.assert_close(cast, score(points), rtol=0, atol=0)


def test_autocast_changes_nothing_elsewhere():
    points, others = draws(20).float(), draws(5, seed=1).float()
    with torch.autocast("cpu", torch.bfloat16):
        cast = ssge_score(points, at=others)
    torch.testing.assert_close(cast, ssge_score(points, at=others), rtol=0, atol=0)


def test_points_far_from_the_origin_keep_their_digits_elsewhere():
    points, others = draws(20).float(), draws(5, seed=1).float()
    near, far = (ssge_score(points + shift, WIDE, eta=1.0, at=others + shift) for shift in (0, 1000))
    torch.testing.assert_close(far, near, rtol=1e-2, atol=1e-2)
