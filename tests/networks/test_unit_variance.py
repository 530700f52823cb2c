import math

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from hecka.networks.unit_variance import UnitConv2d, UnitLinear


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    torch.manual_seed(0)


LAYERS = [
    pytest.param(lambda: UnitLinear(12, 5, gain=1.5), (7, 12), 12, id="linear"),
    pytest.param(lambda: UnitConv2d(3, 4, 2, stride=2, padding=1, gain=1.5), (2, 3, 6, 5), 12, id="conv"),
]


def plain_twin(layer: UnitLinear | UnitConv2d, scale: float) -> nn.Module:
    """Torch's own layer with the weights that ``layer`` should be using."""
    twin: nn.Module = (
        nn.Linear(layer.in_features, layer.out_features)
        if isinstance(layer, UnitLinear)
        else nn.Conv2d(layer.in_channels, layer.out_channels, 2, stride=2, padding=1)
    )
    twin.load_state_dict({name: scale * stored for name, stored in layer.state_dict().items()})
    return twin


@pytest.mark.parametrize(("make", "shape", "fan_in"), LAYERS)
def test_equals_a_plain_layer_with_scaled_weights_and_bias(make, shape, fan_in) -> None:
    layer, x = make(), torch.randn(shape)
    torch.testing.assert_close(layer(x), plain_twin(layer, 1.5 / math.sqrt(fan_in))(x))


@pytest.mark.parametrize("layer", [UnitLinear(300, 200), UnitConv2d(20, 80, 5)], ids=["linear", "conv"])
def test_stores_standard_normal_numbers(layer: nn.Module) -> None:
    layer.reset_parameters()
    for stored in layer.parameters():
        n = stored.numel()
        assert abs(stored.mean()) < 5 / math.sqrt(n)
        assert abs(stored.var() - 1) < 5 * math.sqrt(2 / n)


def test_mean_square_grows_by_the_bias_alone() -> None:
    x = torch.randn(50, 64)
    squares = torch.stack([UnitLinear(64, 500)(x).square().mean() for _ in range(20)])
    expected = x.square().mean() + 1 / 64
    assert abs(squares.mean() - expected) < 5 * squares.std() / math.sqrt(20)


@pytest.mark.parametrize(("make", "shape", "fan_in"), LAYERS)
def test_stacked_layers_equal_a_loop_in_outputs_and_gradients(make, shape, fan_in) -> None:
    layers, x = [make() for _ in range(3)], torch.randn(shape)
    params, _ = stack_module_state(layers)

    def run(member: dict[str, Tensor]) -> Tensor:
        return functional_call(layers[0], member, (x,))

    out = torch.vmap(run)(params)
    looped = torch.stack([layer(x) for layer in layers])
    torch.testing.assert_close(out, looped)
    stacked = torch.autograd.grad(out.square().sum(), list(params.values()))
    for name, grad in zip(params, stacked, strict=True):
        single = torch.autograd.grad(
            looped.square().sum(), [layer.get_parameter(name) for layer in layers], retain_graph=True
        )
        torch.testing.assert_close(grad, torch.stack(single))
