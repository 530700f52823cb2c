"""What every network promises: its size, its taps, seeds that repeat, and members that can be stacked."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.resnet import ResNet18
from hecka.networks.resnet32 import ResNet32
from hecka.networks.wide_resnet import WideResNet


class Case(NamedTuple):
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    parameters: int
    features: tuple[int, ...]  # of each tap, in order


IMAGE = (3, 32, 32)
PUBLISHED = {
    "toy": Case(lambda: MLP(2, 30, 40, 30, 4), (2,), 3 * 30 + 31 * 40 + 41 * 30 + 31 * 4, (30, 40, 30, 4)),
    "lenet": Case(LeNet5, (1, 28, 28), 44_426, (864, 256, 120, 84, 10)),
    "resnet18": Case(ResNet18, IMAGE, 11_173_962, (65536, 65536, 32768, 16384, 16384, 8192, 8192, 10)),
    "resnet32": Case(ResNet32, IMAGE, 463_018, (16384, 16384, 8192, 4096, 10)),
    "wide_resnet": Case(WideResNet, IMAGE, 36_479_194, (16384, 163840, 81920, 40960, 640, 10)),
}
SMALL = {
    "toy": PUBLISHED["toy"],
    "lenet": PUBLISHED["lenet"],
    "resnet18": PUBLISHED["resnet18"]._replace(make=lambda: ResNet18(width=4)),
    "resnet32": PUBLISHED["resnet32"],
    "wide_resnet": PUBLISHED["wide_resnet"]._replace(make=lambda: WideResNet(depth=10, widen=1)),
}


def tapped(net: nn.Module) -> list[str]:
    """Module names that the network's taps match, where a star does not cross a dot."""
    return [
        name
        for tap in net.taps
        for name, _ in net.named_modules()
        if name.count(".") == tap.count(".") and fnmatchcase(name, tap)
    ]


@pytest.mark.parametrize("case", PUBLISHED.values(), ids=PUBLISHED)
def test_size_and_taps_are_the_published_ones(case: Case) -> None:
    with torch.device("meta"):  # shapes alone: no memory, no arithmetic
        net = case.make()
        recorded: list[int] = []
        for name in tapped(net):
            net.get_submodule(name).register_forward_hook(
                lambda module, args, output: recorded.append(output[0].numel())
            )
        logits = net(torch.empty(2, *case.shape))
    assert sum(p.numel() for p in net.parameters()) == case.parameters
    assert tuple(recorded) == case.features
    assert logits.shape == (2, case.features[-1])


@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_one_seed_repeats_and_two_seeds_differ(case: Case) -> None:
    def logits(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return case.make().eval()(x)

    x = torch.randn(2, *case.shape, generator=torch.Generator().manual_seed(0))
    assert torch.equal(logits(1), logits(1))
    assert not torch.allclose(logits(1), logits(2))


@pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)
def test_stacked_members_equal_separate_networks_while_training(case: Case) -> None:
    torch.manual_seed(0)
    nets, x = [case.make() for _ in range(2)], torch.randn(4, *case.shape)
    params, buffers = stack_module_state(nets)

    def run(member: dict[str, Tensor], statistics: dict[str, Tensor]) -> Tensor:
        return functional_call(nets[0], (member, statistics), (x,))

    stacked = torch.vmap(run)(params, buffers)
    torch.testing.assert_close(stacked, torch.stack([net(x) for net in nets]), rtol=1e-4, atol=1e-5)
    for name, rows in buffers.items():  # each member's own BatchNorm statistics
        torch.testing.assert_close(rows, torch.stack([net.get_buffer(name) for net in nets]))
