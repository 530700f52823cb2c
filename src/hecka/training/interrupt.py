"""Ctrl-C between two steps instead of in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Interrupt:
    """Inside this context the first Ctrl-C only sets ``requested``; a second one goes through at once.

    Python delivers signals to the main thread alone; in any other thread this context does nothing.

    >>> with Interrupt() as interrupt:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupt.requested
    True
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def guard(self, batches: Iterable[T]) -> Iterator[T]:
        """The batches, until Ctrl-C: it reaches a DataLoader's workers too, and their death is then no error."""
        try:
            yield from batches
        except RuntimeError:
            if not self.requested:
                raise

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            signal.default_int_handler(number, frame)
        self.requested = True
