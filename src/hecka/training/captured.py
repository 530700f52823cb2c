"""A method's step recorded once as a CUDA graph and replayed ever after: one launch instead of hundreds.

A step of small networks is many small operations, and a GPU waits for the host to start each of them; replayed, they
follow each other at once.  What a graph records are addresses: it reads its inputs where the recorded step found them
and leaves its results where that step left them.  So whatever comes from elsewhere is copied there first; an ensemble's
parameters and buffers never move, and nothing of them is copied.  The numbers are those of an ordinary step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.types import Batch, Members, Method, Params, State, Step

_Shapes: TypeAlias = tuple[tuple[torch.Size, torch.dtype], ...]

MOST = 4  # recordings, each of which holds a step's memory: a full batch, the last of an epoch, and some to spare


class Captured:
    """``method``, recorded at the second step of every shape of batch; the first runs as ever, and sets up libraries.

    Batches of more shapes than ``MOST`` run as ever.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._recordings: dict[_Shapes, _Recording | None] = {}

    def start(self, members: Members) -> State:
        """The method's own start."""
        return self._method.start(members)

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """The method's step, replayed where possible; the next replay overwrites what it returns."""
        shapes = tuple((each.shape, each.dtype) for each in _tensors(batch))
        if shapes not in self._recordings:
            if len(self._recordings) < MOST:
                self._recordings[shapes] = None
            return self._method(members, params, batch, state, generator)
        recording = self._recordings[shapes]
        if recording is None:
            recording = _record(self._method, members, params, batch, state, generator)
            self._recordings[shapes] = recording
        return recording.replay(params, batch, state)


@dataclass(frozen=True)
class _Recording:
    """A graph, where it reads its inputs, and where it leaves its results."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    step: Step

    def replay(self, params: Params, batch: Batch, state: State) -> Step:
        """The recorded step on other numbers."""
        with torch.no_grad():
            for place, value in zip(self.inputs, _inputs(params, batch, state), strict=True):
                if place.data_ptr() != value.data_ptr():
                    place.copy_(value, non_blocking=True)
        self.graph.replay()
        return self.step


def _record(
    method: Method, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
) -> _Recording:
    # Parameters stay in place; drawn ones, batches and states, which are new at every step, get a place of their own.
    params = {name: each if each.is_leaf else each.detach().clone().requires_grad_() for name, each in params.items()}
    outliers = None if batch.outliers is None else batch.outliers.clone()
    batch = Batch(batch.inputs.clone(), batch.targets.clone(), outliers)
    state = {name: each.clone() for name, each in state.items()}
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    try:
        step = _capture(graph, generator.device, lambda: method(members, params, batch, state, generator))
    except RuntimeError as error:
        _recover(generator)
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"fit: capture=True could not record a step of {type(method).__name__} ({reason}); a step that is recorded "
            "must not wait for the device, nor copy anything to it; find what does, or use capture=False"
        ) from error
    return _Recording(graph, tuple(each.detach() for each in _inputs(params, batch, state)), step)


def _capture(graph: torch.cuda.CUDAGraph, device: torch.device, step: Callable[[], Step]) -> Step:
    # Of several devices only the current one is recorded.  And only this thread is watched: a DataLoader's may well
    # talk to the device meanwhile.
    with torch.cuda.device(device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        return step()


def _recover(generator: torch.Generator) -> None:
    """Whatever draws on the device still believes to be recorded after a failure, and refuses, until one succeeds."""
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.device(generator.device), torch.cuda.graph(graph):
        torch.zeros(1, device=generator.device)


def _inputs(params: Params, batch: Batch, state: State) -> tuple[Tensor, ...]:
    return (*params.values(), *_tensors(batch), *state.values())


def _tensors(batch: Batch) -> tuple[Tensor, ...]:
    tensors = (batch.inputs, batch.targets, batch.outliers)
    return tuple(each for each in tensors if each is not None)
