"""``hecka report RUN...``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro


def report(
    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(help="Folders of evaluated runs.")],
    out: Annotated[Path, tyro.conf.arg(help="The page.")] = Path("report.html"),
) -> None:
    """One page on these runs, side by side: tables, charts, images and settings, in a single HTML file."""
    from hecka.experiments.report import report as run

    path = run(runs, out)
    print(f"page: {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser")


def main(arguments: Sequence[str]) -> None:
    """Run the command with these flags."""
    tyro.cli(report, args=arguments, prog="hecka report")
