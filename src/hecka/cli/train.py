"""``hecka train RECIPE``: a row of the paper's tables, or a network of one's own."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from hecka.errors import InputError
from hecka.experiments.recipe import Recipe
from hecka.experiments.recipes import about, find, names
from hecka.experiments.recipes.own import own


@dataclass(frozen=True)
class Train:
    """Train by a recipe; any of its fields can be set here.

    Args:
        out: folder of the run; the same command goes on there.
        recipe: what is trained, and how.
        progress: show a bar, where there is a terminal.
    """

    out: Path
    recipe: Annotated[Recipe, tyro.conf.arg(name="")]
    progress: bool = True


def main(arguments: Sequence[str]) -> None:
    """Run the command with these flags."""
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return
    if name.startswith("-"):
        raise InputError(f"train: expected a recipe first, got the flag {name}; `hecka train --help` lists recipes")
    budget, rest = _budget(rest)
    recipe = own(name) if ":" in name else find(name)
    asked = tyro.cli(
        Train,
        args=rest,
        prog=f"hecka train {name}",
        default=Train(out=tyro.MISSING, recipe=recipe.scaled(budget)),
        config=(tyro.conf.AvoidSubcommands,),
    )
    from hecka.experiments.train import train

    run = train(asked.recipe, asked.out, asked.progress)
    last = run.records[-1] if run.records else {}
    shown = {
        key: last[key] for key in ("loss", "gamma", "price", "validation_accuracy", "validation_nll") if key in last
    }
    numbers = ", ".join(f"{key.replace('_', ' ')} {value:.4g}" for key, value in shown.items())
    print(f"{asked.recipe.name}: {run.steps} steps in {run.seconds:.1f} s; {numbers}{_caution(last)}\nrun: {asked.out}")
    print(f"next: hecka evaluate {shlex.quote(str(asked.out))}")


def _caution(last: Mapping[str, float]) -> str:
    """Says so where ``gamma="auto"`` ended with next to no repulsion, which nothing else would show.

    >>> "no repulsion" in _caution({"gamma": 4.5e-5, "price": 0.1}), _caution({"gamma": 0.3, "price": 0.02})
    (True, '')
    """
    if "price" not in last or last["gamma"] > 0.001:  # a hundredth of where it starts
        return ""
    return (
        "\nnote: gamma='auto' ended with next to no repulsion, since members' losses differ by more than diversity may "
        "cost, be it by chance; if members should differ, give gamma a number: --method.gamma 0.5"
    )


def usage() -> str:
    """What ``hecka train --help`` prints."""
    width = max(map(len, names()))
    return "\n".join(
        [
            "usage: hecka train RECIPE --out DIR [--budget SHARE] [--FIELD VALUE ...]",
            "       hecka train PACKAGE.MODULE:FUNCTION --data.name SET --out DIR [--FIELD VALUE ...]",
            "",
            "RECIPE --help lists the fields.  FUNCTION makes one network; SET is of `hecka data list`, or folder:PATH",
            "(train/CLASS/ and test/CLASS/ with pictures), or npz:FILE.",
            "",
            *(f"  {name.ljust(width)}  {about(name)}" for name in names()),
        ]
    )


def _budget(arguments: list[str]) -> tuple[float, list[str]]:
    """The share of work that ``--budget`` asks for: it scales the recipe before any field is set."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--budget", default="1.0")
    found, rest = parser.parse_known_args(arguments)
    try:
        return float(found.budget), rest
    except ValueError as error:
        raise InputError(f"train: expected --budget to be a share above 0 and up to 1, got {found.budget!r}") from error
