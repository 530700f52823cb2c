"""A progress bar for whoever sits in front of a terminal."""

from __future__ import annotations

import time
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress


class Display:
    """A bar with the loss's parts, steps a second and the time that remains; silent where there is no terminal.

    It redraws when ``update`` is called and at no other time: no thread, nothing that waits for a device.

    Args:
        shown: False silences it.
        total: steps of the whole run; None where nobody knows.
        step: steps that an earlier part of the run has done.
    """

    def __init__(self, shown: bool, total: int | None = None, step: int = 0) -> None:
        self._bar = _bar() if shown else None
        self._total = total
        self._first = step
        self._began = time.perf_counter()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._bar.add_task("", total=self._total, completed=self._first, speed=0.0, parts="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, step: int, parts: dict[str, float]) -> None:
        """Redraw after ``step`` steps."""
        if self._bar is None:
            return
        speed = (step - self._first) / max(time.perf_counter() - self._began, 1e-9)  # 1e-9: no division by 0
        text = "  ".join(f"{name} {value:.4g}" for name, value in parts.items())
        self._bar.update(self._bar.task_ids[0], completed=step, speed=speed, parts=text, refresh=True)


def _bar() -> Progress | None:
    """A bar on standard error, or None where that is no terminal, nor a notebook that can redraw."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_jupyter and find_spec("ipywidgets") is None:
        return None  # rich would warn at every redraw, and show nothing
    if not (console.is_terminal or console.is_jupyter):
        return None
    return Progress(
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]:.1f} steps/s"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[parts]}"),
        console=console,
        auto_refresh=False,
    )
