"""The training steps that are timed: hecka's, and the plain loop over separate modules that anybody would write.

Every action is one whole step: forward, loss, backward, optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hecka.diversity.layer_weights import EndsAndLine
from hecka.diversity.terms import HECKA
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.similarity.kernels import RBF
from hecka.training.compiled import Compiled
from hecka.types import Batch, Method

Action = Callable[[], object]

TOY_MEMBERS, LENET_MEMBERS = 30, 5


def toy_net() -> MLP:
    """The four-class problem's network."""
    return MLP(2, 30, 40, 30, 4)


def toy_batch(device: torch.device) -> Batch:
    """As many points as the four-class problem has."""
    generator = torch.Generator().manual_seed(0)
    inputs, targets = torch.randn(100, 2, generator=generator), torch.arange(4).repeat(25)
    return Batch(inputs, targets).to(device)


def lenet_batch(device: torch.device, outliers: int = 0) -> Batch:
    """As many digits as the paper's batch has, of random pixels."""
    generator = torch.Generator().manual_seed(0)
    inputs, targets = torch.randn(300, 1, 28, 28, generator=generator), torch.arange(10).repeat(30)
    extra = torch.randn(outliers, 1, 28, 28, generator=generator) if outliers else None
    return Batch(inputs, targets, extra).to(device)


TOY_TERM = HECKA(kernel=RBF(6.0), weights=(0.022, 0.156, 0.378, 0.444), s=3, eps_dist=1e-4, eps_arc=0.035)
LENET_TERM = HECKA(weights=EndsAndLine(0.03, 0.6, 1.8, 6.8))


def repulsive(term: HECKA) -> Repulsive:
    """A fixed gamma: what is timed must not depend on what was learnt."""
    return Repulsive(term, gamma=1.0, beta=1.0)


def ensemble_step(ensemble: Ensemble, method: Method, batch: Batch, *, compiled: bool = False) -> Action:
    """A step of hecka, as ``fit`` makes it."""
    optimizer = torch.optim.AdamW(ensemble.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator(batch.inputs.device)
    state = method.start(ensemble)
    run: Method = Compiled(method) if compiled else method

    def step() -> None:
        nonlocal state
        optimizer.zero_grad()
        params = ensemble.params()
        result = run(ensemble, params, batch, state, generator)
        ensemble.pull_back(params, result.direction)
        optimizer.step()
        state = result.state

    return step


def separate_step(make_net: Callable[[], nn.Module], members: int, batch: Batch) -> Action:
    """A plain deep ensemble as a Python loop: every module with an optimizer of its own, no repulsion."""
    device = batch.inputs.device
    nets = [make_net().to(device) for _ in range(members)]
    optimizers = [torch.optim.AdamW(net.parameters(), lr=1e-3) for net in nets]

    def step() -> None:
        for net, optimizer in zip(nets, optimizers, strict=True):
            optimizer.zero_grad()
            loss: Tensor = F.cross_entropy(net(batch.inputs), batch.targets)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return step


def toy_ensemble(device: torch.device) -> Ensemble:
    """Thirty members, all four layers recorded."""
    return Ensemble(toy_net, TOY_MEMBERS, taps=MLP.taps).to(device)


def lenet_ensemble(device: torch.device, taps: tuple[str, ...] = LeNet5.taps) -> Ensemble:
    """Five members, all five layers recorded."""
    return Ensemble(partial(LeNet5), LENET_MEMBERS, taps=taps, channels_last=True).to(device)
