"""What sets there are, what a download would cost, and how much of each is on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hecka.data.catalogue import CATALOGUE, download_size, spaced
from hecka.data.dataset import DataSet
from hecka.data.files import data_roots


class Line(NamedTuple):
    """A set's line in a table; all text."""

    name: str
    train: str
    test: str
    pixels: str
    download: str
    on_disk: str


def overview(root: Path | str | None = None) -> list[Line]:
    """One line a set, in the order of the catalogue.

    >>> overview("nowhere")[0]
    Line(name='mnist', train='60 000', test='10 000', pixels='1 x 28 x 28', download='11.6 MB', on_disk='-')
    """
    roots = data_roots(root)
    return [
        Line(
            name=name,
            train=spaced(dataset.sizes["train"]),
            test=spaced(dataset.sizes["test"]),
            pixels=" x ".join(map(str, dataset.shape)),
            download=download_size(dataset),
            on_disk=on_disk(dataset, roots),
        )
        for name, dataset in CATALOGUE.items()
    ]


def on_disk(dataset: DataSet, roots: Sequence[Path]) -> str:
    """How many of the files that `load` reads are there: "all", "2 of 6 files" or "-"; checksums are not looked at.

    >>> from hecka.data.catalogue import find
    >>> on_disk(find("digits"), [Path("nowhere")])
    'comes with scikit-learn'
    """
    if not dataset.files:
        return "comes with scikit-learn"
    wanted = sum(len(part.contents_of(None)) for part in dataset.whole_parts)
    found = sum(part.found(part.place(roots)) for part in dataset.whole_parts)
    return {0: "-", wanted: "all"}.get(found, f"{found} of {wanted} files")
