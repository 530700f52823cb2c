"""The command ``hecka``: each command is a function whose arguments are its flags."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import tyro

from hecka.errors import HeckaError

OutFolder = Annotated[Path, tyro.conf.arg(help="Folder for runs, tables and pictures; the same command goes on there.")]


def demo(
    out: OutFolder = Path("runs/demo"),
    seeds: Annotated[int, tyro.conf.arg(help="How many seeds; 3 give means and spreads.")] = 1,
    steps: Annotated[int, tyro.conf.arg(help="Training steps of each ensemble.")] = 1000,
) -> None:
    """Five ways to train 30 networks on four classes: a table, and a picture of where each is sure."""
    from hecka.experiments.four_class import demo as run

    print(f"\n{run(out, seeds, steps)}\n\nEntropies in nats; ln 4 = 1.39 is to know nothing. CKA: 1 is alike.")
    print(f"picture: {out / 'four-class.png'}\nnumbers: {out / 'four-class.json'}")


def bench(
    repeats: Annotated[int, tyro.conf.arg(help="Timed rounds; all alternatives run once in each.")] = 15,
    device: Annotated[str, tyro.conf.arg(help="Where to run: cpu, cuda, ...")] = "cpu",
) -> None:
    """Step times and peak memory against the obvious alternatives, as ratios within one interleaved run."""
    from hecka.bench.table import bench as run

    print(run(repeats, device))


def main() -> None:
    """Entry point of the command."""
    try:
        tyro.extras.subcommand_cli_from_dict({"demo": demo, "bench": bench}, prog="hecka", description=__doc__)
    except HeckaError as error:
        sys.exit(f"hecka: {error}")
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "", file=sys.stderr)
        sys.exit(130)
