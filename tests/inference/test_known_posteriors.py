"""Posteriors in closed form: a network linear in its weights, a Gaussian prior and Gaussian noise make a Gaussian.

A hundred members run through the methods themselves; their mean and covariance are compared with the exact ones.
What is expected of each:

* SVGD, SGE and SSGE reach the covariance but for what so few particles miss (a tenth);
* KDE settles where its SMOOTHED density is the posterior: covariance + bandwidth is the exact covariance;
* in function space the prior itself is estimated from a hundred draws a step, which shifts the mean and adds noise.
"""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from hecka.inference.posterior import Gaussian
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.training.fit import fit

MEMBERS, STEPS, NOISE, STD = 100, 120, 0.8, 2.0


def line_through_three_points():
    """Two weights whose posterior has unequal variances, a strong correlation and a mean off every axis."""
    inputs = torch.tensor([[1.0, 0.0], [0.8, 1.5], [-0.3, 0.5]], dtype=torch.float64)
    return inputs, torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)


def regression():
    """Three weights, twelve noisy targets, columns of unequal length."""
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(12, 3, generator=generator, dtype=torch.float64) * torch.tensor([0.4, 0.7, 1.0])
    noise = NOISE * torch.randn(12, generator=generator, dtype=torch.float64)
    return inputs, inputs @ torch.tensor([1.5, -1.0, 0.5], dtype=torch.float64) + noise


def exact(inputs, targets):
    covariance = torch.linalg.inv(inputs.T @ inputs / NOISE**2 + torch.eye(inputs.shape[1]) / STD**2)
    return covariance @ inputs.T @ targets / NOISE**2, covariance


def sample(method, inputs, targets, count=MEMBERS):
    """Mean, covariance and points where the members come to rest."""
    members = Ensemble(lambda: nn.Linear(inputs.shape[1], 1, bias=False), count, taps=[]).double()
    fit(
        members,
        (inputs, targets),
        method=method,
        steps=STEPS,
        optimizer=partial(torch.optim.Adam, lr=0.15),
        schedule=lambda step: 1 - step / STEPS,
        progress=False,
    )
    points = members.params()["weight"].detach().flatten(1)
    return points.mean(0), torch.cov(points.T, correction=0), points


def bandwidth_of(points):
    """median D / (2 ln(M + 1)), by NumPy."""
    distances = (points[:, None] - points[None]).square().sum(-1)
    return float(np.median(distances.numpy())) / (2 * math.log(len(points) + 1))


def assert_near(mean, covariance, truth, mean_within, covariance_within):
    """The mean in standard deviations, the covariance in the Frobenius norm."""
    exact_mean, exact_covariance = truth
    assert ((mean - exact_mean).abs() / exact_covariance.diagonal().sqrt()).max() < mean_within
    assert (covariance - exact_covariance).norm() / exact_covariance.norm() < covariance_within


SHARPEST = [partial(SVGD), partial(WGD, estimator="sge"), partial(WGD, estimator="ssge")]
every_sharp_method = pytest.mark.parametrize("method", SHARPEST, ids=["svgd", "sge", "ssge"])
every_task = pytest.mark.parametrize(
    ("task", "covariance_within"), [(line_through_three_points, 0.13), (regression, 0.18)], ids=["line", "regression"]
)


def on_posterior(method, targets, **settings):
    return method(data_size=len(targets), prior=Gaussian(STD), noise=NOISE, **settings)


@every_task
@every_sharp_method
def test_particles_reach_mean_and_covariance(method, task, covariance_within):
    inputs, targets = task()
    mean, covariance, _ = sample(on_posterior(method, targets), inputs, targets)
    assert_near(mean, covariance, exact(inputs, targets), 0.02, covariance_within)


@every_sharp_method
def test_more_particles_come_nearer(method):
    inputs, targets = line_through_three_points()
    truth = exact(inputs, targets)[1]
    few, many = (
        (sample(on_posterior(method, targets), inputs, targets, members)[1] - truth).norm() for members in (15, 60)
    )
    assert many < 0.6 * few


@every_task
def test_kde_reaches_the_mean_and_the_covariance_less_its_bandwidth(task, covariance_within):
    inputs, targets = task()
    mean, covariance, points = sample(on_posterior(WGD, targets), inputs, targets)
    smoothed = covariance + bandwidth_of(points) * torch.eye(inputs.shape[1])
    assert_near(mean, smoothed, exact(inputs, targets), 0.02, covariance_within)


@pytest.mark.parametrize(
    ("method", "covariance_within"),
    [(method, 0.2) for method in SHARPEST] + [(partial(WGD, estimator="kde"), 0.4)],
    ids=["svgd", "sge", "ssge", "kde"],
)
def test_function_space_comes_near(method, covariance_within):
    inputs, targets = line_through_three_points()
    mean, covariance, _ = sample(on_posterior(method, targets, space="logits"), inputs, targets)
    assert_near(mean, covariance, exact(inputs, targets), 0.1, covariance_within)
