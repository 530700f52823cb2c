import math

import numpy as np
import pytest
import torch

from hecka.errors import InputError
from hecka.similarity.cka import CKAGrid, cka, gram_cosines, hsic, layer_grams, member_grams, pairwise_cka, project
from hecka.similarity.kernels import RBF, gram

KERNELS = pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", RBF(0.5, "distance")], ids=str)
CENTRINGS = pytest.mark.parametrize("centering", ["both", "one-sided", "unbiased"])


def randn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def options(centering):
    """How the public functions are asked for one of the three centrings."""
    return {"unbiased": True} if centering == "unbiased" else {"centering": centering}


def slow_hsic(one, other, centering):
    """The textbook formulas, as explicit products of N x N matrices."""
    n = len(one)
    center = torch.eye(n, dtype=one.dtype) - 1 / n
    if centering == "both":
        return (one @ center @ other @ center).trace() / (n - 1) ** 2
    if centering == "one-sided":
        return ((one @ center) * (other @ center)).sum() / (n - 1) ** 2
    one, other = (gram - gram.diagonal().diag() for gram in (one, other))
    product = one @ other
    terms = product.trace() + one.sum() * other.sum() / ((n - 1) * (n - 2)) - 2 * product.sum() / (n - 2)
    return terms / (n * (n - 3))


def slow_cka(one, other, centering):
    lengths = slow_hsic(one, one, centering) * slow_hsic(other, other, centering)
    return slow_hsic(one, other, centering) / lengths.sqrt()


def all_pairs(function, views):
    """The matrix of a function of two, one entry after the other."""
    return torch.stack([torch.stack([function(one, other) for other in views]) for one in views])


@pytest.mark.parametrize(
    ("settings", "published"),
    [
        ({}, 0.55761),
        ({"kernel": RBF(0.5, "distance")}, 0.65483),
        ({"unbiased": True}, 0.51346),
        ({"centering": "one-sided"}, 0.55749),
    ],
    ids=str,
)
def test_the_authors_of_cka_found_the_same_numbers(settings, published):
    """The example that Kornblith et al. published with their paper."""
    draws = np.random.RandomState(1337)
    x = draws.randn(100, 10)
    y = draws.randn(100, 10) + x
    assert float(cka(x, y, **settings)) == pytest.approx(published, abs=5e-6)


@CENTRINGS
def test_hsic_is_the_textbooks(centering):
    grams = torch.stack([gram(randn(7, 3, seed=seed) + seed) for seed in range(3)])
    expected = all_pairs(lambda one, other: slow_hsic(one, other, centering), grams)
    torch.testing.assert_close(hsic(grams, centering), expected)


@KERNELS
@CENTRINGS
@pytest.mark.parametrize("form", [torch.Tensor, tuple])
def test_cka_is_a_slow_loop_over_pairs(kernel, centering, form):
    features = randn(3, 8, 2, 3) + 1
    flat = features.flatten(2)
    expected = all_pairs(lambda one, other: slow_cka(one, other, centering), gram(flat, kernel))
    given = features if form is torch.Tensor else tuple(features)
    torch.testing.assert_close(pairwise_cka(given, kernel, **options(centering)), expected)
    torch.testing.assert_close(cka(flat[0], flat[2], kernel, **options(centering)), expected[0, 2])


@KERNELS
@CENTRINGS
def test_features_are_like_themselves_turned_and_scaled(kernel, centering):
    x = randn(10, 4)
    turn, _ = torch.linalg.qr(randn(4, 4, seed=1))
    for same in (x, 7 * x, x @ turn):
        assert float(cka(x, same, kernel, **options(centering))) == pytest.approx(1)


def test_double_centring_forgets_where_the_origin_is():
    x, y = randn(10, 4), randn(10, 4, seed=1)
    assert float(cka(x + 3, y - 5)) == pytest.approx(float(cka(x, y)))
    assert float(cka(x + 3, y - 5, centering="one-sided")) != pytest.approx(float(cka(x, y, centering="one-sided")))


def test_the_unbiased_estimate_of_unrelated_features_is_0_on_average():
    pairs = randn(400, 2, 8, 20)
    unbiased, biased = (
        np.array([float(pairwise_cka(pair, unbiased=flag)[0, 1]) for pair in pairs]) for flag in (True, False)
    )
    assert abs(unbiased.mean()) < 4 * unbiased.std() / math.sqrt(400)
    assert biased.mean() > 0.5


@CENTRINGS
def test_centrings_are_orthogonal_projections(centering):
    one, other = (gram(randn(6, 3, seed=seed)) for seed in (0, 1))
    once = project(one, centering)
    if centering != "one-sided":  # the function is made for symmetric matrices, which KH is not
        torch.testing.assert_close(project(once, centering), once)
    torch.testing.assert_close((once * project(other, centering)).sum(), (once * other).sum())


@CENTRINGS
@pytest.mark.parametrize("members", [1, 2, 4])
def test_gradients_of_cosines_are_finite_differences(centering, members):
    def cosines(halves):
        return gram_cosines(halves + halves.mT, centering)

    assert torch.autograd.gradcheck(cosines, randn(2, members, 5, 5).requires_grad_())


@CENTRINGS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_constant_gram_has_no_direction_and_no_pull(centering, dtype, scale):
    constant = torch.full((6, 6), 1 / 3)
    grams = (scale * torch.stack([constant, constant, gram(randn(6, 3)).float()])).to(dtype).requires_grad_()
    cosines = gram_cosines(grams, centering)
    torch.testing.assert_close(cosines, torch.diag(torch.tensor([0, 0, 1], dtype=dtype)))
    (gradient,) = torch.autograd.grad((cosines * randn(3, 3).to(dtype)).sum(), grams)
    assert gradient.isfinite().all()
    assert (gradient[:2] == 0).all()


def test_layouts_change_nothing():
    usual = randn(2, 3, 8, 4, 5, 6, dtype=torch.float32)
    stacked = {"a": usual[0], "b": usual[1]}
    looped = {tap: tuple(each) for tap, each in stacked.items()}
    last = {
        tap: tuple(one.contiguous(memory_format=torch.channels_last) for one in each) for tap, each in stacked.items()
    }
    expected = torch.stack([torch.stack([gram(one.flatten(1)) for one in each]) for each in stacked.values()])
    for features in (stacked, looped, last):
        torch.testing.assert_close(layer_grams(features), expected)
    torch.testing.assert_close(member_grams(last["b"]), expected[1])


def test_half_precision_features_are_compared_in_float32():
    features = randn(3, 8, 5).bfloat16()
    expected = pairwise_cka(features.float())
    with torch.autocast("cpu", torch.bfloat16):
        autocast = pairwise_cka(features.float())
        products = hsic(member_grams(features), "unbiased")
    assert torch.equal(pairwise_cka(features), expected)
    assert torch.equal(autocast, expected)
    assert torch.equal(products, hsic(member_grams(features), "unbiased"))


@KERNELS
@pytest.mark.parametrize("form", [torch.Tensor, tuple])
def test_a_grid_averages_hsic_over_batches_before_the_ratio(kernel, form):
    batches = [{"a": randn(2, 6, 4, seed=seed), "b": randn(2, 6, 3, 2, seed=seed + 9)} for seed in range(4)]
    grid = CKAGrid(kernel)
    for batch in batches:
        grid.update({tap: tuple(each) if form is tuple else each for tap, each in batch.items()})

    views = [
        [gram(batch[tap][member].flatten(1), kernel) for batch in batches] for tap in ("a", "b") for member in range(2)
    ]

    def mean_hsic(one, other):
        return torch.stack([slow_hsic(*pair, "unbiased") for pair in zip(one, other, strict=True)]).mean()

    products = all_pairs(mean_hsic, views)
    expected = products / products.diag().outer(products.diag()).sqrt()
    torch.testing.assert_close(grid.compute().reshape(4, 4), expected)
    assert grid.taps == ("a", "b")


def test_a_grid_keeps_no_graph():
    grid = CKAGrid()
    grid.update({"a": randn(2, 8, 3).requires_grad_()})
    assert not grid.compute().requires_grad


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: cka(randn(2, 8, 3), randn(8, 3)), r"x of shape \(N, D\), got \(2, 8, 3\)"),
        (lambda: cka(randn(8, 3), randn(8)), r"y of shape \(N, D\), got \(8,\)"),
        (lambda: cka(randn(8, 3), randn(7, 3)), "got 8 and 7 rows"),
        (lambda: cka(randn(8, 3), randn(8, 3) / 0), "NaN or infinity in y"),
        (lambda: cka(randn(8, 3), torch.full((8, 3), 0.1)), "features y are the same for all examples"),
        (lambda: cka(torch.zeros(8, 3), randn(8, 3), "cosine"), "features x are the same"),
        (lambda: cka(randn(3, 3), randn(3, 3)), "batch of at least 4, got 3"),
        (lambda: cka(randn(8, 3), randn(8, 3), centering="none"), "'both' or 'one-sided', got 'none'"),
        (lambda: cka(randn(8, 3), randn(8, 3), centering="unbiased"), "'both' or 'one-sided', got 'unbiased'"),
        (lambda: cka(randn(8, 3), randn(8, 3), centering="one-sided", unbiased=True), "centres both sides"),
        (lambda: pairwise_cka(randn(5, 3, 7)), "batch of at least 4, got 3"),
        (lambda: pairwise_cka(tuple(randn(5, 3, 7))), "batch of at least 4, got 3"),
        (lambda: layer_grams({"conv": randn(2, 9, 3), "fc1": randn(2, 3, 3)}), r"got 3 \(tap 'fc1'\)"),
        (lambda: layer_grams({"a": randn(2, 8, 3), "b": randn(2, 9, 3)}), "one batch size.*'a': 8, 'b': 9"),
        (lambda: CKAGrid().compute(), r"call update\(features\)"),
    ],
)
def test_mistakes_are_told(mistake, message):
    with pytest.raises(InputError, match=message):
        mistake()
