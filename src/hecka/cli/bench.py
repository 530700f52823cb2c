"""``hecka bench``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro


def bench(
    repeats: Annotated[int, tyro.conf.arg(help="Timed rounds; all alternatives run once in each.")] = 15,
    device: Annotated[str, tyro.conf.arg(help="Where to run: cpu, cuda, ...")] = "cpu",
    only: Annotated[tuple[str, ...], tyro.conf.arg(help="Names of comparisons to run; all when empty.")] = (),
    out: Annotated[Path | None, tyro.conf.arg(help="JSON file for the ratios of every round.")] = None,
) -> None:
    """Step times and peak memory against the obvious alternatives, as ratios within one interleaved run."""
    from hecka.bench.table import bench as run

    print(run(repeats, device, only, out, tell=partial(print, file=sys.stderr, flush=True)))


def main(arguments: Sequence[str]) -> None:
    """Run the command with these flags."""
    tyro.cli(bench, args=arguments, prog="hecka bench")
