"""Many runs: nothing twice, failures apart, Ctrl-C in order.  Training is a stand-in but where processes are real."""

import json
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path

import pytest

from hecka import InputError
from hecka.experiments import row_runs
from hecka.experiments.plain import to_plain
from hecka.experiments.recipe import NetworkSettings
from hecka.experiments.recipes import find
from hecka.experiments.row_runs import LOG, Job, finished, run_all
from hecka.experiments.train import check_same

DIGITS = replace(find("digits/ensemble"), epochs=2, device="cpu")


def write_run(recipe, out, epochs=None):
    """What a finished training leaves."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps({"format": 1, "recipe": to_plain(recipe)}))
    (out / "record.jsonl").write_text(json.dumps({"epoch": epochs or recipe.epochs, "step": 9}) + "\n")
    (out / "checkpoint.safetensors").write_bytes(b"weights")


def write_evaluation(out, ood):
    (out / "evaluation.json").write_text(json.dumps({"outliers": {name: {} for name in ood}}))


@pytest.fixture
def calls(monkeypatch):
    """Stand-ins that note who was trained, and fail for seeds of 10 and more."""
    made = []

    def train(recipe, out, progress):
        check_same(recipe, out)
        made.append(out.name)
        if recipe.seed == 10:
            raise RuntimeError("out of memory\nat step 3")
        if recipe.seed == 11:
            raise InputError("first\n  second")
        write_run(recipe, out)

    def evaluate_run(run, root, device, progress):
        write_evaluation(run, DIGITS.ood)

    monkeypatch.setattr(row_runs, "train", train)
    monkeypatch.setattr(row_runs, "evaluate_run", evaluate_run)
    return made


def job(folder, name, seed=0, after=None):
    return Job(name, replace(DIGITS, seed=seed), folder / name, after)


def outcome(jobs, at_once=1):
    """Error or None of every job, in the order in which they ended."""
    ended = {}
    run_all(jobs, at_once, lambda job, error: ended.update({job.label: error}), say=lambda line: None)
    return ended


def test_what_is_finished_is_not_done_again(tmp_path, calls):
    jobs = [job(tmp_path, "a"), job(tmp_path, "b")]
    assert outcome(jobs) == {"a": None, "b": None}
    assert outcome(jobs) == {"a": None, "b": None}
    assert calls == ["a", "b"]


def test_where_all_is_finished_nobody_waits(tmp_path, calls):
    jobs = [job(tmp_path, "a"), job(tmp_path, "b")]
    assert outcome(jobs) == outcome(jobs, at_once=2) == {"a": None, "b": None}


def test_what_a_failure_leaves_last_is_told_without_waiting(tmp_path, monkeypatch):
    """Nothing runs any more when the child's turn comes."""
    broken = job(tmp_path, "broken")
    monkeypatch.setattr(row_runs._Pool, "_start", lambda pool, started: pool.failed.add(started.out))
    ended = outcome([broken, job(tmp_path, "child", after=broken)], at_once=2)
    assert ended == {"child": "not started, because broken failed, from which it goes on"}


@pytest.mark.parametrize("what", ["unfinished", "not evaluated", "trained further", "another set", "no weights"])
def test_a_run_counts_as_finished_only_when_all_of_it_is_there(tmp_path, what):
    run = job(tmp_path, "a")
    write_run(run.recipe, run.out, epochs=1 if what == "unfinished" else None)
    write_evaluation(run.out, run.recipe.ood[:1] if what == "another set" else run.recipe.ood)
    if what == "not evaluated":
        (run.out / "evaluation.json").unlink()
    if what == "no weights":
        (run.out / "checkpoint.safetensors").unlink()
    if what == "trained further":
        later = (run.out / "evaluation.json").stat().st_mtime + 5
        os.utime(run.out / "checkpoint.safetensors", (later, later))
    assert not finished(run)


def test_a_whole_run_counts_wherever_it_was_computed(tmp_path):
    run = job(tmp_path, "a")
    write_run(replace(run.recipe, device="cuda", data=replace(run.recipe.data, root=Path("/elsewhere"))), run.out)
    write_evaluation(run.out, run.recipe.ood)
    assert finished(run)


def test_a_failure_is_told_and_stops_only_what_goes_on_from_it(tmp_path, calls):
    broken = job(tmp_path, "broken", seed=10)
    jobs = [broken, job(tmp_path, "refused", seed=11), job(tmp_path, "child", after=broken), job(tmp_path, "fine")]
    assert outcome(jobs) == {
        "broken": "RuntimeError: out of memory",
        "refused": "first; second",
        "child": "not started, because broken failed, from which it goes on",
        "fine": None,
    }
    assert calls == ["broken", "refused", "fine"]


def test_a_folder_with_another_run_is_refused_and_kept(tmp_path, calls):
    run = job(tmp_path, "a")
    write_run(replace(run.recipe, epochs=7), run.out)
    assert "epochs" in outcome([run])["a"]
    assert calls == []


def test_ctrl_c_goes_through(tmp_path, monkeypatch):
    def interrupted(recipe, out, progress):
        raise KeyboardInterrupt("stopped after step 7")

    monkeypatch.setattr(row_runs, "train", interrupted)
    with pytest.raises(KeyboardInterrupt, match="step 7"):
        outcome([job(tmp_path, "a")])


def test_at_least_one_at_once(tmp_path):
    with pytest.raises(InputError, match="at least 1 at once"):
        run_all([], 0, lambda job, error: None, print)


@pytest.mark.slow
def test_processes_train_beside_each_other_and_fail_apart(tmp_path):
    first = Job("first", replace(DIGITS, steps=2, clip=-1.0), tmp_path / "first")
    fine = Job("fine", replace(DIGITS, steps=2), tmp_path / "fine")
    child = Job("child", replace(DIGITS, steps=2), tmp_path / "child", first)
    ended = {}
    run_all([first, child, fine], 2, lambda job, error: ended.update({job.label: error}), say=lambda line: None)
    assert ended["fine"] is None
    assert finished(fine)
    assert "clip" in ended["first"]
    assert ended["child"].startswith("not started")
    assert (fine.out / LOG).exists()


TELLING = """
import os, pathlib
from torch import nn

class Telling(nn.Sequential):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 9:
            pathlib.Path(__file__).with_name(f"{os.getpid()}.trains").touch()
        return super().forward(x)

def make_net():
    return Telling(nn.Flatten(), nn.Linear(64, 10))
"""


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """Two jobs that would take days, of a network that leaves a file when its training is under way."""
    (tmp_path / "telling.py").write_text(TELLING)
    monkeypatch.syspath_prepend(tmp_path)
    recipe = replace(DIGITS, epochs=100_000, network=NetworkSettings("telling:make_net", channels_last=False))
    return [Job(name, recipe, tmp_path / name) for name in ("a", "b")]


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def all_train(jobs):
    return wait_until(lambda: len(list(jobs[0].out.parent.glob("*.trains"))) == len(jobs))


def has_saved(job):
    return (job.out / "checkpoint.safetensors").exists() and "stopped after step" in (job.out / LOG).read_text()


@pytest.fixture
def deaf_at_first(monkeypatch):
    """As in the background: Ctrl-C is ignored, and so it is in what is started then; this process hears it later."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def hear_and_wait(sentinels):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return wait(sentinels)

    monkeypatch.setattr(row_runs, "wait", hear_and_wait)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_lets_processes_save_first_and_the_same_call_goes_on(endless, deaf_at_first):
    def interrupt():
        if all_train(endless):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt, match="the same command goes on"):
        run_all(endless, 2, lambda job, error: None, say=lambda line: None)
    assert all(has_saved(job) for job in endless)


SLEEPING = """
import os, pathlib, time

def make_net():
    pathlib.Path(__file__).with_name(f"{os.getpid()}.trains").touch()
    time.sleep(1000)
"""


@pytest.mark.slow
def test_ctrl_c_ends_processes_that_do_not_train_yet(endless, deaf_at_first):
    """Before its training a process has no handler of its own but the usual one, even if it was started deaf."""
    (endless[0].out.parent / "telling.py").write_text(SLEEPING)

    def interrupt():
        if all_train(endless):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_all(endless, 2, lambda job, error: None, say=lambda line: None)
    assert all("interrupted" in (job.out / LOG).read_text() for job in endless)


@pytest.mark.slow
def test_processes_whose_parent_was_killed_save_and_end(endless):
    parent = multiprocessing.get_context("spawn").Process(target=run_all, args=(endless, 2, print, print))
    parent.start()
    assert all_train(endless)
    parent.kill()
    assert wait_until(lambda: all(has_saved(job) for job in endless))
