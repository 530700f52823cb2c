"""The bound against singular values of dense matrices, of convolutions too."""

import copy
import pickle

import pytest
import torch
from torch import nn

from hecka.errors import InputError
from hecka.members.ensemble import Ensemble
from hecka.networks.spectral import DIRECTION, spectral_bound, stretch
from hecka.networks.unit_variance import UnitConv2d, UnitLinear

LAYERS = {
    "linear": (lambda: nn.Linear(7, 5), (7,)),
    "unit linear": (lambda: UnitLinear(7, 5, gain=3.0), (7,)),
    "convolution": (lambda: nn.Conv2d(2, 3, 3, padding=1), (2, 6, 5)),
    "strided": (lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1), (2, 7, 7)),
    "no bias": (lambda: nn.Conv2d(2, 3, 3, bias=False), (2, 6, 5)),
    "grouped, dilated": (lambda: nn.Conv2d(4, 4, 3, groups=2, dilation=2), (4, 6, 6)),
    "circular": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (2, 5, 5)),
    "unit convolution": (lambda: UnitConv2d(2, 3, 3, gain=3.0), (2, 6, 5)),
    "kernel 1": (lambda: nn.Conv2d(5, 4, 1, stride=2), (5, 5, 5)),
    "sequence": (lambda: nn.Conv1d(2, 3, 3), (2, 9)),
}


@pytest.fixture(autouse=True)
def _one_seed():
    torch.manual_seed(0)


@pytest.fixture(params=LAYERS)
def layer_and_shape(request):
    make, shape = LAYERS[request.param]
    return make().double(), shape


def singular_value(layer, shape):
    """The largest one of the layer's whole operator, written out as a matrix column by column."""
    unit_inputs = torch.eye(torch.Size(shape).numel(), dtype=torch.float64).reshape(-1, *shape)
    with torch.no_grad():
        columns = (layer(unit_inputs) - layer(torch.zeros(1, *shape, dtype=torch.float64))).flatten(1)
    return torch.linalg.svdvals(columns)[0].item()


def converge(layer, shape, passes=300):
    layer.train()
    for _ in range(passes):
        layer(torch.zeros(1, *shape, dtype=torch.float64))
    return layer.eval()


def test_a_layer_over_the_bound_is_brought_down_to_it(layer_and_shape):
    layer, shape = layer_and_shape
    bound = 0.4 * singular_value(layer, shape)
    spectral_bound(layer, bound, torch.zeros(2, *shape, dtype=torch.float64))
    assert singular_value(converge(layer, shape), shape) == pytest.approx(bound, rel=1e-4)


def test_the_start_is_close_before_any_training(layer_and_shape):
    layer, shape = layer_and_shape
    sigma = singular_value(layer, shape)
    spectral_bound(layer, 1.0, torch.zeros(2, *shape, dtype=torch.float64))
    assert 0.9 * sigma < stretch(layer, layer.get_buffer(DIRECTION)).item() <= sigma * (1 + 1e-9)


def test_a_layer_below_the_bound_is_left_alone(layer_and_shape):
    layer, shape = layer_and_shape
    inputs = torch.randn(3, *shape, dtype=torch.float64)
    expected = layer(inputs)
    spectral_bound(layer, 1.01 * singular_value(layer, shape), inputs)
    assert torch.equal(layer(inputs), expected)


def test_the_bias_is_not_scaled():
    layer = spectral_bound(nn.Linear(3, 2), 1e-3)
    assert torch.equal(layer(torch.zeros(1, 3))[0], layer.bias)


def test_the_gradient_is_that_of_the_divided_weight():
    layer, inputs = nn.Linear(4, 3).double(), torch.randn(6, 4, dtype=torch.float64)
    weight = layer.weight.detach().clone().requires_grad_()
    bounded = weight / (torch.linalg.matrix_norm(weight, 2) / 0.1)
    (inputs @ bounded.T + layer.bias.detach()).sin().sum().backward()
    converge(spectral_bound(layer, 0.1), (4,))(inputs).sin().sum().backward()
    torch.testing.assert_close(layer.weight.grad, weight.grad)


def test_it_follows_a_growing_weight_in_training_only():
    layer = spectral_bound(nn.Linear(4, 4).double(), 1.0)
    with torch.no_grad():
        layer.weight.copy_(torch.diag(torch.tensor([9.0, 1, 1, 1])))
    held = layer.eval().get_buffer(DIRECTION).clone()
    layer(torch.zeros(1, 4, dtype=torch.float64))
    assert torch.equal(layer.get_buffer(DIRECTION), held)
    assert singular_value(converge(layer, (4,)), (4,)) == pytest.approx(1.0)


def test_a_layer_that_starts_at_zero_is_bounded_once_it_grows():
    layer = nn.Linear(3, 3).double()
    nn.init.zeros_(layer.weight)
    spectral_bound(layer, 0.5)
    layer(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
    assert layer.weight.grad.isfinite().all()
    nn.init.eye_(layer.weight)
    assert singular_value(converge(layer, (3,)), (3,)) == pytest.approx(0.5)


def net():
    layers = nn.Sequential(
        nn.Conv2d(2, 3, 3, stride=2, padding=1),
        nn.BatchNorm2d(3),
        nn.GELU(),
        nn.Conv2d(3, 4, 1),
        nn.Flatten(),
        nn.Linear(36, 3),
    )
    return spectral_bound(layers.double(), 0.2, torch.zeros(1, 2, 6, 6, dtype=torch.float64))


@pytest.mark.parametrize("execution", ["vmap", "loop"])
def test_members_keep_their_own_bounds(execution):
    nets = [net() for _ in range(3)]
    ensemble = Ensemble.from_modules(nets, execution=execution)
    assert ensemble.taps == ("0", "3", "5")
    inputs = torch.randn(4, 2, 6, 6, dtype=torch.float64)
    for _ in range(2):
        expected = torch.stack([net(inputs) for net in nets])
        logits = ensemble(inputs).logits
        torch.testing.assert_close(logits, expected)
    logits.square().sum().backward()
    expected.square().sum().backward()
    for name, parameter in ensemble.net.named_parameters():
        torch.testing.assert_close(parameter.grad, torch.stack([net.get_parameter(name).grad for net in nets]))
    torch.testing.assert_close(ensemble.member(1).eval()(inputs), nets[1].eval()(inputs))


@pytest.mark.parametrize("duplicate", ["deepcopy", "pickle", "state"])
def test_a_copy_is_bounded_alike(duplicate):
    original, inputs = net(), torch.randn(4, 2, 6, 6, dtype=torch.float64)
    if duplicate == "state":
        other = net()
        other.load_state_dict(original.state_dict())
    else:
        other = copy.deepcopy(original) if duplicate == "deepcopy" else pickle.loads(pickle.dumps(original))
    for _ in range(2):
        torch.testing.assert_close(other(inputs), original(inputs), rtol=0, atol=0)


def test_the_example_changes_nothing():
    layers = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)).train()
    before = copy.deepcopy(layers.state_dict())
    spectral_bound(layers, 1.0, torch.randn(4, 2, 5, 5))
    assert all(torch.equal(layers.state_dict()[name], tensor) for name, tensor in before.items())
    assert layers.training
    assert layers[1].training


@pytest.mark.parametrize(
    ("make", "bound", "message"),
    [
        (lambda: nn.Linear(2, 2), 0.0, "positive bound, got 0.0"),
        (nn.Flatten, 1.0, "Flatten has neither"),
        (lambda: nn.Conv2d(2, 2, 3), 1.0, "pass example="),
        (lambda: spectral_bound(nn.Linear(2, 2)), 1.0, "bound already"),
    ],
)
def test_what_cannot_be_bounded_is_refused(make, bound, message):
    with pytest.raises(InputError, match=message):
        spectral_bound(make(), bound)


def test_a_convolution_that_the_example_does_not_reach_is_named():
    class Idle(nn.Sequential):
        def forward(self, x):
            return self[0](x)

    with pytest.raises(InputError, match="'1' did not run"):
        spectral_bound(Idle(nn.Conv2d(1, 1, 3), nn.Conv2d(1, 1, 3)), 1.0, torch.zeros(1, 1, 5, 5))
