"""DDU's networks: which layers a recipe's spectral_bound reaches, and over which feature maps."""

import pytest
import torch
from torch import nn

from hecka.experiments.build import Shape, bounded
from hecka.networks.resnet import ResNet18
from hecka.networks.spectral import DIRECTION
from hecka.networks.wide_resnet import WideResNet


@pytest.mark.parametrize("make", [lambda: WideResNet(depth=10, widen=1), lambda: ResNet18(width=2)])
def test_every_convolution_is_bounded_and_nothing_else(make):
    torch.manual_seed(0)
    free = make().eval()
    net = bounded(make(), 3.0, Shape((3, 32, 32), 10)).eval()
    held = {name.removesuffix(f".{DIRECTION}") for name, _ in net.named_buffers() if name.endswith(DIRECTION)}
    assert held == {name for name, module in net.named_modules() if isinstance(module, nn.Conv2d)}
    seen = {}
    for name in held:
        free.get_submodule(name).register_forward_pre_hook(
            lambda module, args, name=name: seen.__setitem__(name, args[0].shape[1:])
        )
    free(torch.zeros(2, 3, 32, 32))
    for name in held:  # 3 x 3 by the true operator over its own maps, 1 x 1 by the matrix
        direction, layer = net.get_buffer(f"{name}.{DIRECTION}"), net.get_submodule(name)
        assert direction.shape == (seen[name] if layer.kernel_size == (3, 3) else (layer.in_channels, 1, 1))


def test_a_bounded_convolution_stretches_its_input_by_no_more_than_three():
    """As a matrix over whole feature maps, of which the largest singular value is exact."""
    torch.manual_seed(0)
    net = WideResNet(depth=10, widen=1)
    with torch.no_grad():
        net.group1[0].conv1.weight.mul_(20)
    bounded(net, 3.0, Shape((3, 8, 8), 10)).eval()
    layer = net.group1[0].conv1
    basis = torch.eye(16 * 8 * 8).view(-1, 16, 8, 8)
    matrix = layer(basis).flatten(1).detach()
    assert torch.linalg.matrix_norm(matrix, 2).item() == pytest.approx(3, rel=0.05)
