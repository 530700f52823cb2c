import math

import numpy as np
import pytest
import torch

from hecka.errors import InputError
from hecka.similarity.kernels import (
    RBF,
    Cosine,
    Linear,
    as_kernel,
    flatten_rows,
    gram,
    linear_gram,
    median_entry,
    squared_distances,
)

BOTH_RULES = pytest.mark.parametrize("heuristic", ["svgd", "distance"])


@pytest.fixture
def x():
    return torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def slow_gram(x, kernel):
    """k(x_i, x_j), one pair after the other."""
    return torch.tensor([[kernel(a, b) for b in x.numpy()] for a in x.numpy()], dtype=x.dtype)


def slow_bandwidth(x, multiplier, heuristic):
    median = np.median(slow_gram(x, lambda a, b: ((a - b) ** 2).sum()).numpy())
    return multiplier * median / (2 * math.log(len(x) + 1)) if heuristic == "svgd" else multiplier**2 * median


def slow_rbf(x, multiplier, heuristic):
    bandwidth = slow_bandwidth(x, multiplier, heuristic)
    return slow_gram(x, lambda a, b: math.exp(-((a - b) ** 2).sum() / (2 * bandwidth)))


def test_linear_is_the_inner_product(x):
    torch.testing.assert_close(gram(x), slow_gram(x, np.dot))


def test_cosine_is_the_angle_and_0_for_a_zero_vector(x):
    x[4] = 0
    lengths = np.linalg.norm

    def cosine(a, b):
        return a @ b / (lengths(a) * lengths(b)) if lengths(a) * lengths(b) > 0 else 0.0

    torch.testing.assert_close(gram(x, "cosine"), slow_gram(x, cosine))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("multiplier", [1.0, 2.5])
@BOTH_RULES
def test_rbf_is_a_gaussian_with_the_medians_width(x, count, multiplier, heuristic):
    if count == 1:
        assert gram(x[:1], RBF()).tolist() == [[1.0]]
        return
    torch.testing.assert_close(gram(x[:count], RBF(multiplier, heuristic)), slow_rbf(x[:count], multiplier, heuristic))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 12, 13, 60])
@pytest.mark.parametrize("ties", [False, True])
def test_median_is_numpys_of_all_entries(count, ties):
    generator = torch.Generator().manual_seed(count)
    values = torch.rand(2, 3, count, count, generator=generator)
    values = (4 * values).floor() if ties else values
    symmetric = (values + values.mT) * (1 - torch.eye(count))
    expected = np.median(symmetric.flatten(-2).numpy(), axis=-1)
    np.testing.assert_allclose(median_entry(symmetric), expected)


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", RBF(2.0, "distance")], ids=str)
def test_many_matrices_at_once_are_each_alone(x, kernel):
    many = torch.stack([torch.stack([x, 2 * x.flip(1)]), torch.stack([x**2, x + 1])])
    torch.testing.assert_close(gram(many, kernel)[1, 0], gram(x**2, kernel))
    torch.testing.assert_close(gram(many, kernel)[0, 1], gram(2 * x.flip(1), kernel))


@pytest.mark.parametrize("function", [linear_gram, lambda x: gram(x, Cosine())], ids=["linear_gram", "cosine"])
def test_gradients_are_finite_differences(x, function):
    assert torch.autograd.gradcheck(function, x.requires_grad_())


@BOTH_RULES
def test_rbfs_bandwidth_carries_no_gradient(x, heuristic):
    """The kernel's gradient is that of a Gaussian whose width is a number."""
    x.requires_grad_()
    linear = linear_gram(x)
    assert not RBF(1.5, heuristic).bandwidth(squared_distances(linear), linear).requires_grad
    twice_width = 2 * slow_bandwidth(x.detach(), 1.5, heuristic)
    frozen = torch.exp(-(x[:, None] - x).square().sum(-1) / twice_width)
    weights = torch.arange(81.0, dtype=x.dtype).reshape(9, 9)  # not symmetric, as one-sided centring needs
    results = [torch.autograd.grad((weights * k).sum(), x)[0] for k in (gram(x, RBF(1.5, heuristic)), frozen)]
    torch.testing.assert_close(*results)


def test_linears_diagonal_keeps_its_value_and_stops_its_gradient(x):
    x.requires_grad_()
    stopped = gram(x, Linear())
    torch.testing.assert_close(stopped, x @ x.mT)
    weights = torch.arange(81.0, dtype=x.dtype).reshape(9, 9)
    (gradient,) = torch.autograd.grad((weights * stopped).sum(), x)
    (expected,) = torch.autograd.grad((weights * (x @ x.mT) * (1 - torch.eye(9))).sum(), x)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf"])
def test_half_precision_is_computed_in_float32(x, dtype, kernel):
    half = x.to(dtype)
    assert torch.equal(gram(half, kernel), gram(half.float(), kernel))
    with torch.autocast("cpu", dtype):
        autocast = gram(x.float(), kernel)
    assert torch.equal(autocast, gram(x.float(), kernel))
    half.requires_grad_()
    gram(half, kernel)[0, 1].backward()
    assert half.grad.dtype == dtype


@BOTH_RULES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_median_of_zero_gives_no_nan(x, dtype, heuristic):
    """More than half of the pairs alike: the width stops near 0, so that a Gram entry tells who is alike."""
    group = torch.tensor([0, 0, 0, 0, 0, 0, 0, 0, 1])
    alike = x[group].to(dtype).requires_grad_()
    matrix = gram(alike, RBF(1.0, heuristic))
    (gradient,) = torch.autograd.grad(matrix.square().sum(), alike)
    assert gradient.isfinite().all()
    same = (group[:, None] == group).to(dtype)
    # Distances of equal rows are rounding errors, of the size of the smallest width.
    torch.testing.assert_close(matrix.detach(), same, atol=0.2, rtol=0)


@BOTH_RULES
@pytest.mark.parametrize("value", [0.0, 3.0, 1e-18, 1e15])
def test_rows_that_are_all_alike_give_no_nan(value, heuristic):
    rows = torch.full((8, 5), value, requires_grad=True)
    matrix = gram(rows, RBF(1.0, heuristic))
    assert torch.autograd.grad(matrix.sum(), rows)[0].isfinite().all()
    torch.testing.assert_close(matrix.detach(), torch.ones(8, 8), atol=0.2, rtol=0)


@pytest.mark.parametrize("scale", [0.0, 1e-25, 1e-12, 1.0, 1e15])
def test_cosine_has_finite_gradients_at_any_length(scale):
    rows = (scale * torch.randn(6, 4, generator=torch.Generator().manual_seed(0))).requires_grad_()
    matrix = gram(rows, "cosine")
    (gradient,) = torch.autograd.grad(matrix.sum(), rows)
    assert matrix.isfinite().all()
    assert gradient.isfinite().all()
    assert scale > 0 or (gradient == 0).all()  # a zero vector has no direction to be turned


def test_distances_are_never_negative():
    x = 1e4 + 1e-3 * torch.randn(20, 50, generator=torch.Generator().manual_seed(0))
    distances = squared_distances(linear_gram(x))
    assert (distances >= 0).all()
    assert (distances.diagonal() == 0).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_flattening_follows_memory_and_changes_no_gram(channels):
    usual = torch.randn(4, channels, 5, 6, generator=torch.Generator().manual_seed(0))
    last = torch.empty_like(usual, memory_format=torch.channels_last).copy_(usual)
    for features in (usual, last):
        assert flatten_rows(features, 1).data_ptr() == features.data_ptr()
    torch.testing.assert_close(gram(flatten_rows(last, 1)), gram(flatten_rows(usual, 1)))
    assert flatten_rows(usual[:, 0, 0, 0], 1).shape == (4, 1)


def test_a_compiler_that_knows_no_sizes_flattens_too():
    torch._dynamo.reset()
    last = torch.randn(4, 3, 5, 6).contiguous(memory_format=torch.channels_last)
    compiled = torch.compile(flatten_rows, fullgraph=True, dynamic=True, backend="eager")
    for features in (last, last.contiguous(), last[0]):
        assert torch.equal(compiled(features, 1), flatten_rows(features, 1))


def test_kernels_have_names():
    assert [as_kernel(name) for name in ("linear", "cosine", "rbf")] == [Linear(), Cosine(), RBF()]
    assert as_kernel(kernel := RBF(3.0)) is kernel


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: gram(torch.randn(4, 2), "cosin"), "no kernel is called 'cosin'; did you mean 'cosine'"),
        (lambda: RBF(0.0), "positive multiplier, got 0"),
        (lambda: RBF(math.nan), "positive multiplier, got nan"),
        (lambda: RBF(1.0, "median"), "'svgd' or 'distance', got 'median'"),
    ],
)
def test_mistakes_are_told(mistake, message):
    with pytest.raises(InputError, match=message):
        mistake()
