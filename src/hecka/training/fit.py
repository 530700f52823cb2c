"""The training loop: one direction a batch, pulled back onto the parameters, and one optimizer step along it.

    params = members.params()                  where weights come from
    step   = method(members, params, batch)    a direction for every member
    members.pull_back(params, step.direction)  onto .grad
    optimizer.step()

``_loop`` below is all of it.  What stays as it is during a run is a ``Plan``, what changes is a ``Session``, and what
the outside sees of it is kept by a ``Logbook``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from hecka.errors import InputError
from hecka.training import checkpoint
from hecka.training.allocator import keep_freed_memory
from hecka.training.captured import Captured
from hecka.training.compiled import Compiled
from hecka.training.feed import Data, Feed
from hecka.training.interrupt import Interrupt
from hecka.training.logbook import Logbook, earlier_records, prepare, resume
from hecka.training.optimizers import OptimizerChoice, clip_gradients, make_optimizer, make_scheduler
from hecka.training.outlier_stock import OutlierStock
from hecka.training.plan import Plan, Precision
from hecka.training.progress import Display
from hecka.training.record import Record
from hecka.training.schedules import Schedule
from hecka.training.session import Session, own_randomness, seed_globals
from hecka.training.validate import validate
from hecka.types import Members, Method, Outliers


@dataclass(frozen=True)
class Run:
    """A finished run: the trained members, how far they came, one record an epoch, and where it is kept."""

    members: Members
    steps: int
    epochs: int
    records: list[Record]
    out: Path | None
    seconds: float


def fit(
    members: Members,
    data: Data,
    *,
    method: Method,
    outliers: Outliers | None = None,
    outlier_steps: int = 1,
    validation: Data | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    batch_size: int | None = None,
    optimizer: OptimizerChoice = None,
    schedule: Schedule | LRScheduler | None = None,
    clip: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    precision: Precision = "float32",
    compile: bool = False,
    capture: bool = False,
    progress: bool = True,
    checkpoint_every: float = 60.0,
) -> Run:
    """Train ``members`` with ``method``; with ``out``, the same call resumes, to exactly the same numbers.

    Args:
        members: an ``nn.Module`` that is ``Members``; trained in place.
        data: (inputs, targets), a ``Batches``, or an iterable of such pairs or of ``Batch``, such as a DataLoader.
        method: what makes a direction of a batch.
        outliers: draws outliers for each batch of inliers, where the method wants them.
        outlier_steps: how many steps one call of ``outliers`` serves, in equal parts; more than 1 saves a GPU launches.
        validation: scored after every epoch; as ``data``.
        epochs: how long to train, or
        steps: the same in optimizer steps.
        batch_size: for (inputs, targets); the whole set when None.
        optimizer: an optimizer, or what makes one of the parameters; AdamW with rate .001 when None.
        schedule: step -> factor of the learning rate, or a torch scheduler of ``optimizer``; stepped at every step.
        clip: bound on the L2 norm of all gradients together.
        seed: of every random draw; the caller's generators stay untouched.
        out: folder for ``checkpoint.safetensors`` and ``record.jsonl``; asking for more steps continues a finished run.
        precision: ``"bf16"`` runs the method under autocast.
        compile: compile the method, where that works.
        capture: record the method's step as a CUDA graph and replay it: small networks then train many times as
            fast, to the same numbers.  Only where a step does the same work on every batch: no branch that depends on
            numbers, nothing drawn by Python itself.
        progress: show a bar, where there is a terminal, or a notebook with ipywidgets.
        checkpoint_every: seconds between two checkpoints; they are written between epochs, at the end and on Ctrl-C.

    >>> from hecka.inference.independent import Independent
    >>> from hecka.members.ensemble import Ensemble
    >>> ensemble = Ensemble(lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)), members=5)
    >>> data = torch.randn(12, 2), torch.randint(3, (12,))
    >>> run = fit(ensemble, data, method=Independent(), epochs=2, batch_size=4, progress=False)
    >>> run.steps, [record["step"] for record in run.records]
    (6, [3, 6])
    """
    if not isinstance(members, nn.Module):
        raise InputError(f"fit: expected members that are an nn.Module, got {type(members).__name__}; use an Ensemble")
    optimizer = make_optimizer(optimizer, members)
    device = next(members.parameters()).device
    if device.type == "cpu":
        keep_freed_memory()
    if capture and device.type != "cuda":
        raise InputError(f"fit: capture=True records CUDA graphs, got members on {device}; use capture=False there")
    own_seed, global_seed, order_seed = _seeds(seed)
    held_out = None if validation is None else Feed(validation, device, shuffle=False)
    plan = Plan(members, method, held_out, epochs, steps, clip, precision, seed, device)
    session = Session(
        members=members,
        feed=Feed(data, device, batch_size, order_seed),
        optimizer=optimizer,
        schedule=make_scheduler(schedule, optimizer),
        generator=torch.Generator(device).manual_seed(own_seed),
        outliers=OutlierStock(outliers, outlier_steps),
    )
    settings = plan.settings(session, schedule)
    folder = None if out is None else Path(out)
    with own_randomness(device), Interrupt() as interrupt:
        seed_globals(device, global_seed)
        session.state = method.start(members)
        if folder is not None:
            prepare(folder, session)
            if (folder / checkpoint.NAME).exists():
                resume(folder / checkpoint.NAME, session, settings)
        finished = plan.reached(session.position)
        records = earlier_records(folder, session, finished)
        total = steps or (epochs or 0) * len(session.feed) or None
        with Display(progress and not finished, total, session.position.step) as display:
            logbook = Logbook(session, settings, folder, checkpoint_every, records, display)
            if not finished:
                runner = Compiled(method) if compile else method
                _loop(plan, Captured(runner) if capture else runner, session, logbook, interrupt)
    members.eval()
    position = session.position
    return Run(members, position.step, position.epoch, records.done, folder, position.seconds)


def _loop(plan: Plan, method: Method, session: Session, logbook: Logbook, interrupt: Interrupt) -> None:
    members, generator, position = plan.members, session.generator, session.position
    session.members.train()
    while not plan.reached(position):
        logbook.save_if_due()
        for batch in interrupt.guard(session.batches()):
            batch = session.outliers.add_to(batch, generator)
            session.optimizer.zero_grad()
            params = members.params(generator)
            with plan.autocast():
                step = method(members, params, batch, session.state, generator)
            members.pull_back(params, step.direction)
            norm = clip_gradients(session.optimizer, plan.clip)
            session.optimizer.step()
            position.learning_rate = session.optimizer.param_groups[0]["lr"]
            session.schedule.step()
            session.state = step.state
            position.step += 1
            position.batch += 1
            # The norm also shows gradients that broke while the loss was still finite.
            session.meter.add(position.step, {**step.info, "gradient_norm": norm})
            logbook.look()
            if position.step == plan.steps or interrupt.requested:
                break
        if position.step == plan.steps or interrupt.requested:
            break
        if position.batch == 0:
            raise InputError("fit: expected at least 1 batch an epoch, got none; look at the data")
        logbook.note(_scores(plan, logbook))
        session.next_epoch()
    if position.step == plan.steps:
        logbook.note(_scores(plan, logbook))
    logbook.save()
    if interrupt.requested:
        kept = f"; the same call goes on from {logbook.path}" if logbook.path else ""
        raise KeyboardInterrupt(f"fit: stopped after step {position.step}{kept}")


def _scores(plan: Plan, logbook: Logbook) -> dict[str, float]:
    if plan.validation is None:
        return {}
    logbook.check()  # scores wait for the device anyway, and would blame NaN weights on the networks
    return validate(plan.members, plan.validation)


def _seeds(seed: int) -> list[int]:
    """Three seeds from one, so that no two generators give the same numbers."""
    seeds: list[int] = torch.randint(2**62, (3,), generator=torch.Generator().manual_seed(seed)).tolist()
    return seeds
