"""One line of a comparison on a toy task: what is trained, by which method, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.outliers.border import Border
from hecka.training.fit import fit
from hecka.training.optimizers import decay_groups
from hecka.training.schedules import Schedule, WarmupCosine
from hecka.types import Method

ToyMembers: TypeAlias = Ensemble | Hypernetwork

PUBLISHED_SCHEDULE = WarmupCosine(warmup=80, total=1200)


@dataclass(frozen=True)
class Stepping:
    """How AdamW follows the directions: rate, decay of matrices (biases have none), bound on the gradient, schedule.

    The defaults are the published ones of the four-class ensembles.
    """

    rate: float = 0.05
    decay: float = 0.0075
    clip: float = 5.0
    schedule: Schedule | None = PUBLISHED_SCHEDULE


PUBLISHED_STEPPING = Stepping()


@dataclass(frozen=True)
class Row:
    """A name, the folder of its runs, members by seed, their method, and the outliers that they see."""

    name: str
    slug: str
    make_members: Callable[[int], ToyMembers]
    method: Method
    outliers: Border | None = None
    stepping: Stepping = PUBLISHED_STEPPING


def train(row: Row, data: tuple[Tensor, Tensor], seed: int, out: Path, steps: int, progress: bool = True) -> ToyMembers:
    """The members of ``row``, trained on all of ``data`` at once; goes on where a run was stopped in ``out``."""
    members = row.make_members(seed)
    stepping = row.stepping
    fit(
        members,
        data,
        method=row.method,
        outliers=row.outliers,
        steps=steps,
        optimizer=torch.optim.AdamW(decay_groups(members, stepping.decay), lr=stepping.rate, fused=True),
        schedule=stepping.schedule,
        clip=stepping.clip,
        seed=seed,
        out=out / row.slug / f"seed-{seed}",
        progress=progress,
    )
    return members


def check(what: str, seeds: int, steps: int) -> None:
    """Refuse an experiment of nothing."""
    if seeds < 1 or steps < 1:
        raise InputError(f"{what}: expected at least 1 seed and 1 step, got {seeds} and {steps}")
