"""One line of the benchmark: what hecka does, what it is held against, and how the two are measured.

A comparison is a value; ``comparisons.py`` lists them all.  The limit is always on what hecka takes over what the
other takes; where the other is a fixed number (two seconds, say), the limit is 1.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Literal, Protocol, TypeAlias

import torch

from hecka.bench.measure import Action, enough_rounds, peak_memory, rounds
from hecka.errors import InputError

Build: TypeAlias = Callable[[torch.device], Action]
"""Makes an action that can be run again and again on a device."""


@dataclass(frozen=True)
class Measured:
    """Medians of both sides in ``unit``; the ratio of every round; peaks in MiB where they were taken."""

    ours: float
    theirs: float
    unit: Literal["ms", "MiB"]
    ratios: tuple[float, ...]
    peaks: tuple[float, float | None] | None = None

    @property
    def ratio(self) -> float:
        """Below 1, hecka takes less."""
        return self.ours / self.theirs

    @property
    def middle_half(self) -> tuple[float, float]:
        """The quartiles of the ratio over rounds: how far noise moves it."""
        if len(self.ratios) < 2:
            return self.ratio, self.ratio
        low, _, high = quantiles(self.ratios, n=4)
        return low, high


class Measure(Protocol):
    """How a comparison is measured."""

    def __call__(self, repeats: int, device: torch.device) -> Measured:
        """Both sides, in at least ``repeats`` rounds."""


@dataclass(frozen=True)
class Comparison:
    """``step`` against ``against``; ``target`` is the most that their ratio may be.

    ``name`` is for ``--only``.  ``only_on`` is ``"host"`` for what does not run on the device that the table is for,
    and ``"cuda"`` for what runs on such a device alone.
    """

    name: str
    step: str
    against: str
    target: float
    measure: Measure
    only_on: Literal["host", "cuda"] | None = None


@dataclass(frozen=True)
class Times:
    """Seconds of ``ours``, which does the work of ``steps`` steps at once, and of ``theirs``, or fixed seconds."""

    ours: Build
    theirs: Build | float
    steps: int = 1

    def __call__(self, repeats: int, device: torch.device) -> Measured:
        """In turns; on a GPU with the peak memory of both, which costs nothing there."""
        limit = self.theirs if isinstance(self.theirs, float) else None
        actions = {"ours": self.ours(device)}
        if not isinstance(self.theirs, float):
            actions["theirs"] = self.theirs(device)
        timed = rounds(actions, enough_rounds(actions, repeats, device), device, warmup=1)
        ours = [each["ours"] / self.steps for each in timed]
        theirs = [each["theirs"] if limit is None else limit for each in timed]
        return Measured(
            ours=1e3 * median(ours),
            theirs=1e3 * median(theirs),
            unit="ms",
            ratios=tuple(one / other for one, other in zip(ours, theirs, strict=True)),
            peaks=_peaks(actions, device) if device.type == "cuda" else None,
        )


@dataclass(frozen=True)
class Peaks:
    """The most memory that ``ours`` and ``theirs`` hold beyond what stays; one round is like all others."""

    ours: Build
    theirs: Build

    def __call__(self, repeats: int, device: torch.device) -> Measured:
        """One after the other."""
        ours, theirs = (peak_memory(build(device), device) / 2**20 for build in (self.ours, self.theirs))
        return Measured(ours, theirs, "MiB", (ours / theirs,))


@dataclass(frozen=True)
class Imports:
    """Seconds until ``ours`` is imported, against those of ``theirs``, which it imports itself, in new processes."""

    ours: str
    theirs: str

    def __call__(self, repeats: int, device: torch.device) -> Measured:
        """Both from one process: what slows its start slows both alike, and the half of the time is saved."""
        program = (
            "from time import perf_counter as now; start = now()\n"
            f"import {self.theirs}; other = now() - start\n"
            f"import {self.ours}; print(now() - start, other)"
        )
        pairs = []
        for _ in range(1 + repeats):  # the first finds files that the system has to fetch
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            if done.returncode:
                raise InputError(f"bench: expected to import {self.ours} and {self.theirs}, got: {done.stderr.strip()}")
            pairs.append(tuple(map(float, done.stdout.split())))
        ours, theirs = zip(*pairs[1:], strict=True)
        ratios = tuple(one / other for one, other in zip(ours, theirs, strict=True))
        return Measured(1e3 * median(ours), 1e3 * median(theirs), "ms", ratios)


def _peaks(actions: dict[str, Action], device: torch.device) -> tuple[float, float | None]:
    peaks = {name: peak_memory(action, device) / 2**20 for name, action in actions.items()}
    return peaks["ours"], peaks.get("theirs")
