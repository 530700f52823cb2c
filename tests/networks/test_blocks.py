"""Single networks and blocks against the same computation written out by hand."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, max_pool2d

from hecka.errors import InputError
from hecka.networks.activations import crater
from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.resnet import BasicBlock, ResNet18
from hecka.networks.resnet32 import PlainBlock, ResNet32
from hecka.networks.wide_resnet import WideBlock, WideResNet


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    torch.manual_seed(0)


def test_the_toy_network_is_its_formula() -> None:
    net, x = MLP(2, 5, 3), torch.randn(4, 2)
    w1, b1, w2, b2 = net.parameters()
    hidden = crater((x @ w1.T + b1) / math.sqrt(2))
    torch.testing.assert_close(net(x), (hidden @ w2.T + b2) / math.sqrt(5))


def test_the_toy_network_takes_other_activations() -> None:
    net, x = MLP(2, 5, 3, activation=nn.ReLU), torch.randn(4, 2)
    w1, b1, w2, b2 = net.parameters()
    hidden = ((x @ w1.T + b1) / math.sqrt(2)).clamp(min=0)
    torch.testing.assert_close(net(x), (hidden @ w2.T + b2) / math.sqrt(5))


def test_lenet_is_its_formula() -> None:
    net, x = LeNet5(), torch.randn(3, 1, 28, 28)
    weights = list(net.parameters())
    h = x
    for weight, bias in zip(weights[0:4:2], weights[1:4:2], strict=True):
        scale = 1 / math.sqrt(weight[0].numel())
        h = max_pool2d(crater(conv2d(h, scale * weight, scale * bias)), 2)
    h = h.reshape(3, 256)
    for weight, bias in zip(weights[4::2], weights[5::2], strict=True):
        h = (h @ weight.T + bias) / math.sqrt(weight.shape[1])
        h = crater(h) if len(bias) != 10 else h
    torch.testing.assert_close(net(x), h)


def silence(layer: nn.Module) -> None:
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)


def test_a_residual_block_without_its_branch_is_its_shortcut() -> None:
    x = torch.randn(2, 4, 6, 6)
    block = BasicBlock(4, 4, stride=1).eval()
    silence(block.bn2)
    assert torch.equal(block(x), x.clamp(min=0))

    wide = WideBlock(4, 4, stride=1).eval()
    silence(wide.conv2)
    assert torch.equal(wide(x), x)


def test_a_residual_block_adds_its_branch() -> None:
    x = torch.randn(2, 4, 6, 6)
    block = BasicBlock(4, 4, stride=1)
    branch = nn.Sequential(block.conv1, block.bn1, nn.ReLU(), block.conv2, block.bn2)
    torch.testing.assert_close(block(x), (branch(x) + x).clamp(min=0))

    wide = WideBlock(4, 8, stride=2)
    active = wide.bn1(x).clamp(min=0)
    branch = nn.Sequential(wide.conv1, wide.bn2, nn.ReLU(), wide.conv2)
    torch.testing.assert_close(wide(x), branch(active) + wide.projection(active))

    plain = PlainBlock(4, 4, stride=1)
    branch = nn.Sequential(plain.conv1, nn.ReLU(), plain.conv2)
    torch.testing.assert_close(plain(x), (branch(x) + x).clamp(min=0))


@pytest.mark.parametrize(
    "net", [ResNet18(width=4), ResNet32(), WideResNet(depth=10, widen=1)], ids=lambda net: type(net).__name__
)
def test_a_residual_network_is_its_stages_between_a_stem_and_a_mean(net: nn.Module) -> None:
    x = torch.randn(2, 3, 32, 32)
    net.train()(x)  # so that the running statistics are not trivial
    net.eval()
    if isinstance(net, WideResNet):  # its blocks activate what they are given; the last ones' output is left to do
        first, last = net.stem, lambda maps: net.pool[0](maps).clamp(min=0)
    else:
        *linear, _ = net.stem
        first, last = lambda x: nn.Sequential(*linear)(x).clamp(min=0), lambda maps: maps
    stages = [stage for name, stage in net.named_children() if name.startswith(("stage", "group"))]
    expected = net.linear(last(nn.Sequential(*stages)(first(x))).mean(dim=(2, 3)))
    torch.testing.assert_close(net(x), expected)


def test_the_plain_shortcut_takes_every_second_pixel_between_zero_channels() -> None:
    x = torch.rand(2, 4, 6, 6)
    block = PlainBlock(4, 8, stride=2)
    silence(block.conv2)
    expected = torch.zeros(2, 8, 3, 3)
    for row in range(3):
        for column in range(3):
            expected[:, 2:6, row, column] = x[:, :, 2 * row, 2 * column]
    assert torch.equal(block(x), expected)


def test_resnet18_takes_images_of_64() -> None:
    net = ResNet18(classes=200, width=4).eval()
    stem: list[Tensor] = []
    net.stem.register_forward_hook(lambda module, args, output: stem.append(output))
    assert net(torch.randn(1, 3, 64, 64)).shape == (1, 200)
    assert stem[0].shape == (1, 4, 64, 64)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: MLP(4), "at least an input and an output size"),
        (lambda: LeNet5()(torch.zeros(2, 1, 32, 32)), r"\('B', 1, 28, 28\), got \(2, 1, 32, 32\)"),
        (lambda: WideResNet(depth=27), "6 n"),
    ],
)
def test_mistakes_are_told(mistake, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mistake()
