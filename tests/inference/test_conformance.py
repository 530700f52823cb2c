"""What every method owes to whoever calls it, whatever it does inside."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.inference.independent import Independent
from hecka.inference.posterior import Gaussian
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.types import Batch

POSTERIOR = {"data_size": 40, "prior": Gaussian(1.0)}
METHODS = {
    "independent": Independent(),
    "repulsive": Repulsive(gamma=0.5),
    "repulsive-auto": Repulsive(),
    "svgd-rbf": SVGD(),
    "svgd-cka": SVGD(kernel=PairwiseCKA()),
    "svgd-he": SVGD(kernel=HECKA()),
    "svgd-posterior": SVGD(**POSTERIOR),
    "fsvgd": SVGD(space="logits", **POSTERIOR),
    "fsvgd-softmax": SVGD(space="softmax"),
    "kde-wgd": WGD(),
    "kde-wgd-he": WGD(kernel=HECKA()),
    "sge-wgd": WGD(estimator="sge"),
    "ssge-wgd": WGD(estimator="ssge", **POSTERIOR),
    "kde-fwgd": WGD(space="logits"),
    "sge-fwgd": WGD(estimator="sge", space="logits", **POSTERIOR),
    "ssge-fwgd": WGD(estimator="ssge", space="softmax", **POSTERIOR),
}
every_method = pytest.mark.parametrize("name", METHODS)


def ensemble(members=4, outputs=4, dtype=torch.float64, execution="auto"):
    return Ensemble(
        lambda: nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, outputs)),
        members,
        taps=["0", "2"],
        execution=execution,
    ).to(dtype)


def batch(dtype=torch.float64, values=False):
    generator = torch.Generator().manual_seed(1)
    inputs, outliers = (torch.randn(8, 3, generator=generator, dtype=dtype) for _ in range(2))
    targets = inputs.sum(-1) if values else torch.randint(4, (8,), generator=generator)
    return Batch(inputs, targets, 3 * outliers)


def step(name, members, params=None, data=None, state=None):
    method = METHODS[name]
    params = members.params() if params is None else params
    state = method.start(members) if state is None else state
    return method(members, params, batch() if data is None else data, state, torch.Generator().manual_seed(2))


def assert_same(one, other, **tolerance):
    assert list(one) == list(other)
    for name in one:
        torch.testing.assert_close(one[name], other[name], msg=lambda text, name=name: f"{name}: {text}", **tolerance)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param(name, values, id=f"{name}-{'values' if values else 'classes'}")
        for name, method in METHODS.items()
        for values in (False, True)
        if not (values and getattr(method, "space", None) == "softmax")
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_direction_is_finite_and_shaped_like_the_parameters(name, values, dtype):
    members = ensemble(outputs=1 if values else 4, dtype=dtype)
    done = step(name, members, data=batch(dtype, values))
    for key, parameter in members.params().items():
        direction = done.direction[key]
        assert (direction.shape, direction.dtype) == (parameter.shape, dtype)
        assert direction.isfinite().all()
        assert direction.any()
        assert not direction.requires_grad
        assert parameter.grad is None


@every_method
def test_info_and_state_are_detached_and_keep_their_names(name):
    members = ensemble()
    state = METHODS[name].start(members)
    for _ in range(2):
        done = step(name, members, state=state)
        assert {"loss"} <= set(done.info)
        assert all(value.dim() == 0 and not value.requires_grad for value in done.info.values())
        assert set(done.state) == set(state)
        assert not any(value.requires_grad for value in done.state.values())
        state = done.state


@every_method
def test_permuted_members_move_in_permuted_directions(name):
    # gamma="auto" makes an anchor of member 0, so there that one keeps its place.
    order = [0, 3, 1, 2] if name == "repulsive-auto" else [2, 0, 3, 1]
    members = ensemble()
    params = members.params()
    moved = {key: value.detach()[order].requires_grad_() for key, value in params.items()}
    expected = {key: value[order] for key, value in step(name, members).direction.items()}
    assert_same(step(name, members, moved).direction, expected, rtol=1e-8, atol=1e-9)


@every_method
def test_vmapped_equals_looped(name):
    vmapped, looped = (step(name, ensemble(execution=mode)).direction for mode in ("vmap", "loop"))
    assert_same(vmapped, looped, rtol=1e-8, atol=1e-9)


@every_method
def test_only_the_generator_draws(name):
    torch.manual_seed(5)
    members = ensemble()
    before = torch.random.get_rng_state()
    first = step(name, members)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(6)
    assert_same(first.direction, step(name, members).direction, rtol=0, atol=0)


@every_method
def test_computed_parameters_are_as_good_as_stored_ones(name):
    members = ensemble()
    computed = {key: value * 1 for key, value in members.params().items()}
    assert_same(step(name, members, computed).direction, step(name, members).direction)


def constant_of(name):
    """k(theta, theta), by which SVGD scales the step of a single member."""
    if name != "svgd-he":
        return 1.0
    return (1 + 0.0025) / (math.acos(1 / (1 + 0.065)) ** 2 + 0.0025)  # two layers' weights sum to 1


@pytest.mark.parametrize("name", [name for name in METHODS if "repulsive" not in name])
def test_one_member_is_plain_training(name, monkeypatch):
    """Climbs the likelihood alone; the prior's part is the next file's."""
    members, data = ensemble(members=1), replace(batch(), outliers=None)
    if hasattr(METHODS[name], "prior"):
        monkeypatch.setitem(METHODS, name, replace(METHODS[name], prior=None))
    scale = constant_of(name) * (getattr(METHODS[name], "data_size", None) or 1)
    plain = step("independent", members, data=data).direction
    expected = {key: scale * value for key, value in plain.items()}
    assert_same(step(name, members, data=data).direction, expected, rtol=1e-6, atol=1e-9)


@every_method
def test_half_precision_autocast_goes_nearly_the_same_way(name):
    members = ensemble(dtype=torch.float32, execution="loop")  # vmapped, a CPU would go on in single precision
    full = step(name, members, data=batch(torch.float32)).direction
    with torch.autocast("cpu", torch.bfloat16):
        assert members(batch(torch.float32).inputs).logits.dtype == torch.bfloat16
        half = step(name, members, data=batch(torch.float32))
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


@every_method
def test_nothing_waits_for_the_device(name):
    members, method = ensemble(), METHODS[name]
    params, data, state, generator = members.params(), batch(), method.start(members), torch.Generator()
    with NoWait():
        method(members, params, data, state, generator)


@pytest.mark.parametrize(
    "wait", [lambda x: x.sum().item(), lambda x: torch.linalg.solve(x, x)], ids=["item", "checked solve"]
)
def test_a_wait_is_found(wait):
    with NoWait(), pytest.raises(AssertionError, match="in a step"):
        wait(torch.eye(2))
