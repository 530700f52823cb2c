import math

import numpy as np
import pytest
import torch

from hecka.diversity.energy import hyperspherical_energy
from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.errors import InputError
from hecka.similarity.kernels import RBF, Cosine

KERNELS = {
    "linear": lambda x, y: x @ y,
    "cosine": lambda x, y: x @ y / np.linalg.norm(x) / np.linalg.norm(y),
    "rbf": lambda x, y: math.exp(-((x - y) ** 2).sum() / 2),
}


class UnitGaussian:
    """A Gaussian of bandwidth 1, for which no median is needed: kernels may be anybody's."""

    def __call__(self, linear):
        squares = linear.diagonal(dim1=-2, dim2=-1)
        return torch.exp(-(squares.unsqueeze(-1) + squares.unsqueeze(-2) - 2 * linear) / 2)


@pytest.fixture
def features():
    """Two layers of three members on eight examples, away from the origin."""
    generator = torch.Generator().manual_seed(0)
    shapes = {"conv": (3, 8, 2, 3), "fc": (3, 8, 4)}
    return {tap: 0.5 + torch.randn(shape, generator=generator, dtype=torch.float64) for tap, shape in shapes.items()}


def slow_term(features, kernel, weights, centering, value):
    """The paper's sum, layer after layer and pair after pair, in NumPy."""
    total = 0.0
    for weight, layer in zip(weights, features.values(), strict=True):
        vectors = []
        for member in layer.flatten(2).numpy():
            gram = np.array([[KERNELS[kernel](x, y) for y in member] for x in member])
            center = np.eye(len(gram)) - 1 / len(gram)
            vectors.append(center @ gram @ center if centering == "both" else gram @ center)
        pairs = [(i, j) for i in range(len(vectors)) for j in range(len(vectors)) if i != j]
        for i, j in pairs:
            lengths = np.linalg.norm(vectors[i]) * np.linalg.norm(vectors[j])
            total += weight / len(pairs) * value((vectors[i] * vectors[j]).sum() / lengths)
    return total


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("centering", ["both", "one-sided"])
@pytest.mark.parametrize(
    ("weights", "normalize", "expected"), [("linear", True, (1 / 3, 2 / 3)), ([0.5, 3], False, (0.5, 3))], ids=str
)
def test_terms_equal_the_papers_sum(features, kernel, centering, weights, normalize, expected):
    settings = {
        "kernel": UnitGaussian() if kernel == "rbf" else kernel,
        "weights": weights,
        "normalize_weights": normalize,
        "centering": centering,
    }

    def energy(cosine):
        return 1.01 / (math.acos(cosine / 1.02) ** 3 + 0.01)

    for term, value in (
        (HECKA(**settings, s=3, eps_dist=0.01, eps_arc=0.02), energy),
        (PairwiseCKA(**settings), float),
    ):
        slow = slow_term(features, kernel, expected, centering, value)
        assert term(features).item() == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize(
    "term",
    [
        HECKA(),
        HECKA(kernel=UnitGaussian(), kind="exponential", normalized=True),
        HECKA(s=0, centering="one-sided"),
        PairwiseCKA(kernel="cosine"),
    ],
    ids=["riesz", "exponential", "log", "cka"],
)
def test_gradients_are_finite_differences(features, term):
    def value(conv, fc):
        return term({"conv": tuple(conv), "fc": fc})

    assert torch.autograd.gradcheck(value, [each.requires_grad_() for each in features.values()])


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf"])
@pytest.mark.parametrize("term", [HECKA, PairwiseCKA])
def test_neither_order_nor_form_of_members_matters(features, kernel, term):
    term = term(kernel=kernel)
    permuted = {tap: tuple(each[[2, 0, 1]]) for tap, each in features.items()}
    torch.testing.assert_close(term(permuted), term(features))
    torch.testing.assert_close(term.matrix(permuted), term.matrix(features)[[2, 0, 1]][:, [2, 0, 1]])


def test_the_term_is_the_mean_energy_of_its_matrix(features):
    term = HECKA(weights="uniform")
    matrix = term.matrix(features)
    assert matrix.shape == (3, 3)
    torch.testing.assert_close(term(features), (matrix.sum() - matrix.trace()) / 6)
    equal_points = hyperspherical_energy(torch.ones(2, 2, dtype=torch.float64))
    torch.testing.assert_close(matrix.diag(), equal_points.expand(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", RBF(1.0, "distance")], ids=str)
@pytest.mark.parametrize("settings", [{}, {"eps_arc": 0.0}, {"eps_arc": 0.0, "eps_dist": 0.0}], ids=str)
def test_members_that_coincide_have_the_highest_energy_and_a_finite_force(features, dtype, kernel, settings):
    alike = {tap: each[:1].expand_as(each).to(dtype).requires_grad_() for tap, each in features.items()}
    energy = HECKA(kernel=kernel, normalized=True, **settings)(alike)
    energy.backward()
    assert all(each.grad.isfinite().all() for each in alike.values())
    # Without smoothing, equal points are told from near ones by rounding errors alone.
    assert energy.item() == pytest.approx(1, abs=1e-4) if not settings else energy.item() > 0.01


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf"])
def test_members_that_answer_alike_to_everything_give_no_nan(features, kernel):
    features["conv"][1] = 0.3
    features["fc"][:] = 0
    for each in features.values():
        each.requires_grad_()
    energy = HECKA(kernel=kernel)(features)
    energy.backward()
    assert energy.isfinite()
    assert all(each.grad.isfinite().all() for each in features.values())


@pytest.mark.parametrize("term", [HECKA(), HECKA(normalized=True), HECKA(kind="exponential"), PairwiseCKA()])
def test_a_single_member_is_left_alone(features, term):
    alone = {tap: each[:1].requires_grad_() for tap, each in features.items()}
    energy = term(alone)
    energy.backward()
    assert energy.item() == 0
    assert all((each.grad == 0).all() for each in alone.values())


def test_orthogonal_members_have_a_normalized_energy_of_0():
    """Members that each tell another example apart from all others, along orthogonal lines of centred space."""
    lines, _ = torch.linalg.qr(torch.cat([torch.ones(6, 1), torch.eye(6)[:, :3]], 1).double())
    features = {"fc": lines[:, 1:].mT.unsqueeze(-1)}
    assert HECKA(kernel="linear", normalized=True)(features).item() == pytest.approx(0, abs=1e-12)
    assert PairwiseCKA(kernel="linear")(features).item() == pytest.approx(0, abs=1e-12)


def test_a_layer_without_weight_is_not_even_looked_at(features):
    seen = []

    class Spy(Cosine):
        def __call__(self, linear):
            seen.extend(linear.flatten(0, -3))
            return super().__call__(linear)

    given = {"broken": None, **features}
    expected = HECKA(weights="uniform")(features)
    torch.testing.assert_close(HECKA(kernel=Spy(), weights=[0, 1, 1])(given), expected)
    assert len(seen) == 2 * 3  # Gram matrices, one a member and counted layer


def test_autocast_leaves_the_energy_in_float32(features):
    half = {tap: each.bfloat16() for tap, each in features.items()}
    with torch.autocast("cpu", torch.bfloat16):
        energy = HECKA()(half)
    assert torch.equal(energy, HECKA()(half))
    assert energy.dtype == torch.float32
    torch.testing.assert_close(energy, HECKA()(features).float(), rtol=0.02, atol=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own tracer does that
@pytest.mark.parametrize(
    "term", [HECKA(kernel="rbf", normalized=True), HECKA(kernel="linear", kind="exponential")], ids=["rbf", "linear"]
)
def test_one_compiled_graph_gives_the_same(features, term):
    for each in features.values():
        each.requires_grad_()
    compiled = torch.compile(lambda: term(features), fullgraph=True, backend="aot_eager")
    results = [torch.autograd.grad(run(), list(features.values())) for run in (lambda: term(features), compiled)]
    torch.testing.assert_close(*results)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda features: HECKA()({}), r"HECKA: expected recorded features, got none; .*taps=\["),
        (lambda features: PairwiseCKA(weights=[1])(features), "each of the 2 recorded layers, got 1"),
        (lambda features: HECKA(kernel="cosin"), "no kernel is called 'cosin'; did you mean 'cosine'"),
        (lambda features: HECKA(centering="one"), "'both' or 'one-sided', got 'one'"),
        (lambda features: PairwiseCKA(centering="unbiased"), "'both' or 'one-sided', got 'unbiased'"),
        (lambda features: HECKA(s=-1), "s >= 0, got -1"),
        (lambda features: HECKA(s=0, kind="exponential", normalized=True), "all angles have the same energy"),
        (lambda features: HECKA()({"fc1": features["fc"][:, :3]}), r"at least 4, got 3 \(tap 'fc1'\)"),
    ],
)
def test_mistakes_are_told(features, mistake, message):
    with pytest.raises(InputError, match=message):
        mistake(features)
