"""SVGD and WGD against loops over pairs of separate modules, written from the formulas, in float64."""

import copy
import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.errors import InputError
from hecka.inference.posterior import Gaussian
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.similarity.kernels import RBF
from hecka.types import Batch

MEMBERS, ETA = 4, 0.05


@pytest.fixture
def members():
    return Ensemble(
        lambda: nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3)), MEMBERS, taps=["0", "2"]
    ).double()


@pytest.fixture
def data():
    return Batch(torch.randn(6, 2, dtype=torch.float64), torch.randint(3, (6,)))


def direction_of(method, members, data, generator=None):
    """One flat direction a member, (M, P)."""
    step = method(members, members.params(), data, {}, generator or torch.Generator())
    return torch.cat([step.direction[name].reshape(MEMBERS, -1) for name in members.params()], 1)


def flat(net):
    return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])


def slope(net, value):
    gradients = torch.autograd.grad(value, list(net.parameters()), retain_graph=True)
    return torch.cat([each.flatten() for each in gradients])


def slow_rbf(points):
    """Kernel matrix and r_i = sum_j grad_i k(x_i, x_j), pair by pair."""
    distances = torch.stack([torch.stack([(a - b).square().sum() for b in points]) for a in points])
    rate = math.log(len(points) + 1) / float(np.median(distances.numpy()))
    matrix = torch.exp(-rate * distances)
    sums = [
        sum(-2 * rate * matrix[i, j] * (points[i] - points[j]) for j in range(len(points))) for i in range(len(points))
    ]
    return matrix, torch.stack(sums)


def slow_direction(name, matrix, score, sums):
    """The descent directions of the published table, member by member; ``score`` climbs."""
    inverse = torch.linalg.inv(matrix + ETA * torch.eye(MEMBERS, dtype=torch.float64))
    rows = []
    for i in range(MEMBERS):
        if name == "svgd":
            rows.append(sum(matrix[i, j] * score[j] for j in range(MEMBERS)) / MEMBERS - sums[i] / MEMBERS)
        elif name == "kde":
            rows.append(score[i] - sums[i] / matrix[i].sum())
        elif name == "sge":
            rows.append(score[i] - inverse[i] @ sums)
        else:
            rows.append(score[i] - (matrix @ inverse @ inverse)[i] @ sums)
    return -torch.stack(rows)


def method_of(name, **settings):
    return SVGD(eta=ETA, **settings) if name == "svgd" else WGD(estimator=name, eta=ETA, **settings)


every_rule = pytest.mark.parametrize("name", ["svgd", "kde", "sge", "ssge"])


@every_rule
def test_weights_move_as_in_the_table(name, members, data):
    nets = [members.member(i) for i in range(MEMBERS)]
    score = []
    for net in nets:
        log_likelihood = -20 * F.cross_entropy(net(data.inputs), data.targets)
        score.append(slope(net, log_likelihood) - flat(net) / 0.5**2)
    matrix, sums = slow_rbf([flat(net) for net in nets])
    expected = slow_direction(name, matrix, torch.stack(score), sums)
    method = method_of(name, data_size=20, prior=Gaussian(0.5))
    torch.testing.assert_close(direction_of(method, members, data), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("term", [HECKA(), PairwiseCKA(kernel="linear")], ids=["he", "cka"])
@pytest.mark.parametrize("name", ["svgd", "kde"])
def test_features_repel_in_their_own_weights(name, term, members, data):
    """The gradients of single rows of the kernel, whose other members are held, and of single losses."""
    nets = [members.member(i) for i in range(MEMBERS)]
    features = [{"0": net[0](data.inputs), "2": net(data.inputs)} for net in nets]
    score, sums, matrix = [], [], []
    for i, net in enumerate(nets):
        score.append(slope(net, -F.cross_entropy(features[i]["2"], data.targets)))
        held = [{tap: torch.stack([features[i][tap], other[tap].detach()]) for tap in other} for other in features]
        row = torch.stack([term.matrix(pair)[0, 1] for pair in held])
        sums.append(slope(net, row.sum()))
        matrix.append(row.detach())
    expected = slow_direction(name, torch.stack(matrix), torch.stack(score), torch.stack(sums))
    actual = direction_of(method_of(name, kernel=term), members, data)
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-10)


@every_rule
@pytest.mark.parametrize("space", ["logits", "softmax"])
def test_outputs_move_as_in_the_table_and_are_pulled_back(name, space, members, data):
    nets = [members.member(i) for i in range(MEMBERS)]
    outputs = [net(data.inputs) for net in nets]
    score = []
    for output in outputs:
        values = output.detach().requires_grad_()
        score.append(torch.autograd.grad(-20 * F.cross_entropy(values, data.targets), values)[0].flatten())
    points = [(output.softmax(-1) if space == "softmax" else output).detach().flatten() for output in outputs]
    matrix, sums = slow_rbf(points)
    if space == "softmax":  # chain rule with the whole Jacobian of the softmax
        jacobians = [
            torch.autograd.functional.jacobian(
                lambda values: values.reshape(6, 3).softmax(-1).flatten(), output.detach().flatten()
            )
            for output in outputs
        ]
        sums = torch.stack([jacobian.T @ each for jacobian, each in zip(jacobians, sums, strict=True)])
    moves = slow_direction(name, matrix, torch.stack(score), sums)
    expected = torch.stack(
        [slope(net, (output.flatten() * move).sum()) for net, output, move in zip(nets, outputs, moves, strict=True)]
    )
    actual = direction_of(method_of(name, space=space, data_size=20), members, data)
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-10)


@dataclass(frozen=True)
class Given:
    """A prior whose draws are known."""

    weights: dict

    def log_density(self, params):
        raise AssertionError("function space needs draws alone")

    def draw(self, params, generator):
        return self.weights


def test_prior_on_functions_adds_its_score(members, data):
    """Published spectral estimate from the fresh networks' outputs, at the members' own; bandwidth: median distance."""
    fresh = {name: torch.randn_like(each, requires_grad=True) for name, each in members.params().items()}
    with torch.no_grad():
        draws = members.run(fresh, data.inputs).logits.flatten(1).numpy()
        at = members.run(members.params(), data.inputs).logits.flatten(1).numpy()
    both = np.concatenate([draws, at])
    bandwidth = np.median(((both[:, None] - both[None]) ** 2).sum(-1))

    def kernel(x, y):
        return np.exp(-((x[:, None] - y[None]) ** 2).sum(-1) / (2 * bandwidth))

    values, vectors = np.linalg.eigh(kernel(draws, draws) + ETA * np.eye(MEMBERS))
    sums = (kernel(draws, draws)[..., None] * (draws[None] - draws[:, None])).sum(1) / bandwidth
    eigenfunctions = np.sqrt(MEMBERS) * kernel(at, draws) @ vectors / values
    coefficients = np.sqrt(MEMBERS) * vectors.T @ (sums / MEMBERS) / values[:, None]
    score = torch.from_numpy(eigenfunctions @ coefficients)

    plain, with_prior = (
        direction_of(WGD(space="logits", eta=ETA, prior=prior), members, data) for prior in (None, Given(fresh))
    )
    expected = torch.stack(
        [
            slope(net, -(net(data.inputs).flatten() * row).sum())
            for net, row in zip((members.member(i) for i in range(MEMBERS)), score, strict=True)
        ]
    )
    torch.testing.assert_close(with_prior - plain, expected, rtol=1e-8, atol=1e-10)
    info = WGD(space="logits", eta=ETA, prior=Given(fresh))(members, members.params(), data, {}, torch.Generator()).info
    torch.testing.assert_close(info["prior_score"], score.square().mean().sqrt())
    assert not info["prior_score"].requires_grad


def test_fresh_networks_leave_running_statistics_alone():
    members = Ensemble(lambda: nn.Sequential(nn.Linear(2, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)), MEMBERS, taps=[])
    twin = copy.deepcopy(members)
    data = Batch(torch.randn(6, 2), torch.randint(3, (6,)))
    for each, prior in ((members, Gaussian(1.0)), (twin, None)):
        SVGD(space="logits", prior=prior)(each, each.params(), data, {}, torch.Generator())
    for one, other in zip(members.buffers(), twin.buffers(), strict=True):
        assert torch.equal(one, other)


def test_fresh_networks_are_drawn_anew_at_every_step(members, data):
    generator, method = torch.Generator().manual_seed(0), SVGD(space="logits", prior=Gaussian(1.0))
    assert not torch.equal(*(direction_of(method, members, data, generator) for _ in range(2)))


def test_info_tells_the_mean_kernel_between_members(members, data):
    nets = [members.member(i) for i in range(MEMBERS)]
    matrix, _ = slow_rbf([flat(net) for net in nets])
    info = SVGD()(members, members.params(), data, {}, torch.Generator()).info
    assert float(info["kernel"]) == pytest.approx(float(matrix.sum() - MEMBERS) / (MEMBERS * (MEMBERS - 1)))
    losses = [F.cross_entropy(net(data.inputs), data.targets).detach() for net in nets]
    assert float(info["loss"]) == pytest.approx(float(sum(losses)) / MEMBERS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "rbf"}, r"expected kernel to be an RBF\(\) or a diversity term such as HECKA\(\), got 'rbf'"),
        ({"space": "function"}, "expected space to be one of weights, logits, softmax, got 'function'"),
        ({"kernel": HECKA(), "space": "logits"}, "expected an RBF kernel with space='logits', got a HECKA"),
        ({"data_size": 0}, "expected data_size > 0, got 0"),
        ({"noise": -1.0}, "expected noise > 0, got -1.0"),
        ({"eta": float("nan")}, "expected eta > 0, got nan"),
    ],
)
@pytest.mark.parametrize("method", [SVGD, WGD])
def test_settings_without_meaning_are_refused(method, settings, message):
    with pytest.raises(InputError, match=f"{method.__name__}: {message}"):
        method(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "kme"}, "expected estimator to be one of kde, sge, ssge, got 'kme'"),
        ({"estimator": "sge", "kernel": HECKA()}, "expected estimator='kde' with a HECKA kernel, got 'sge'"),
    ],
)
def test_estimators_without_meaning_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        WGD(**settings)


def test_values_have_no_softmax(members, data):
    with pytest.raises(InputError, match=r"class indices as targets with space='softmax', got torch\.float64"):
        direction_of(SVGD(space="softmax"), members, Batch(data.inputs, torch.randn(6, 3, dtype=torch.float64)))


def test_multiplier_widens_the_kernel(members, data):
    narrow, wide = (
        SVGD(kernel=RBF(multiplier))(members, members.params(), data, {}, torch.Generator()).info["kernel"]
        for multiplier in (1.0, 3.0)
    )
    assert float(wide) == pytest.approx(float(narrow) ** (1 / 3), rel=0.1)


class TwoPasses(WGD):
    """The same rule with two ways back, one for the fit and one for the kernel."""

    shares_gradients = True


@pytest.mark.parametrize("execution", ["vmap", "loop"])
@pytest.mark.parametrize("frozen", [False, True], ids=["all", "first layer frozen"])
def test_one_way_back_carries_both_parts(execution, frozen, data):
    def net():
        made = nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3), nn.Identity()).double()
        made[0].requires_grad_(not frozen)
        return made

    # The last two taps record one and the same tensor; that of a frozen layer hangs on no weight.
    members = Ensemble(net, MEMBERS, taps=["0", "2", "3"], execution=execution)
    actual, expected = (direction_of(method(kernel=HECKA()), members, data) for method in (WGD, TwoPasses))
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)
