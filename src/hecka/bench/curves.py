"""``hecka reproduce cost-curves``: time and memory of a step as members, batch, layers and features grow.

A perceptron with L recorded layers of P features; M members, N examples.  A plain step is linear in each but P.  The
formulas of the energy demand M N^2 P for the Gram matrices and M^2 N^2 for pairs, in every layer: at most quadratic in
members and batch, linear in layers and features.  Exponents are fitted to the upper half of the sizes, where what does
not grow no longer hides what does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import log
from pathlib import Path
from statistics import linear_regression

import torch

from hecka.bench.measure import interleaved, peak_memory
from hecka.bench.steps import Problem, repulsive, step
from hecka.diversity.terms import HECKA
from hecka.errors import InputError
from hecka.inference.independent import Independent
from hecka.networks.mlp import MLP
from hecka.report.cost_curves import Panel, cost_curves
from hecka.report.tables import markdown
from hecka.training.allocator import keep_freed_memory

INPUTS, CLASSES = 16, 10


@dataclass(frozen=True)
class Sizes:
    """How much work a step is."""

    members: int = 5
    batch: int = 128
    layers: int = 2
    features: int = 256

    def problem(self) -> Problem:
        """A perceptron of that size, all hidden layers recorded."""
        net = partial(MLP, INPUTS, *(self.features,) * self.layers, CLASSES)
        taps = tuple(f"layers.{layer}" for layer in range(self.layers))
        return Problem(net, net, self.members, taps, (INPUTS,), self.batch, CLASSES, HECKA())


GROWING: dict[str, tuple[int, ...]] = {
    "members": (2, 4, 8, 16, 32),
    "batch": (32, 64, 128, 256, 512),
    "layers": (1, 2, 4, 8, 16),
    "features": (100, 400, 1600, 6400, 25600, 102400),
}
# Exponents that the formulas allow, for time and for memory (which holds Gram matrices, never pairs of them).
ALLOWED = {"members": (2.0, 1.0), "batch": (2.0, 2.0), "layers": (1.0, 1.0), "features": (1.0, 1.0)}
# Two layers of 100 000 features would have 10^10 weights between them.
START = {"features": Sizes(layers=1)}


@dataclass(frozen=True)
class Curve:
    """Milliseconds and MiB of the plain and of the diverse step over one size."""

    size: str
    sizes: tuple[int, ...]
    milliseconds: dict[str, list[float]]
    mebibytes: dict[str, list[float]]

    def exponents(self) -> dict[str, dict[str, float]]:
        """Of time and memory of both steps."""
        quantities = {"time": self.milliseconds, "memory": self.mebibytes}
        return {
            quantity: {name: exponent(self.sizes, values) for name, values in lines.items()}
            for quantity, lines in quantities.items()
        }


def curves(
    repeats: int = 15, device: str = "cpu", only: tuple[str, ...] = (), out: Path = Path("runs") / "cost-curves"
) -> str:
    """Time and peak memory of a step over members, batch, layers and features: a picture, a table and a JSON.

    Args:
        repeats: timed rounds; both steps run once in each.
        device: where to run.
        only: some of members, batch, layers, features; all when empty.
        out: folder for what is made.
    """
    if repeats < 1 or not set(only) <= set(GROWING):
        raise InputError(
            f"cost-curves: expected repeats >= 1 and some of {', '.join(GROWING)}, got {repeats} and {list(only)}"
        )
    place = torch.device(device)
    keep_freed_memory()  # as fit does
    measured = [curve(size, GROWING[size], repeats, place) for size in only or GROWING]
    where = f"{device}, {torch.get_num_threads()} threads, torch {torch.__version__}, medians of {repeats} rounds"
    out.mkdir(parents=True, exist_ok=True)
    content = {
        "format": 1,
        "machine": where,
        "curves": [asdict(each) | {"exponents": each.exponents()} for each in measured],
    }
    (out / "cost-curves.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    panels = [
        [Panel(each.size, "ms a step", each.sizes, each.milliseconds, ALLOWED[each.size][0]) for each in measured],
        [Panel(each.size, "peak MiB", each.sizes, each.mebibytes, ALLOWED[each.size][1]) for each in measured],
    ]
    cost_curves(panels, out / "cost-curves.png")
    return f"{where}\n\n{table(measured)}\n\nfiles: {out}/cost-curves.png .json"


def curve(size: str, sizes: Sequence[int], repeats: int, device: torch.device) -> Curve:
    """Both steps at every size, all else as it starts."""
    milliseconds: dict[str, list[float]] = {"plain": [], "HE-CKA": []}
    mebibytes: dict[str, list[float]] = {"plain": [], "HE-CKA": []}
    for value in sizes:
        problem = replace(START.get(size, Sizes()), **{size: value}).problem()
        steps = {
            "plain": step(problem, Independent(), device, record=False),
            "HE-CKA": step(problem, repulsive(problem.term), device),
        }
        times = interleaved(steps, repeats, device)
        for name, action in steps.items():
            milliseconds[name].append(1e3 * times[name])
            mebibytes[name].append(peak_memory(action, device) / 2**20)
    return Curve(size, tuple(sizes), milliseconds, mebibytes)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log ``values`` over log ``sizes``, over the upper half of the sizes.

    >>> round(exponent([1, 2, 4, 8], [9, 9, 12, 48]), 3)
    2.0
    """
    half = min(len(sizes) // 2, len(sizes) - 2)
    return linear_regression([log(size) for size in sizes[half:]], [log(value) for value in values[half:]]).slope


def table(measured: Sequence[Curve]) -> str:
    """One line a curve: from the smallest to the largest size, and the exponents."""
    lines = []
    for each in measured:
        line = [f"{each.size}: {each.sizes[0]} to {each.sizes[-1]}"]
        parts = zip(each.exponents().values(), ALLOWED[each.size], (each.milliseconds, each.mebibytes), strict=True)
        for (found, allowed, values), unit in zip(parts, ("ms", "MiB"), strict=True):
            diverse, plain = values["HE-CKA"], values["plain"]
            line += [f"{diverse[0]:.1f} to {diverse[-1]:.1f} {unit}", f"{diverse[-1] / plain[-1]:.2f}"]
            line += [f"{found['plain']:.2f}", f"{found['HE-CKA']:.2f}", f"{allowed:g}"]
        lines.append(line)
    quantity = ["x plain", "exponent: plain", "HE-CKA", "allowed"]
    return markdown(["step over", "HE-CKA: time", *quantity, "HE-CKA: peak", *quantity], lines)
