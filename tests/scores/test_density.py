"""Densities against scipy's Gaussians, mixtures against a plain loop."""

import math

import pytest
import torch
from scipy.stats import multivariate_normal

from hecka.errors import InputError
from hecka.scores.density import JITTERS, ClassGaussians, DensityPrediction


def examples(sizes=(40, 25, 15), dimensions=3, seed=0):
    """Classes of different sizes, with correlated features."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    shape = torch.randn(dimensions, dimensions, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(labels), dimensions, generator=generator, dtype=torch.float64)
    order = torch.randperm(len(labels), generator=generator)
    return (noise @ shape + 2.0 * labels[:, None])[order], labels[order]


def normals(features, labels, jitter=0.0):
    """scipy's Gaussian of each class, with numpy's mean and covariance."""
    for label in labels.unique():
        own = features[labels == label].numpy()
        centred = own - own.mean(0)
        covariance = centred.T @ centred / (len(own) - 1)
        covariance.flat[:: len(covariance) + 1] += jitter
        yield multivariate_normal(own.mean(0), covariance)


def test_one_class_is_scipys_gaussian():
    features, labels = examples(sizes=(30,))
    queries = examples(seed=1)[0]
    gaussians = ClassGaussians.fit(features, labels)
    (normal,) = normals(features, labels)
    torch.testing.assert_close(gaussians.log_density(queries), torch.from_numpy(normal.logpdf(queries.numpy())))
    assert gaussians.jitter == 0


@pytest.mark.parametrize("priors", [False, True])
def test_a_mixture_is_the_sum_over_classes(priors):
    features, labels = examples()
    queries = examples(seed=1)[0]
    shares = [40 / 80, 25 / 80, 15 / 80] if priors else [1.0, 1.0, 1.0]
    pairs = list(zip(shares, normals(features, labels), strict=True))
    expected = [math.log(sum(share * normal.pdf(z.numpy()) for share, normal in pairs)) for z in queries]
    found = ClassGaussians.fit(features, labels, priors).log_density(queries)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_the_far_field_has_a_finite_density_that_falls():
    features, labels = examples()
    far = torch.tensor([1e2, 1e4, 1e6])[:, None].expand(3, 3)
    log_densities = ClassGaussians.fit(features, labels).log_density(far)
    assert log_densities.isfinite().all()
    assert (log_densities.diff() < -1e3).all()


def test_fewer_examples_than_features_need_a_jitter():
    features, labels = examples(sizes=(5, 5), dimensions=12)
    gaussians = ClassGaussians.fit(features, labels)
    assert gaussians.jitter in JITTERS[1:]
    log_densities = gaussians.log_density(features)
    assert log_densities.isfinite().all()
    assert log_densities.min() > gaussians.log_density(features + 1).max()


def test_a_constant_feature_takes_the_smallest_jitter_that_works():
    features, labels = examples()
    features = torch.cat([features, torch.zeros(len(features), 1, dtype=torch.float64)], dim=1)
    gaussians = ClassGaussians.fit(features, labels)
    assert gaussians.jitter == JITTERS[1]
    # The constant lies at its own mean: a factor N(0; 0, jitter) beside the density of the other features.
    others = sum(normal.pdf(features[:, :3].numpy()) for normal in normals(features[:, :3], labels, JITTERS[1]))
    expected = torch.from_numpy(others).log() - 0.5 * math.log(2 * math.pi * JITTERS[1])
    torch.testing.assert_close(gaussians.log_density(features), expected)


def test_features_are_taken_to_float64_first():
    features, labels = examples()
    large = (features + 1e4).float()  # a variance of 1 beside a mean of 10 000 is lost in float32
    found = ClassGaussians.fit(large, labels).log_density(large)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, ClassGaussians.fit(large.double(), labels).log_density(large.double()))


def test_classes_may_be_absent():
    features, labels = examples()
    plain, gaps = ClassGaussians.fit(features, labels), ClassGaussians.fit(features, 5 * labels)
    assert torch.equal(plain.log_density(features), gaps.log_density(features))


def test_low_density_is_outlying():
    answer = DensityPrediction(torch.zeros(1, 2, 3), log_density=torch.tensor([-1.0, -9.0]))
    assert torch.equal(answer.outlyingness, torch.tensor([1.0, 9.0]))
    assert answer.entropy.shape == (2,)


X, Y = examples()


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (X[:, :, None], Y, r"features \(N, D\)"),
        (X, Y[:5], r"int64 \(5,\)"),
        (X, Y.double(), "float64"),
        (X[:0], Y[:0], r"\(0, 3\)"),
        (X / 0, Y, "finite"),
        (X, torch.cat([Y[1:] * 0, torch.tensor([4])]), "at least 2 examples of each class, got 1 of class 4"),
    ],
)
def test_what_has_no_density_is_refused(features, labels, message):
    with pytest.raises(InputError, match=message):
        ClassGaussians.fit(features, labels)


def test_other_features_are_refused():
    with pytest.raises(InputError, match=r"features \(B, 3\), got \(80, 2\)"):
        ClassGaussians.fit(X, Y).log_density(X[:, :2])
