"""Comparing alternatives fairly: interleaved in one run, medians, ratios.

A machine's speed drifts while one measures, by more than the differences that matter.  So every round runs each
alternative once, and only ratios of medians over rounds are reported: what slows a round slows all of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile, record_function

Action = Callable[[], object]

# Where a round is so short that chance decides, more of them cost nothing: as many as fit into a second.
SHORT, MOST_ROUNDS = 1.0, 200

MEASURED = "hecka: measured"  # marks in the profiler's record where the run that counts begins


def interleaved(
    alternatives: Mapping[str, Action], repeats: int, device: torch.device, warmup: int = 3
) -> dict[str, float]:
    """Median seconds of each alternative over ``repeats`` rounds, after ``warmup`` rounds that do not count.

    >>> times = interleaved({"short": lambda: None, "long": lambda: time.sleep(0.01)}, 3, torch.device("cpu"))
    >>> times["short"] < times["long"]
    True
    """
    timed = rounds(alternatives, repeats, device, warmup)
    return {name: median(each[name] for each in timed) for name in alternatives}


def rounds(
    alternatives: Mapping[str, Action], repeats: int, device: torch.device, warmup: int = 3
) -> list[dict[str, float]]:
    """Seconds of each alternative in each of ``repeats`` rounds, after ``warmup`` rounds that do not count."""
    return [_round(alternatives, device) for _ in range(warmup + repeats)][warmup:]


def enough_rounds(alternatives: Mapping[str, Action], repeats: int, device: torch.device) -> int:
    """``repeats``, or more where a round takes no time; warms up all alternatives.

    >>> enough_rounds({"short": lambda: None}, 15, torch.device("cpu"))
    200
    """
    _round(alternatives, device)
    seconds = sum(_round(alternatives, device).values())
    return max(repeats, min(MOST_ROUNDS, int(SHORT / max(seconds, 1e-9))))


def _round(alternatives: Mapping[str, Action], device: torch.device) -> dict[str, float]:
    seconds = {}
    for name, action in alternatives.items():
        _settle(device)
        start = time.perf_counter()
        action()
        _settle(device)
        seconds[name] = time.perf_counter() - start
    return seconds


def peak_memory(action: Action, device: torch.device) -> int:
    """Most bytes that ``action`` holds at once beyond what was held before it; its second run, past one-time buffers.

    >>> peak_memory(lambda: torch.empty(2000), torch.device("cpu"))
    8000
    """
    action()
    if device.type == "cuda":
        _settle(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        action()
        return torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
        action()  # what this run leaves, the next may release: the profiler must have seen it come
        with record_function(MEASURED):
            action()
    # The profiler notes every allocation and release of torch's own allocator, with its sign.
    assert trace.profiler is not None
    assert trace.profiler.kineto_results is not None
    events = trace.profiler.kineto_results.events()
    start = next(event.start_ns() for event in events if event.name() == MEASURED)
    moves = [event for event in events if event.name() == "[memory]" and event.start_ns() >= start]
    held = peak = 0
    for event in sorted(moves, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
