"""The training steps that are timed: hecka's, and the plain loop over separate modules that anybody would write.

Every action is one whole step: forward, loss, backward, optimizer.  A ``Problem`` is a network with its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hecka.bench.measure import Action
from hecka.bench.plain_networks import PlainLeNet, PlainMLP
from hecka.diversity.layer_weights import EndsAndLine
from hecka.diversity.terms import HECKA
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.members.execution import Mode
from hecka.members.hypernetwork import Hypernetwork
from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.resnet import ResNet18
from hecka.similarity.kernels import RBF
from hecka.training.captured import Captured
from hecka.types import Batch, Members, Method


@dataclass(frozen=True)
class Problem:
    """A network, how many members it has, which taps count, and a batch of random numbers for it."""

    make_net: Callable[[], nn.Module]
    make_plain: Callable[[], nn.Module]
    members: int
    taps: tuple[str, ...]
    shape: tuple[int, ...]
    examples: int
    classes: int
    term: HECKA
    outliers: int = 0
    execution: Mode = "auto"

    def batch(self, device: torch.device) -> Batch:
        """Inputs, balanced labels, and outliers where there are any."""
        generator = torch.Generator().manual_seed(0)
        inputs, outliers = (
            torch.randn(count, *self.shape, generator=generator) for count in (self.examples, self.outliers)
        )
        targets = torch.arange(self.examples) % self.classes
        return Batch(inputs, targets, outliers if self.outliers else None).to(device)

    def ensemble(self, device: torch.device, record: bool = True) -> Ensemble:
        """The members as hecka keeps them; taps are recorded only where a method looks at them."""
        taps = self.taps if record else ()
        ensemble = Ensemble(self.make_net, self.members, taps=taps, execution=self.execution, channels_last=True)
        return ensemble.to(device).train()

    def hypernetwork(self, device: torch.device) -> Hypernetwork:
        """Members drawn from hecka's compact generator."""
        return Hypernetwork(self.make_net, members=self.members, taps=()).to(device).train()

    def modules(self, device: torch.device, own: bool = False) -> list[nn.Module]:
        """As many separate modules as anybody would write them, or of hecka's ``own`` networks."""
        return [(self.make_net if own else self.make_plain)().to(device) for _ in range(self.members)]


LENET_TERM = HECKA(weights=EndsAndLine(0.03, 0.6, 1.8, 6.8))
TOY_TERM = HECKA(kernel=RBF(6.0), weights=(0.022, 0.156, 0.378, 0.444), s=3, eps_dist=1e-4, eps_arc=0.035)

TOY_SIZES = (2, 30, 40, 30, 4)
TOY_NETS = partial(MLP, *TOY_SIZES), partial(PlainMLP, *TOY_SIZES)
TOY = Problem(*TOY_NETS, 30, MLP.taps, (2,), examples=100, classes=4, term=TOY_TERM)
LENET = Problem(LeNet5, PlainLeNet, 5, LeNet5.taps, (1, 28, 28), examples=300, classes=10, term=LENET_TERM)
OOD_LENET = Problem(
    LeNet5, PlainLeNet, 5, LeNet5.taps, (1, 28, 28), examples=300, classes=10, term=LENET_TERM, outliers=100
)


def resnet(width: int, examples: int) -> Problem:
    """Five narrow ResNet18 on images of the size of CIFAR-10, with the paper's eight taps."""
    net = partial(ResNet18, width=width)
    return Problem(net, net, 5, ResNet18.taps, (3, 32, 32), examples, classes=10, term=HECKA())


def repulsive(term: HECKA) -> Repulsive:
    """A fixed gamma: what is timed must not depend on what was learnt."""
    return Repulsive(term, gamma=1.0, beta=1.0)


def step(
    problem: Problem, method: Method, device: torch.device, *, record: bool = True, capture: bool = False
) -> Action:
    """A step of hecka's ensemble; ``record`` says whether the method looks at features, ``capture`` as in ``fit``."""
    if capture:
        method = Captured(method)
    return members_step(problem.ensemble(device, record), method, problem.batch(device))


def hypernetwork_step(problem: Problem, method: Method, device: torch.device) -> Action:
    """A step of a hypernetwork, which draws new members for it."""
    return members_step(problem.hypernetwork(device), method, problem.batch(device))


def members_step(members: Members, method: Method, batch: Batch) -> Action:
    """A step of hecka, as ``fit`` makes it."""
    assert isinstance(members, nn.Module)
    optimizer = torch.optim.AdamW(members.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator(batch.inputs.device)
    state = method.start(members)

    def action() -> None:
        nonlocal state
        optimizer.zero_grad()
        params = members.params(generator)
        result = method(members, params, batch, state, generator)
        members.pull_back(params, result.direction)
        optimizer.step()
        state = result.state

    return action


def separate_step(problem: Problem, device: torch.device, *, own: bool = False) -> Action:
    """A plain deep ensemble as a Python loop: every module with an optimizer of its own, no repulsion."""
    batch, nets = problem.batch(device), problem.modules(device, own)
    optimizers = [torch.optim.AdamW(net.parameters(), lr=1e-3) for net in nets]

    def action() -> None:
        for net, optimizer in zip(nets, optimizers, strict=True):
            optimizer.zero_grad()
            loss: Tensor = F.cross_entropy(net(batch.inputs), batch.targets)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return action
