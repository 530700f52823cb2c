"""The analytic pull of an RBF against autograd, and half a gradient against one pair of members after the other."""

import math

import pytest
import torch
from torch import nn

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.inference.member_kernels import between_features, between_points, mix
from hecka.members.ensemble import Ensemble
from hecka.similarity.kernels import RBF

POINTS = torch.randn(5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_points_have_the_published_kernel_and_its_gradient():
    points = POINTS.clone().requires_grad_()
    distances = (points[:, None] - points.detach()[None]).square().sum(-1)
    expected = torch.exp(-distances * math.log(5 + 1) / (1.5 * distances.detach().flatten().median()))
    (gradient,) = torch.autograd.grad(expected.sum(), points)
    closeness = between_points({"x": POINTS}, RBF(1.5))
    torch.testing.assert_close(closeness.matrix, expected.detach())
    torch.testing.assert_close(closeness.gradient["x"], gradient)


def test_pieces_of_any_shape_are_one_point():
    pieces = {"scalar": POINTS[:, 0], "vector": POINTS[:, 1:2], "matrix": POINTS[:, 2:].reshape(5, 2, 2)}
    whole, split = between_points({"x": POINTS}, RBF()), between_points(pieces, RBF())
    torch.testing.assert_close(split.matrix, whole.matrix)
    torch.testing.assert_close(
        torch.cat([each.reshape(5, -1) for each in split.gradient.values()], 1), whole.gradient["x"]
    )
    assert {name: each.shape for name, each in split.gradient.items()} == {
        name: each.shape for name, each in pieces.items()
    }


def test_points_far_from_the_origin_keep_their_digits():
    near = between_points({"x": POINTS.float()}, RBF())
    far = between_points({"x": POINTS.float() + 1000}, RBF())
    torch.testing.assert_close(far.gradient["x"], near.gradient["x"], rtol=1e-2, atol=1e-3)


def test_points_that_coincide_pull_at_nothing():
    closeness = between_points({"x": torch.full((3, 7), 0.1)}, RBF())
    assert not closeness.gradient["x"].any()


@pytest.mark.parametrize(
    "term",
    [
        HECKA(),
        HECKA(kernel="rbf", kind="exponential"),
        HECKA(kernel="linear", centering="one-sided"),
        PairwiseCKA(kernel="linear"),
        PairwiseCKA(weights=[0.0, 1.0]),
    ],
    ids=["he", "he-rbf", "he-linear", "cka", "one layer"],
)
@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_feature_gradient_holds_the_right_argument(term, execution):
    """Gradient with respect to member i of sum_j k(theta_i, held theta_j), each pair by a matrix of its own."""
    members = Ensemble(
        lambda: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4)), 3, taps=["0", "2"], execution=execution
    ).double()
    inputs = torch.randn(7, 3, dtype=torch.float64)
    params = members.params()

    closeness = between_features(params, members.run(params, inputs).features, term)

    for i in range(3):
        net = members.member(i)
        seen = {"0": net[0](inputs), "2": net(inputs)}
        row = []
        for j in range(3):
            with torch.no_grad():
                held = members.member(j)
                other = {"0": held[0](inputs), "2": held(inputs)}
            pair = term.matrix({tap: torch.stack([seen[tap], other[tap]]) for tap in seen})
            row.append(pair[0, 1])
        torch.testing.assert_close(closeness.matrix[i], torch.stack(row).detach(), rtol=1e-6, atol=1e-7)
        gradients = torch.autograd.grad(sum(row), list(net.parameters()), allow_unused=True, materialize_grads=True)
        for (name, _), expected in zip(net.named_parameters(), gradients, strict=True):
            torch.testing.assert_close(closeness.gradient[name][i], expected, rtol=1e-6, atol=1e-7)


def test_features_can_still_be_differentiated():
    members = Ensemble(lambda: nn.Sequential(nn.Linear(3, 4)), 2)
    params = members.params()
    logits, features = members.run(params, torch.randn(6, 3))
    between_features(params, features, HECKA())
    logits.sum().backward()


def test_mixing_stays_exact_under_autocast():
    matrix, vectors = torch.rand(3, 3), torch.randn(3, 2, 4)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = mix(matrix, vectors)
    torch.testing.assert_close(mixed, torch.einsum("ij,jkl->ikl", matrix, vectors))
