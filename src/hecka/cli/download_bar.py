"""What a download shows: a bar a file on a terminal, elsewhere a line a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from hecka.data.download import Progress as Tell


@contextmanager
def download_bar() -> Iterator[Tell]:
    """Gives what `hecka.data.fetch.fetch` tells of every block; all of it goes to standard error."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    tasks: dict[str, TaskID] = {}

    def tell(name: str, done: int, total: int | None) -> None:
        if name not in tasks:
            tasks[name] = bar.add_task(name, total=total, completed=done)
            if bar.disable:
                console.print(f"downloading {name}" + (f", {total / 1e6:.1f} MB" if total else ""), highlight=False)
        bar.update(tasks[name], completed=done, total=total)

    with bar:
        yield tell
