"""``hecka bench``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import tyro


def bench(
    repeats: Annotated[int, tyro.conf.arg(help="Timed rounds; all alternatives run once in each.")] = 15,
    device: Annotated[str, tyro.conf.arg(help="Where to run: cpu, cuda, ...")] = "cpu",
) -> None:
    """Step times and peak memory against the obvious alternatives, as ratios within one interleaved run."""
    from hecka.bench.table import bench as run

    print(run(repeats, device))


def main(arguments: Sequence[str]) -> None:
    """Run the command with these flags."""
    tyro.cli(bench, args=arguments, prog="hecka bench")
