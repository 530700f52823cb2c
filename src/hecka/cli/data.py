"""``hecka data``: which sets there are, getting and checking them, making one of them, and looking at them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import tyro

from hecka.data.check import FileStatus
from hecka.data.files import Split
from hecka.errors import InputError, nearest

Name: TypeAlias = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME", help="One of `hecka data list`.")]
AnyName: TypeAlias = Annotated[
    tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[NAME]", help="One of `hecka data list`; all if left out.")
]
Root: TypeAlias = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="FOLDER",
        help="Folder that holds all sets, or several as in PATH; else HECKA_DATA's and the cache folder.",
    ),
]


def list_sets(name: AnyName = None, data: Root = None) -> None:
    """All sets, or all about one: what it holds, what a download costs, what is on this machine."""
    from hecka.data.catalogue import describe, find
    from hecka.data.files import data_roots, in_words
    from hecka.data.overview import Line, on_disk, overview
    from hecka.report.tables import markdown

    roots = data_roots(data)
    if name is None:
        print(markdown([field.replace("_", " ") for field in Line._fields], overview(data)))
        print("\nAlso folder:PATH (train/CLASS/ and test/CLASS/ with pictures) and npz:FILE.")
        print(f"Looked in {in_words(roots)}.")
        return
    lines = describe(name) | {"on disk": f"{on_disk(find(name), roots)}, looked in {in_words(roots)}"}
    print("\n".join(f"{about.ljust(9)}  {line}" for about, line in lines.items()))


def fetch_set(
    name: Name,
    split: Annotated[Split | None, tyro.conf.arg(help="One half only; both if left out.")] = None,
    data: Root = None,
) -> None:
    """Download what is missing of a set, check it and unpack it; a broken download goes on where it stopped."""
    from hecka.cli.download_bar import download_bar
    from hecka.data.fetch import fetch

    try:
        with download_bar() as tell:
            lines = fetch(name, data, split, tell)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on from here") from None
    print(_states([(name, line) for line in lines]))


def check_sets(name: AnyName = None, data: Root = None) -> None:
    """Compare what is on disk with what was published.

    Ends with status 1 where a file differs, or where a set that was named lacks one.
    """
    from hecka.data.catalogue import CATALOGUE
    from hecka.data.check import check

    wanted = [name] if name else [each for each, dataset in CATALOGUE.items() if not dataset.parts]
    lines = [(each, line) for each in wanted for line in check(each, data)]
    if name is None:  # what nobody ever fetched is nothing to complain about
        lines = [(each, line) for each, line in lines if line.state != "missing"]
    print(_states(lines))
    if any(line.state in ("missing", "differs from the official checksum") for _, line in lines):
        sys.exit(1)


def make_ambiguous(
    data: Root = None,
    seed: Annotated[int, tyro.conf.arg(help="Of everything drawn.")] = 0,
) -> None:
    """Make a surrogate of Ambiguous-MNIST from MNIST, in minutes; what uses it says "surrogate"."""
    from hecka.experiments.ambiguous import make, table

    start, told = time.perf_counter(), []

    def tell(line: str) -> None:
        told.append(line)
        print(line, flush=True)

    place = make(data, seed, tell)
    took = f"made in {time.perf_counter() - start:.0f} s" if told else "made before"
    print(f"\n{table(place)}\n\n{took}: {place}")


def show_sheet(
    name: Name,
    split: Annotated[Split, tyro.conf.arg(help="Which half.")] = "test",
    out: Annotated[
        Path | None, tyro.conf.arg(help="The picture to write; runs/data/NAME-SPLIT.png if left out.")
    ] = None,
    rows: Annotated[int, tyro.conf.arg(help="Rows of images.")] = 6,
    columns: Annotated[int, tyro.conf.arg(help="Images a row.")] = 12,
    data: Root = None,
) -> None:
    """A picture of some images of a set with their labels: from the clearest to those whose labels contradict most."""
    from hecka.experiments.data_sheet import data_sheet

    print(data_sheet(name, split, out, rows, columns, data))


ACTIONS: dict[str, tuple[Callable[..., None], str]] = {
    "list": (list_sets, "all sets, or all about one: sizes, download, what is on disk"),
    "fetch": (fetch_set, "download a set"),
    "check": (check_sets, "compare what is on disk with what was published"),
    "make-ambiguous": (make_ambiguous, "make a surrogate of Ambiguous-MNIST"),
    "sheet": (show_sheet, "a picture of some images of a set"),
}


def main(arguments: Sequence[str]) -> None:
    """Run the action that the first argument names with the flags that follow it."""
    action, *rest = arguments or ["--help"]
    if action in ("-h", "--help"):
        width = max(map(len, ACTIONS))
        lines = [f"  {name.ljust(width)}  {about}" for name, (_, about) in ACTIONS.items()]
        print("\n".join(["usage: hecka data ACTION [--help] [FLAGS]", "", *lines]))
        return
    if action not in ACTIONS:
        raise InputError(f"data: no action is called {action!r}; {nearest(action, ACTIONS)}")
    tyro.cli(ACTIONS[action][0], args=rest, prog=f"hecka data {action}")


def _states(lines: Sequence[tuple[str, FileStatus]]) -> str:
    """A table of files, and the checksums of those that are not the published ones."""
    from hecka.report.tables import markdown

    if not lines:
        return "no file of any set is here; `hecka data list` says where was looked, `hecka data fetch NAME` gets one"
    table = markdown(["set", "file", "state"], [[name, line.path, line.state] for name, line in lines])
    odd = [
        f"{line.root / line.path}: {line.found}" + (f", published {line.published}" if line.published else "")
        for _, line in lines
        if line.found != line.published and line.found
    ]
    return "\n".join([table, *(["", *odd] if odd else [])])
