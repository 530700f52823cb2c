"""Everything that changes while training, in one place: what a checkpoint holds, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from hecka.errors import CheckpointError
from hecka.training.feed import Feed
from hecka.training.meter import Meter
from hecka.training.optimizers import restore
from hecka.training.outlier_stock import OutlierStock
from hecka.types import Batch, State


@dataclass
class Position:
    """How far a run has come: whole epochs, batches of the epoch under way, and steps in all."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    learning_rate: float = 0.0


@dataclass
class Session:
    """Weights, optimizer, schedule, method state, outliers in stock, data order and every generator.

    ``generators`` are all that a run draws from: its own, torch's global ones (Dropout, a DataLoader) and those of the
    data's order.  ``epoch_start`` keeps their states at the epoch's start, from where the order can be drawn again.
    """

    members: nn.Module
    feed: Feed
    optimizer: Optimizer
    schedule: LRScheduler
    generator: torch.Generator
    outliers: OutlierStock = field(default_factory=OutlierStock)
    state: State = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    position: Position = field(default_factory=Position)
    epoch_start: dict[str, Tensor] = field(default_factory=dict)

    @property
    def generators(self) -> dict[str, torch.Generator]:
        """Every generator by name."""
        return {"own": self.generator, **_global_generators(self.generator.device), **self.feed.generators()}

    def batches(self) -> Iterator[Batch]:
        """The batches of the epoch under way that are still to come."""
        done = self.position.batch
        now = self._drawn()
        if done:
            self._rewind(self.epoch_start)
        else:
            self.epoch_start = now
        batches = iter(self.feed)
        for _ in range(done):
            if next(batches, None) is None:
                raise CheckpointError(
                    f"fit: expected the data of the run that is resumed, {done} batches into its epoch, but they end "
                    "before; train on the same data, or use another folder"
                )
        if done:
            self._rewind(now)
        return batches

    def next_epoch(self) -> None:
        """An epoch is over."""
        self.position.epoch += 1
        self.position.batch = 0
        self.meter.restart()

    def state_dict(self) -> dict[str, Any]:
        """``members`` (weights and statistics) and ``run`` (all else)."""
        run = {
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "method": self.state,
            "outliers": self.outliers.state_dict(),
            "meter": self.meter.state_dict(),
            "position": asdict(self.position),
            "generators": self._drawn(),
            "epoch_start": self.epoch_start,
            "device": self.generator.device.type,
        }
        return {"members": self.members.state_dict(), "run": run}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        run, device = state["run"], self.generator.device
        self.members.load_state_dict(state["members"])
        restore(self.optimizer, run["optimizer"])
        self.schedule.load_state_dict(run["schedule"])
        self.state = {name: tensor.to(device) for name, tensor in run["method"].items()}
        self.outliers.load_state_dict(run["outliers"], device)
        self.meter.load_state_dict(run["meter"], device)
        self.position = Position(**run["position"])
        states, self.epoch_start = run["generators"], run["epoch_start"]
        if (before := run["device"]) != device.type:
            warnings.warn(
                f"fit: this run began on {before} and goes on on {device.type}, whose generators draw other numbers; "
                "it will not equal an uninterrupted one",
                stacklevel=5,
            )
            states, self.epoch_start = self._translated(states), self._translated(self.epoch_start)
        self._rewind(states)

    def _drawn(self) -> dict[str, Tensor]:
        return {name: generator.get_state() for name, generator in self.generators.items()}

    def _rewind(self, states: dict[str, Tensor]) -> None:
        for name, generator in self.generators.items():
            generator.set_state(states[name])

    def _translated(self, states: dict[str, Tensor]) -> dict[str, Tensor]:
        """``states`` from another kind of device, for this one: not its first numbers again, but some that repeat."""
        here = dict(states)
        for name in self.generators.keys() & {"own", "torch.cuda"}:  # the others live on the host
            generator = self.generators[name]
            anew = torch.Generator(generator.device).manual_seed(generator.initial_seed() + self.position.step)
            here[name] = anew.get_state()
        return here


def own_randomness(device: torch.device) -> AbstractContextManager[None]:
    """A context after which the caller's global generators are as they were before it."""
    if device.type == "cuda":
        return torch.random.fork_rng(devices=[device], device_type="cuda")
    return torch.random.fork_rng(devices=[], device_type="cuda")


def seed_globals(device: torch.device, seed: int) -> None:
    """Seed the global generators of the CPU and of ``device``; ``torch.manual_seed`` would touch other devices too."""
    for generator in _global_generators(device).values():
        generator.manual_seed(seed)


def _global_generators(device: torch.device) -> dict[str, torch.Generator]:
    generators = {"torch": torch.default_generator}
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        generators["torch.cuda"] = torch.cuda.default_generators[index]
    return generators
