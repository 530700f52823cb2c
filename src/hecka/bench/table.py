"""``hecka bench``: what a step costs, as ratios within one interleaved run, and the targets they are held to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from hecka.bench.measure import interleaved, peak_memory
from hecka.bench.steps import (
    LENET_MEMBERS,
    LENET_TERM,
    TOY_MEMBERS,
    TOY_TERM,
    ensemble_step,
    lenet_batch,
    lenet_ensemble,
    repulsive,
    separate_step,
    toy_batch,
    toy_ensemble,
    toy_net,
)
from hecka.errors import InputError
from hecka.inference.independent import Independent
from hecka.networks.lenet import LeNet5
from hecka.report.tables import markdown
from hecka.training.allocator import keep_freed_memory


@dataclass(frozen=True)
class Ratio:
    """One measured line: ``value`` is what hecka takes over what the other takes, both in ``unit``."""

    step: str
    against: str
    ours: float
    theirs: float
    unit: str
    target: float

    @property
    def value(self) -> float:
        """Below 1, hecka takes less."""
        return self.ours / self.theirs


def bench(repeats: int = 15, device: str = "cpu") -> str:
    """All ratios as a Markdown table, under a line that names the machine."""
    if repeats < 1:
        raise InputError(f"bench: expected at least 1 round, got {repeats}")
    where = torch.device(device)
    keep_freed_memory()  # as fit does
    lines = [
        [
            ratio.step,
            ratio.against,
            f"{ratio.ours:.1f} {ratio.unit}",
            f"{ratio.theirs:.1f} {ratio.unit}",
            f"{ratio.value:.2f}",
            f"{ratio.target:.2f}",
        ]
        for ratio in ratios(repeats, where)
    ]
    machine = f"{device}, {torch.get_num_threads()} threads, torch {torch.__version__}, medians of {repeats} rounds"
    return f"{machine}\n\n{markdown(['step', 'against', 'hecka', 'other', 'ratio', 'target'], lines)}"


def ratios(repeats: int, device: torch.device) -> Iterator[Ratio]:
    """Every comparison, one after the other."""
    yield from _toy(repeats, device)
    yield from _lenet(repeats, device)


def _toy(repeats: int, device: torch.device) -> Iterator[Ratio]:
    batch = toy_batch(device)
    times = interleaved(
        {
            "hecka": ensemble_step(toy_ensemble(device), repulsive(TOY_TERM), batch),
            "separate": separate_step(toy_net, TOY_MEMBERS, batch),
        },
        repeats,
        device,
    )
    against = "30 separate modules in a loop, no repulsion"
    yield Ratio("toy, 30 members, RBF HE-CKA on 4 layers", against, *_ms(times, "hecka", "separate"), "ms", 0.90)


def _lenet(repeats: int, device: torch.device) -> Iterator[Ratio]:
    batch = lenet_batch(device)
    plain = ensemble_step(lenet_ensemble(device, taps=()), Independent(), batch)
    diverse = ensemble_step(lenet_ensemble(device), repulsive(LENET_TERM), batch)
    times = interleaved(
        {"plain": plain, "diverse": diverse, "separate": separate_step(LeNet5, LENET_MEMBERS, batch)},
        repeats,
        device,
    )
    own = "hecka's own plain step"
    yield Ratio("LeNet, 5 members, 300 rows, HE-CKA on 5 layers", own, *_ms(times, "diverse", "plain"), "ms", 1.30)
    against = "five separate modules in a loop"
    yield Ratio("LeNet, 5 members, 300 rows, plain", against, *_ms(times, "plain", "separate"), "ms", 0.95)
    memory = peak_memory(diverse, device) / 2**20, peak_memory(plain, device) / 2**20
    yield Ratio("peak memory of the HE-CKA step", own, *memory, "MiB", 1.20)


def _ms(times: dict[str, float], ours: str, theirs: str) -> tuple[float, float]:
    return 1000 * times[ours], 1000 * times[theirs]
