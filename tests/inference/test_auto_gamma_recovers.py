"""gamma="auto" in a whole run: it comes back to the price it may pay, whatever a schedule does to the loss."""

import math
from dataclasses import dataclass, field
from functools import partial

import pytest
import torch

from hecka.data.toy import four_classes
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.networks.mlp import MLP
from hecka.outliers.border import Border
from hecka.training.fit import fit

PHASES = {"full rate": (200, 300), "a tenth": (400, 500), "full rate again": (600, 700)}  # when each has settled


def rate(step):
    """A warm-up, then the full rate, a tenth of it, and the full rate again."""
    return (step + 1) / 100 if step < 100 else 0.1 if 300 <= step < 500 else 1.0


@dataclass(frozen=True)
class Watched(Repulsive):
    """Keeps what every step paid."""

    prices: list[float] = field(default_factory=list, repr=False)

    def __call__(self, members, params, batch, state, generator):
        step = super().__call__(members, params, batch, state, generator)
        self.prices.append(step.info["price"].item())
        return step


@pytest.mark.slow
def test_the_price_returns_to_its_tolerance_after_warm_up_fall_and_rise_of_the_rate():
    inputs, targets = four_classes(torch.Generator().manual_seed(0))
    members, method = Ensemble(lambda: MLP(2, 30, 40, 30, 4), members=5, taps=MLP.taps, seed=0), Watched()
    optimizer = partial(torch.optim.AdamW, lr=0.05, weight_decay=0.0075)
    run = fit(
        members,
        (inputs, targets),
        method=method,
        outliers=Border.around(inputs, count=30),
        steps=700,
        optimizer=optimizer,
        schedule=rate,
        clip=5.0,
        progress=False,
    )
    allowed = 0.01 * math.log(4)
    for phase, (first, last) in PHASES.items():
        paid = sum(method.prices[first:last]) / (last - first)
        assert 0.3 * allowed < paid < 2 * allowed, phase
    assert run.records[-1]["gamma"] > 5 * math.exp(-2)  # from where it began
    assert (members.predict(inputs).labels == targets).all()
