"""``hecka demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro


def demo(
    out: Annotated[
        Path, tyro.conf.arg(help="Folder for runs, tables and pictures; the same command goes on there.")
    ] = Path("runs/demo"),
    seeds: Annotated[int, tyro.conf.arg(help="How many seeds; 3 give means and spreads.")] = 1,
    steps: Annotated[int, tyro.conf.arg(help="Training steps of each ensemble.")] = 1000,
) -> None:
    """Five ways to train 30 networks on four classes: a table, and a picture of where each is sure."""
    from hecka.experiments.four_class import demo as run

    print(f"\n{run(out, seeds, steps)}\n\nEntropies in nats; ln 4 = 1.39 is to know nothing. CKA: 1 is alike.")
    print(f"picture: {out / 'four-class.png'}\nnumbers: {out / 'four-class.json'}")


def main(arguments: Sequence[str]) -> None:
    """Run the command with these flags."""
    tyro.cli(demo, args=arguments, prog="hecka demo")
