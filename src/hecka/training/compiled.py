"""A compiled method that falls back on the plain one where compilation does not work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from hecka.types import Batch, Members, Method, Params, State, Step


class Compiled:
    """``method`` compiled; where that fails (no C compiler, say), the plain method, with one warning.

    A method knows best which part of it can be compiled: ``method.compiled()`` is used where it exists, and else
    ``torch.compile`` of the whole call.  Failures of the compiler alone are caught, at any step, since a batch of
    another size compiles anew; whatever else a step raises is an error as ever.
    """

    def __init__(self, method: Method) -> None:
        self._plain = method
        self._fast: Any = None
        compiled: Callable[[], Method] | None = getattr(method, "compiled", None)
        try:
            self._fast = compiled() if compiled else torch.compile(method.__call__, fullgraph=True)
        except RuntimeError as error:  # a Python that torch.compile does not know yet
            self._give_up(error)

    def start(self, members: Members) -> State:
        """The method's own start."""
        return self._plain.start(members)

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """The method's step, compiled if possible."""
        from torch._dynamo.exc import TorchDynamoException  # costs a second, which only a compiled run should pay

        if self._fast is None:
            return self._plain(members, params, batch, state, generator)
        # While a graph is recorded nobody may ask, nor is anything compiled: the step before saw the same shapes.
        drawn = None if _is_recorded(generator.device) else generator.get_state()
        try:
            with _traced_gradients():
                step: Step = self._fast(members, params, batch, state, generator)
                return step
        except TorchDynamoException as error:
            if drawn is not None:
                generator.set_state(drawn)
            self._give_up(error)
        return self._plain(members, params, batch, state, generator)

    def _give_up(self, error: Exception) -> None:
        self._fast = None
        reason = " ".join(str(error).strip().split("\n")[:2])  # the first may be no more than the compiler's name
        warnings.warn(f"fit: compile=True failed ({type(error).__name__}: {reason}); going on without it", stacklevel=3)


def _is_recorded(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def _traced_gradients() -> AbstractContextManager[Any]:
    """Lets the compiler look into ``torch.autograd.grad``, with which every method ends; older torch cannot."""
    from torch._dynamo import config

    return config.patch(trace_autograd_ops=True) if hasattr(config, "trace_autograd_ops") else nullcontext()
