"""Repulsion of input gradients against its formula, example by example and pair by pair, and finite differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from hecka.errors import InputError
from hecka.inference.independent import Independent
from hecka.inference.input_gradients import InputGradients, PrincipalAxes
from hecka.members.ensemble import Ensemble
from hecka.networks.lenet import LeNet5
from hecka.types import Batch

AXES = PrincipalAxes.of(torch.randn(20, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64))
every_axes = pytest.mark.parametrize("axes", [None, AXES], ids=["plain", "principal"])


def slow_directions(net, batch, axes):
    """u of every example, (B, D), each from a pass of its own."""
    rows = []
    for x, target in zip(batch.inputs, batch.targets, strict=True):
        x = x.clone().requires_grad_()
        output = net(x[None])[0]
        answer = output.sum() if batch.targets.is_floating_point() else output[target]
        (slope,) = torch.autograd.grad(answer, x, create_graph=True)
        slope = slope if axes is None else axes.directions.T @ slope
        unit = slope / slope.norm()
        rows.append(unit if axes is None else unit * axes.deviations)
    return torch.stack(rows)


def slow_loss(nets, held_nets, batch, axes):
    """The formula; directions and bandwidths of ``held_nets`` are constants."""
    values = batch.targets.is_floating_point()
    loss = sum((F.mse_loss if values else F.cross_entropy)(net(batch.inputs), batch.targets) for net in nets)
    own = [slow_directions(net, batch, axes) for net in nets]
    held = [slow_directions(net, batch, axes).detach() for net in held_nets]
    count, size = len(nets), len(batch.inputs)
    for b in range(size):
        widths = [
            float(np.median([(held[i][b] - held[j][b]).square().sum() for i in range(count)])) / math.log(count)
            for j in range(count)
        ]
        for i in range(count):
            kernel = [torch.exp(-(own[i][b] - held[j][b]).square().sum() / widths[j]) for j in range(count)]
            loss = loss + torch.log(sum(kernel) / count) / size
    return loss


def step_of(method, nets, batch, execution="auto"):
    ensemble = Ensemble.from_modules(nets, taps=[], execution=execution)
    return method(ensemble, ensemble.params(), batch, {}, torch.Generator())


@every_axes
@pytest.mark.parametrize("count", [2, 3])
def test_the_direction_is_the_gradient_of_the_formula(modules, batch, execution, axes, count):
    nets = modules[:count]
    gradients = [
        torch.autograd.grad(slow_loss(nets, nets, batch, axes), list(net.parameters()), materialize_grads=True)
        for net in nets
    ]
    direction = step_of(InputGradients(axes), nets, batch, execution).direction
    for name, *expected in zip(direction, *gradients, strict=True):
        torch.testing.assert_close(direction[name], torch.stack(expected), rtol=1e-8, atol=1e-10)


@every_axes
def test_the_direction_agrees_with_finite_differences(modules, batch, axes):
    """Along a random line through all weights at once; what is held stays where it was."""
    direction = step_of(InputGradients(axes), modules, batch).direction
    line = {name: torch.randn_like(each) for name, each in direction.items()}
    weights = {name: torch.stack([net.get_parameter(name).detach() for net in modules]) for name in line}

    def loss(length):
        moved = Ensemble.from_modules(modules, taps=[])
        moved.load_state_dict({f"net.{name}": weights[name] + length * line[name] for name in line})
        return slow_loss([moved.member(i) for i in range(3)], modules, batch, axes).item()

    step = 1e-5
    expected = (loss(step) - loss(-step)) / (2 * step)
    assert float(sum((direction[name] * line[name]).sum() for name in line)) == pytest.approx(expected, rel=1e-5)


def test_the_reported_kernel_is_the_mean_over_examples_and_pairs(modules, batch):
    own = [slow_directions(net, batch, None).detach() for net in modules]
    kernel = []
    for b in range(10):
        for j in range(3):
            distances = [float((own[i][b] - own[j][b]).square().sum()) for i in range(3)]
            width = float(np.median(distances)) / math.log(3)
            kernel += [math.exp(-distances[i] / width) for i in range(3) if i != j]
    assert step_of(InputGradients(), modules, batch).info["kernel"].item() == pytest.approx(sum(kernel) / len(kernel))


def test_members_come_to_look_at_different_things():
    """Two classes that either of two inputs tells apart: repelled members end with gradients further apart."""
    inputs = torch.sign(torch.randn(40, 1, generator=torch.Generator().manual_seed(1))).expand(40, 2).contiguous()
    batch = Batch(inputs, (inputs[:, 0] > 0).long())
    spread = {}
    for method in (Independent(), InputGradients()):
        members = Ensemble(lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), 4, taps=[], seed=0)
        optimizer = torch.optim.Adam(members.parameters(), lr=0.01)
        for _ in range(150):
            optimizer.zero_grad()
            params = members.params()
            members.pull_back(params, method(members, params, batch, {}, torch.Generator()).direction)
            optimizer.step()
        assert (members.predict(inputs).probs.argmax(-1) == batch.targets).all()
        nets = [members.member(i) for i in range(4)]
        directions = torch.stack([slow_directions(net, batch, None).detach() for net in nets])
        spread[type(method)] = directions.var(0).sum(-1).mean().item()
    assert spread[InputGradients] > 2 * spread[Independent]


def test_dead_and_equal_members_make_no_nan(modules, batch):
    """A member that is flat has no direction, and two of three alike have a median distance of 0."""
    with torch.no_grad():
        for parameter in modules[0].parameters():
            parameter.zero_()
        modules[1].load_state_dict(modules[2].state_dict())
    params = {
        name: torch.stack([net.get_parameter(name).detach() for net in modules]).requires_grad_()
        for name, _ in modules[0].named_parameters()
    }
    ensemble = Ensemble.from_modules(modules[:1] + modules[2:], taps=[])
    step = InputGradients()(ensemble, params, replace(batch), {}, torch.Generator())
    assert all(each.isfinite().all() for each in step.direction.values())
    assert step.info["kernel"].isfinite()


def test_images_have_gradients_too(execution):
    data = Batch(torch.randn(2, 1, 28, 28), torch.tensor([1, 2]))
    axes = PrincipalAxes.of(torch.randn(9, 1, 28, 28))
    members = Ensemble(LeNet5, 2, taps=[], execution=execution)
    step = InputGradients(axes)(members, members.params(), data, {}, torch.Generator())
    assert all(each.any() and each.isfinite().all() for each in step.direction.values())


def test_axes_are_those_of_the_inputs_covariance():
    inputs = torch.randn(50, 2, 3, dtype=torch.float64) * torch.tensor([1.0, 2.0, 3.0])
    axes = PrincipalAxes.of(inputs)
    covariance = np.cov(inputs.reshape(50, 6).numpy(), rowvar=False, bias=True)
    rebuilt = axes.directions @ torch.diag(axes.deviations**2) @ axes.directions.T
    np.testing.assert_allclose(rebuilt, covariance, atol=1e-12)
    np.testing.assert_allclose(axes.directions.T @ axes.directions, np.eye(6), atol=1e-12)
    assert repr(PrincipalAxes.of(2 * inputs)) != repr(axes)


def test_inputs_without_gradient_are_refused():
    members = Ensemble(lambda: nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(8, 3)), 2, taps=[])
    with pytest.raises(InputError, match=r"expected floating inputs, .* got torch\.int64; use Repulsive"):
        step_of(InputGradients(), [members.member(0)], Batch(torch.ones(4, 2, dtype=torch.int64), torch.arange(4) % 3))
