"""What every method owes to whoever calls it, whatever it does inside, on an ensemble and on a hypernetwork.

A new method takes one line in METHODS: its settings, and its truth: a function of separate networks and a batch that
computes the direction of each from the formula, slowly (loops over members and pairs, one example's or one network's
gradient at a time).  Everything below then runs on it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.errors import InputError
from hecka.inference.independent import Independent
from hecka.inference.input_gradients import InputGradients, PrincipalAxes
from hecka.inference.posterior import Gaussian
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.weight_penalty import WeightPenalty
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.types import Batch, Method

TAPS = ("0", "2")
WEIGHTS = (1 / 3, 2 / 3)  # of two layers, growing linearly
N, STD, ETA = 40, 0.5, 0.05


# ---------------------------------------------------------------------------------------------------- slow truths


def flat(tensors):
    return torch.cat([each.reshape(-1) for each in tensors])


def slope(net, value):
    """The gradient of ``value`` with respect to one network's weights, flat."""
    weights = list(net.parameters())
    return flat(torch.autograd.grad(value, weights, retain_graph=True, materialize_grads=True))


def fit_of(output, targets):
    if targets.is_floating_point():
        return F.mse_loss(output.squeeze(-1), targets)
    return F.cross_entropy(output, targets)


def layers_of(net, inputs):
    return {"0": net[0](inputs), "2": net(inputs)}


def riesz(cosine):
    return 1.0025 / (torch.acos(cosine / 1.065) ** 2 + 0.0025)


def cosine_gram(features):
    return F.normalize(features) @ F.normalize(features).T


def linear_gram(features):
    """Its diagonal counts, but has no gradient, as published."""
    gram = features @ features.T
    return gram - gram.diag().diag() + gram.diag().diag().detach()


def rbf_gram(features):
    distances = torch.stack([torch.stack([(a - b).square().sum() for b in features]) for a in features])
    bandwidth = float(np.median(distances.detach().numpy())) / (2 * math.log(len(features) + 1))
    return torch.exp(-distances / (2 * bandwidth))


def slow_pair(one, other, value, weights, gram=cosine_gram):
    """Weighted sum over layers of a function of the CKA of two networks' features."""
    total = 0
    for tap, weight in weights.items():
        count = len(one[tap])
        centre = torch.eye(count, dtype=torch.float64) - 1 / count
        first, second = (centre @ gram(each[tap]) @ centre for each in (one, other))
        total = total + weight * value(F.cosine_similarity(first.flatten(), second.flatten(), 0))
    return total


def slow_energy(layers, value, weights):
    count = len(layers)
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    return sum(slow_pair(layers[i], layers[j], value, weights) for i, j in pairs) / len(pairs)


def slow_independent(nets, batch, generator):
    return [slope(net, fit_of(net(batch.inputs), batch.targets)) for net in nets]


def slow_penalty(nets, batch, generator, strength):
    """Plain training and a mean square for every tensor, over its entries and the networks."""
    loss = sum(fit_of(net(batch.inputs), batch.targets) for net in nets)
    for name, _ in nets[0].named_parameters():
        loss = loss + strength / 2 * torch.stack([net.get_parameter(name) for net in nets]).square().mean()
    return [slope(net, loss) for net in nets]


def slow_repulsive(nets, batch, generator, gamma, weights, anchor=False):
    """The paper's loss with beta 1 and beta_in M; the anchor's features are held."""
    loss = sum(fit_of(net(batch.inputs), batch.targets) for net in nets)
    for inputs in (batch.inputs, batch.outliers):
        layers = [layers_of(net, inputs) for net in nets]
        if anchor:
            layers[0] = {tap: each.detach() for tap, each in layers[0].items()}
        loss = loss + gamma * slow_energy(layers, riesz, weights)
    mean = sum(net(batch.outliers).softmax(-1) for net in nets) / len(nets)
    loss = loss + (mean * mean.log()).sum(-1).mean()
    return [slope(net, loss) for net in nets]


def slow_rbf(points):
    """Kernel matrix and r_i = sum_j grad_i k(x_i, x_j), pair by pair."""
    distances = torch.stack([torch.stack([(a - b).square().sum() for b in points]) for a in points])
    rate = math.log(len(points) + 1) / float(np.median(distances.numpy()))
    matrix = torch.exp(-rate * distances)
    sums = [
        sum(-2 * rate * matrix[i, j] * (points[i] - points[j]) for j in range(len(points))) for i in range(len(points))
    ]
    return matrix, torch.stack(sums)


def slow_moves(rule, matrix, score, sums):
    """The descent directions of the published table, member by member; ``score`` climbs."""
    count = len(matrix)
    inverse = torch.linalg.inv(matrix + ETA * torch.eye(count, dtype=torch.float64))
    rows = []
    for i in range(count):
        if rule == "svgd":
            rows.append(sum(matrix[i, j] * score[j] for j in range(count)) / count - sums[i] / count)
        elif rule == "kde":
            rows.append(score[i] - sums[i] / matrix[i].sum())
        elif rule == "sge":
            rows.append(score[i] - inverse[i] @ sums)
        else:
            rows.append(score[i] - (matrix @ inverse @ inverse)[i] @ sums)
    return -torch.stack(rows)


def slow_weights(nets, batch, generator, rule):
    """The posterior of N observations with a Gaussian prior; distances of flattened weights."""
    points = [flat(net.parameters()).detach() for net in nets]
    score = [
        slope(net, -N * fit_of(net(batch.inputs), batch.targets)) - point / STD**2
        for net, point in zip(nets, points, strict=True)
    ]
    matrix, sums = slow_rbf(points)
    return slow_moves(rule, matrix, torch.stack(score), sums)


def slow_features(nets, batch, generator, rule, value, gram=cosine_gram):
    """Each row of the kernel has a gradient of its own, with the other members held."""
    weights = dict(zip(TAPS, WEIGHTS, strict=True))
    layers = [layers_of(net, batch.inputs) for net in nets]
    held = [{tap: each.detach() for tap, each in one.items()} for one in layers]
    rows = [torch.stack([slow_pair(one, other, value, weights, gram) for other in held]) for one in layers]
    score = [slope(net, -fit_of(one["2"], batch.targets)) for net, one in zip(nets, layers, strict=True)]
    sums = [slope(net, row.sum()) for net, row in zip(nets, rows, strict=True)]
    return slow_moves(rule, torch.stack(rows).detach(), torch.stack(score), torch.stack(sums))


def slow_outputs(nets, batch, generator, rule, softmax=False, prior=False):
    """Outputs are the points; the way back to the weights is the transpose of each network's Jacobian."""
    fresh = []
    if prior:
        shapes = {name: each.shape for name, each in nets[0].named_parameters()}
        draws = {
            name: STD * torch.randn(len(nets), *shape, generator=generator, dtype=torch.float64)
            for name, shape in shapes.items()
        }
        for i in range(len(nets)):
            weights = {name: each[i] for name, each in draws.items()}
            fresh.append(torch.func.functional_call(nets[0], weights, (batch.inputs,)).detach().flatten())
    outputs = [net(batch.inputs) for net in nets]
    values = [output.detach().requires_grad_() for output in outputs]
    score = [torch.autograd.grad(-N * fit_of(value, batch.targets), value)[0].flatten() for value in values]
    points = [(value.softmax(-1) if softmax else value).detach().flatten() for value in values]
    matrix, sums = slow_rbf(points)
    if softmax:
        sums = torch.stack(
            [
                torch.autograd.functional.jacobian(lambda v: v.softmax(-1), value.detach()).reshape(each.numel(), -1).T
                @ each
                for value, each in zip(values, sums, strict=True)
            ]
        )
    if prior:
        score = [
            one + p for one, p in zip(score, slow_ssge(fresh, [v.detach().flatten() for v in values]), strict=True)
        ]
    moves = slow_moves(rule, matrix, torch.stack(score), sums)
    return [slope(net, output.flatten() @ move) for net, output, move in zip(nets, outputs, moves, strict=True)]


def slow_ssge(draws, at):
    """The published spectral estimate from ``draws``, at other points; bandwidth: median distance of all together."""
    draws, at = torch.stack(draws).numpy(), torch.stack(at).numpy()
    both = np.concatenate([draws, at])
    width = np.median(((both[:, None] - both[None]) ** 2).sum(-1))

    def kernel(x, y):
        return np.exp(-((x[:, None] - y[None]) ** 2).sum(-1) / (2 * width))

    values, vectors = np.linalg.eigh(kernel(draws, draws) + ETA * np.eye(len(draws)))
    sums = (kernel(draws, draws)[..., None] * (draws[None] - draws[:, None])).sum(1) / width
    return torch.from_numpy(kernel(at, draws) @ vectors / values @ (vectors.T @ sums / values[:, None]))


def slow_input_gradients(nets, batch, generator, axes):
    """Directions example by example, kernels pair by pair; the right side and the bandwidths are constants."""
    count, size = len(nets), len(batch.inputs)
    units = []
    for net in nets:
        for x, target in zip(batch.inputs, batch.targets, strict=True):
            x = x.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(net(x[None])[0, target], x, create_graph=True)
            rotated = axes.directions.T @ gradient
            units.append(rotated / rotated.norm() * axes.deviations)
    units = torch.stack(units).reshape(count, size, -1)
    held, loss = units.detach(), sum(fit_of(net(batch.inputs), batch.targets) for net in nets)
    for b in range(size):
        for i in range(count):
            kernel = 0
            for j in range(count):
                width = np.median([float((held[k, b] - held[j, b]).square().sum()) for k in range(count)])
                kernel = kernel + torch.exp(-(units[i, b] - held[j, b]).square().sum() * math.log(count) / width)
            loss = loss + torch.log(kernel / count) / size
    return [slope(net, loss) for net in nets]


@dataclass(frozen=True)
class Case:
    """A method, its truth, and which layers are recorded."""

    method: Method
    truth: Callable
    taps: tuple[str, ...] = TAPS
    values: bool = True  # whether the method also learns values


LAYERS = dict(zip(TAPS, WEIGHTS, strict=True))
AXES = PrincipalAxes.of(torch.randn(20, 3, generator=torch.Generator().manual_seed(5), dtype=torch.float64))
FIRST = float(torch.tensor(-2.0).exp())  # gamma="auto" starts at exp(-2), in single precision
POSTERIOR = {"data_size": N, "prior": Gaussian(STD), "eta": ETA}
COUNTED = {"data_size": N, "eta": ETA}

METHODS = {
    "independent": Case(Independent(), slow_independent),
    "repulsive": Case(Repulsive(gamma=0.5), partial(slow_repulsive, gamma=0.5, weights=LAYERS)),
    "repulsive-last-layer": Case(
        Repulsive(gamma=0.5), partial(slow_repulsive, gamma=0.5, weights={"2": 1.0}), taps=("2",)
    ),
    "repulsive-auto": Case(Repulsive(), partial(slow_repulsive, gamma=FIRST, weights=LAYERS, anchor=True)),
    "weight-penalty": Case(WeightPenalty(Independent(), 0.7), partial(slow_penalty, strength=0.7)),
    "input-gradients": Case(InputGradients(AXES), partial(slow_input_gradients, axes=AXES)),
    "svgd-cka": Case(SVGD(kernel=PairwiseCKA()), partial(slow_features, rule="svgd", value=lambda cosine: cosine)),
    "svgd-he": Case(SVGD(kernel=HECKA()), partial(slow_features, rule="svgd", value=riesz)),
    "svgd-he-linear": Case(
        SVGD(kernel=HECKA(kernel="linear")), partial(slow_features, rule="svgd", value=riesz, gram=linear_gram)
    ),
    "svgd-he-rbf": Case(
        SVGD(kernel=HECKA(kernel="rbf")), partial(slow_features, rule="svgd", value=riesz, gram=rbf_gram)
    ),
    "kde-wgd-cka": Case(WGD(kernel=PairwiseCKA()), partial(slow_features, rule="kde", value=lambda cosine: cosine)),
    "kde-wgd-he": Case(WGD(kernel=HECKA()), partial(slow_features, rule="kde", value=riesz)),
}
for rule in ("svgd", "kde", "sge", "ssge"):
    make = SVGD if rule == "svgd" else partial(WGD, estimator=rule)
    name = "svgd" if rule == "svgd" else f"{rule}-wgd"
    METHODS |= {
        f"{name}-weights": Case(make(**POSTERIOR), partial(slow_weights, rule=rule)),
        f"{name}-logits": Case(make(space="logits", **COUNTED), partial(slow_outputs, rule=rule)),
        f"{name}-logits-prior": Case(make(space="logits", **POSTERIOR), partial(slow_outputs, rule=rule, prior=True)),
        f"{name}-softmax": Case(
            make(space="softmax", **COUNTED), partial(slow_outputs, rule=rule, softmax=True), values=False
        ),
    }

# ------------------------------------------------------------------------------------------------- what is owed

# A hypernetwork's members share their weights, so that none of them can be the anchor of gamma="auto".
PAIRS = [
    (name, kind)
    for kind in (Ensemble, Hypernetwork)
    for name in METHODS
    if (name, kind) != ("repulsive-auto", Hypernetwork)
]
everywhere = pytest.mark.parametrize(("name", "kind"), PAIRS, ids=[f"{name}-{kind.__name__}" for name, kind in PAIRS])


def make_net(outputs=4):
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, outputs))


def make(name, kind, members=4, outputs=4, dtype=torch.float64, execution="auto"):
    """Members, and the parameters of one step; equal at every call."""
    made = kind(partial(make_net, outputs), members=members, taps=METHODS[name].taps, execution=execution).to(dtype)
    return made, made.eval().params()


def batch(dtype=torch.float64, values=False):
    generator = torch.Generator().manual_seed(1)
    inputs, outliers = (torch.randn(8, 3, generator=generator, dtype=dtype) for _ in range(2))
    targets = inputs.sum(-1) if values else torch.randint(4, (8,), generator=generator)
    return Batch(inputs, targets, 3 * outliers)


def step(name, members, params, data=None, state=None):
    method = METHODS[name].method
    state = method.start(members) if state is None else state
    return method(members, params, batch() if data is None else data, state, torch.Generator().manual_seed(2))


def assert_same(one, other, **tolerance):
    assert list(one) == list(other)
    for name in one:
        torch.testing.assert_close(one[name], other[name], msg=lambda text, name=name: f"{name}: {text}", **tolerance)


@everywhere
def test_the_direction_is_that_of_the_slow_truth(name, kind):
    members, params = make(name, kind)
    nets = []
    for member in range(4):
        nets.append(make_net().double())
        nets[-1].load_state_dict({key: each[member].detach() for key, each in params.items()})
    expected = METHODS[name].truth(nets, batch(), torch.Generator().manual_seed(2))
    actual = torch.cat([each.reshape(4, -1) for each in step(name, members, params).direction.values()], 1)
    torch.testing.assert_close(actual, torch.stack(list(expected)), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("values", [False, True], ids=["classes", "values"])
@everywhere
def test_direction_is_finite_and_shaped_like_the_parameters(name, kind, values, dtype):
    if values and not METHODS[name].values:
        with pytest.raises(InputError, match="expected class indices"):
            step(name, *make(name, kind, outputs=1, dtype=dtype), batch(dtype, values))
        return
    axes = getattr(METHODS[name].method, "axes", None)
    members, params = make(name, kind, outputs=1 if values else 4, dtype=dtype)
    done = step(name, members, params, batch(dtype, values))
    for key, parameter in params.items():
        direction = done.direction[key]
        assert (direction.shape, direction.dtype) == (parameter.shape, dtype)
        assert direction.isfinite().all()
        # Input gradients do not change with the last bias; all else moves.
        assert direction.any() or axes is not None
        assert not direction.requires_grad
    assert all(parameter.grad is None for parameter in members.parameters())


@everywhere
def test_info_and_state_are_detached_and_keep_their_names(name, kind):
    members, params = make(name, kind)
    state = METHODS[name].method.start(members)
    for _ in range(2):
        done = step(name, members, params, state=state)
        assert {"loss"} <= set(done.info)
        assert all(value.dim() == 0 and not value.requires_grad for value in done.info.values())
        assert set(done.state) == set(state)
        assert not any(value.requires_grad for value in done.state.values())
        state = done.state


@everywhere
def test_permuted_members_move_in_permuted_directions(name, kind):
    # gamma="auto" makes an anchor of member 0, so there that one keeps its place.
    order = [0, 3, 1, 2] if name == "repulsive-auto" else [2, 0, 3, 1]
    members, params = make(name, kind)
    moved = {key: value.detach()[order].requires_grad_() for key, value in params.items()}
    expected = {key: value[order] for key, value in step(name, members, params).direction.items()}
    assert_same(step(name, members, moved).direction, expected, rtol=1e-8, atol=1e-9)


@everywhere
def test_vmapped_equals_looped(name, kind):
    vmapped, looped = (step(name, *make(name, kind, execution=mode)).direction for mode in ("vmap", "loop"))
    assert_same(vmapped, looped, rtol=1e-8, atol=1e-9)


@everywhere
def test_only_the_generator_draws(name, kind):
    torch.manual_seed(5)
    members, params = make(name, kind)
    before = torch.random.get_rng_state()
    first = step(name, members, params)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(6)
    assert_same(first.direction, step(name, members, params).direction, rtol=0, atol=0)


@everywhere
def test_one_member_climbs_its_own_posterior(name, kind):
    """Plain training, or MAP where there is a prior on weights; one that is on functions needs several draws."""
    method = METHODS[name].method
    data = replace(batch(), outliers=None)
    members, params = make(name, kind, members=1)
    expected = step("independent", members, params, data).direction
    scale = getattr(method, "data_size", None) or 1
    if name.startswith("svgd-he"):  # k(theta, theta), the energy of coinciding members
        scale = 1.0025 / (math.acos(1 / 1.065) ** 2 + 0.0025)
    expected = {key: scale * value for key, value in expected.items()}
    if name == "weight-penalty":
        expected = {key: value + 0.7 * params[key].detach() / value.numel() for key, value in expected.items()}
    if getattr(method, "prior", None) and method.space == "weights":
        expected = {key: value + params[key].detach() / STD**2 for key, value in expected.items()}
    assert_same(step(name, members, params, data).direction, expected, rtol=1e-6, atol=1e-9)


@everywhere
def test_half_precision_autocast_goes_nearly_the_same_way(name, kind):
    # Vmapped, a CPU would go on in single precision.
    members, params = make(name, kind, dtype=torch.float32, execution="loop")
    full = step(name, members, params, batch(torch.float32)).direction
    with torch.autocast("cpu", torch.bfloat16):
        assert members.run(params, batch(torch.float32).inputs).logits.dtype == torch.bfloat16
        half = step(name, members, params, batch(torch.float32))
    one, other = (torch.cat([each.flatten() for each in direction.values()]) for direction in (full, half.direction))
    assert {other.dtype, *(value.dtype for value in half.info.values())} == {torch.float32}
    assert torch.cosine_similarity(one, other, dim=0) > 0.99


# Reading a number, finding where something is, checking a solve's outcome, and what torch.tensor(data) calls.
WAITING = {
    torch.ops.aten._local_scalar_dense,
    torch.ops.aten.nonzero,
    torch.ops.aten._linalg_check_errors,
    torch.ops.aten.lift_fresh,
}


class NoWait(TorchDispatchMode):
    """Refuses whatever would make a GPU wait for the host or the host for a GPU."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function.overloadpacket not in WAITING, f"{function} in a step"
        return function(*args, **(kwargs or {}))


@everywhere
def test_nothing_waits_for_the_device(name, kind):
    (members, params), method = make(name, kind), METHODS[name].method
    data, state, generator = batch(), method.start(members), torch.Generator()
    with NoWait():
        method(members, params, data, state, generator)


def test_automatic_gamma_is_refused_where_no_member_can_be_left_alone():
    members, _ = make("repulsive-auto", Hypernetwork)
    with pytest.raises(InputError, match="in a Hypernetwork all members share their trained weights"):
        METHODS["repulsive-auto"].method.start(members)


@pytest.mark.parametrize(
    "wait", [lambda x: x.sum().item(), lambda x: torch.linalg.solve(x, x)], ids=["item", "checked solve"]
)
def test_a_wait_is_found(wait):
    with NoWait(), pytest.raises(AssertionError, match="in a step"):
        wait(torch.eye(2))
