from dataclasses import dataclass, field
from functools import partial

import pytest
import torch
from torch import nn

from hecka.inference.independent import Independent
from hecka.members.ensemble import Ensemble
from hecka.training.fit import fit
from hecka.types import Step


@dataclass(frozen=True)
class Hooked(Independent):
    """Independent members; counts its steps, draws a number at each, and calls ``hook`` with the count."""

    hook: object = field(default=None, repr=False)

    def start(self, members):
        return {"count": torch.zeros(())}

    def __call__(self, members, params, batch, state, generator):
        step = super().__call__(members, params, batch, state, generator)
        count = state["count"] + 1
        if self.hook is not None:
            self.hook(int(count))
        drawn = torch.rand((), generator=generator)
        return Step(step.direction, {**step.info, "drawn": drawn, "count": count}, {"count": count})


@pytest.fixture
def hooked():
    return Hooked


@pytest.fixture
def data():
    """Twelve examples of three classes: three batches of four an epoch."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(12, 3, generator=generator), torch.arange(12) % 3


@pytest.fixture
def make_members():
    """Two members with everything that a resumed run could forget: BatchNorm statistics and Dropout."""

    def make(width=6, seed=0, members=2):
        def net():
            return nn.Sequential(
                nn.Linear(3, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 3)
            )

        return Ensemble(net, members, taps=["2"], seed=seed)

    return make


@pytest.fixture
def train(make_members, data):
    """Train fresh members for three epochs, or as asked."""

    def run(**changes):
        members = changes.pop("members", None) or make_members()
        if changes.keys().isdisjoint({"data", "batch_size"}):
            changes["batch_size"] = 4
        if changes.keys().isdisjoint({"epochs", "steps"}):
            changes["epochs"] = 3
        settings = {
            "data": data,
            "method": Hooked(),
            "optimizer": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
            "progress": False,
        }
        return fit(members, **(settings | changes))

    return run
