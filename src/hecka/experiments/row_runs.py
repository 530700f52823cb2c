"""Many runs, one after another or several at once: what is finished is not done again, a failure stops no other.

A job is one recipe trained into one folder and evaluated there.  Several at once are processes of their own, each with
a share of the cores and a log in its run folder; on one GPU small networks are bound by launches, so many fit beside
each other.  Ctrl-C reaches each as the one signal that lets it save where it stands, and so does the end of the parent,
whatever ended it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import torch

from hecka.errors import HeckaError, InputError
from hecka.experiments.evaluate import evaluate_run
from hecka.experiments.recipe import Recipe
from hecka.experiments.train import check_same, train
from hecka.training import checkpoint, record

LOG = "log.txt"


@dataclass(frozen=True)
class Job:
    """One run: what to train, where, and a job that must be finished before, whose networks it starts from."""

    label: str
    recipe: Recipe
    out: Path
    after: Job | None = None


Done: TypeAlias = Callable[[Job, str | None], None]
"""Hears of every job at its end, with what went wrong where something did."""

Say: TypeAlias = Callable[[str], None]


def run_all(jobs: Sequence[Job], at_once: int, done: Done, say: Say, progress: bool = True) -> None:
    """Run what is not finished yet, in this order; several at once on Linux and macOS alone."""
    if at_once < 1:
        raise InputError(f"jobs: expected at least 1 at once, got {at_once}")
    if at_once > 1:
        _Pool(jobs, at_once, done, say).run()
        return
    failed: set[Path] = set()
    for job in jobs:
        error = _blocked(job, failed)
        if error is None and not finished(job):
            say(job.label)
            error = attempt(job, progress)
        if error is not None:
            failed.add(job.out)
        done(job, error)


def attempt(job: Job, progress: bool = True) -> str | None:
    """Train and evaluate one job; what went wrong in one line, with the traceback on stderr if it was no refusal."""
    try:
        train(job.recipe, job.out, progress)
        evaluate_run(job.out, root=job.recipe.data.root, device=job.recipe.device, progress=progress)
    except HeckaError as error:
        return "; ".join(line.strip() for line in str(error).splitlines())
    except Exception as error:  # whatever breaks in one row must not take the others with it
        traceback.print_exc()
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return None


def finished(job: Job) -> bool:
    """Whether the folder holds this very run, trained to its end and evaluated since."""
    evaluation, weights = job.out / "evaluation.json", job.out / checkpoint.NAME
    content = read(evaluation)
    if content is None or not set(job.recipe.ood) <= content["outliers"].keys() or not weights.exists():
        return False
    if evaluation.stat().st_mtime_ns < weights.stat().st_mtime_ns or not _trained(job):
        return False
    try:
        check_same(job.recipe, job.out)
    except HeckaError:
        return False  # training will refuse the folder, and say why
    return True


def _trained(job: Job) -> bool:
    diary = job.out / record.NAME
    lines = diary.read_text(encoding="utf-8").splitlines() if diary.exists() else []
    if not lines:
        return False
    last, recipe = json.loads(lines[-1]), job.recipe
    return bool(last["epoch"] >= recipe.epochs if recipe.steps is None else last["step"] >= recipe.steps)


def read(path: Path) -> dict[str, Any] | None:
    """A JSON file, or None where there is none."""
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _blocked(job: Job, failed: set[Path]) -> str | None:
    if job.after is None or job.after.out not in failed:
        return None
    return f"not started, because {job.after.label} failed, from which it goes on"


class _Running(NamedTuple):
    job: Job
    process: SpawnProcess
    told: Connection


class _Pool:
    """Jobs as processes, ``at_once`` of them at a time."""

    def __init__(self, jobs: Sequence[Job], at_once: int, done: Done, say: Say) -> None:
        self.waiting = list(jobs)
        self.at_once, self.done, self.say = at_once, done, say
        self.running: list[_Running] = []
        self.failed: set[Path] = set()

    def run(self) -> None:
        """Until every job has ended; Ctrl-C lets the running ones save first."""
        try:
            while self.waiting or self.running:
                self._start_ready()
                if self.running:  # for none of them one would wait for ever
                    wait([each.process.sentinel for each in self.running])
                for each in [each for each in self.running if not each.process.is_alive()]:
                    self._end(each)
        except KeyboardInterrupt as stop:
            for each in self.running:
                if each.process.pid is not None and each.process.is_alive():
                    os.kill(each.process.pid, signal.SIGINT)
            for each in self.running:
                each.process.join()
            raise KeyboardInterrupt("stopped; every run has saved where it stands, the same command goes on") from stop
        finally:
            for each in self.running:
                each.process.terminate()

    def _start_ready(self) -> None:
        busy = {each.job.out for each in self.running} | {job.out for job in self.waiting}
        for job in list(self.waiting):
            if error := _blocked(job, self.failed):
                self.waiting.remove(job)
                self.failed.add(job.out)
                self.done(job, error)
            elif finished(job):
                self.waiting.remove(job)
                self.done(job, None)
            elif len(self.running) < self.at_once and (job.after is None or job.after.out not in busy):
                self.waiting.remove(job)
                self._start(job)

    def _start(self, job: Job) -> None:
        self.say(f"{job.label}: log in {job.out / LOG}")
        job.out.mkdir(parents=True, exist_ok=True)
        ours, theirs = _SPAWN.Pipe(duplex=False)
        process = _SPAWN.Process(target=_work, args=(job, theirs, _threads(self.at_once)))
        with _interrupts_held():
            process.start()
        theirs.close()
        self.running.append(_Running(job, process, ours))

    def _end(self, ended: _Running) -> None:
        self.running.remove(ended)
        ended.process.join()
        try:
            error: str | None = ended.told.recv()
        except EOFError:
            error = f"its process ended with code {ended.process.exitcode}; see {ended.job.out / LOG}"
        if error is not None:
            self.failed.add(ended.job.out)
        self.done(ended.job, error)


_SPAWN = multiprocessing.get_context("spawn")  # a forked process could not use CUDA


def _work(job: Job, tell: Connection, threads: int) -> None:
    """What a process does: its own group, so that the terminal's Ctrl-C reaches the parent alone; its own log."""
    os.setpgrp()
    log = os.open(job.out / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background inherits deafness to Ctrl-C
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        tell.send(attempt(job))
    except KeyboardInterrupt as stop:
        sys.exit(f"interrupted: {stop}")


def _stop_with_parent() -> None:
    """A parent that was killed passes nothing on, and no Ctrl-C reaches what it left behind, in a group of its own."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A process that starts in here inherits a blocked Ctrl-C, and unblocks it once it can stop in order."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _threads(at_once: int) -> int:
    """Each process's share of the cores; with all of them each, they would wait for one another."""
    return max(1, torch.get_num_threads() // at_once)
