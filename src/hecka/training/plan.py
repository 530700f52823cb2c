"""Everything that stays as it is while training, and the part of it that a checkpoint insists on."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch.optim.lr_scheduler import LRScheduler

from hecka.errors import CheckpointError, InputError
from hecka.training.checkpoint import Settings
from hecka.training.feed import Feed
from hecka.training.optimizers import describe
from hecka.training.schedules import Schedule
from hecka.training.session import Position, Session
from hecka.types import Members, Method

Precision: TypeAlias = Literal["float32", "bf16"]


@dataclass(frozen=True)
class Plan:
    """What stays as it is from the first step to the last."""

    members: Members
    method: Method
    validation: Feed | None
    epochs: int | None
    steps: int | None
    clip: float | None
    precision: Precision
    seed: int
    device: torch.device

    def __post_init__(self) -> None:
        if isinstance(self.method, type) or not (callable(self.method) and hasattr(self.method, "start")):
            raise InputError(
                f"fit: expected a method such as hecka.Repulsive() or hecka.Independent(), got {self.method!r}; "
                "pass an instance of one, with its settings"
            )
        length = self.steps if self.epochs is None else self.epochs
        if (self.epochs is None) == (self.steps is None) or not isinstance(length, int) or length < 1:
            raise InputError(
                "fit: expected either epochs or steps, a whole number of at least 1, "
                f"got epochs={self.epochs} and steps={self.steps}"
            )
        if self.clip is not None and not self.clip > 0:
            raise InputError(f"fit: expected clip above 0, or None for no clipping, got {self.clip}")
        if self.precision not in ("float32", "bf16"):
            raise InputError(f"fit: expected precision 'float32' or 'bf16', got {self.precision!r}")

    def reached(self, position: Position) -> bool:
        """Whether the last step or epoch is done; further than that there is no way back."""
        if self.steps is None:
            come, goal = (position.epoch, position.batch), (self.epochs or 0, 0)
        else:
            come, goal = (position.step, 0), (self.steps, 0)
        if come > goal:
            length = f"epochs={self.epochs}" if self.steps is None else f"steps={self.steps}"
            raise CheckpointError(
                f"fit: expected a checkpoint within {length}, got one after {position.epoch} epochs and "
                f"{position.step} steps; ask for more, or use another folder"
            )
        return come == goal

    def autocast(self) -> AbstractContextManager[object]:
        """The precision that the method runs in."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.precision == "bf16" else nullcontext()

    def settings(self, session: Session, schedule: Schedule | LRScheduler | None) -> Settings:
        """What has to be equal for a run to go on, in readable form; how long it is to be is not among it."""
        return {
            "members": f"{type(self.members).__name__} with taps {', '.join(self.members.taps)}",
            "method": _stable(self.method),
            "outliers": f"{_stable(session.outliers.outliers)}, for {session.outliers.steps} steps at once",
            "data": _stable(session.feed),
            "optimizer": describe(session.optimizer),
            "schedule": _stable(schedule),
            "clip": repr(self.clip),
            "seed": repr(self.seed),
            "precision": self.precision,
        }


def _stable(value: object) -> str:
    """``repr`` without memory addresses, which differ from process to process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
