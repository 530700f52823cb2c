"""What the catalogue says of one data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hecka.data.files import File, Split
from hecka.data.images import Whitening
from hecka.data.layouts import Layout


@dataclass(frozen=True)
class DataSet:
    """One set of the catalogue.

    Args:
        name: what `load` is called with.
        title: what publications call it.
        about: what it shows, and what a reader of results should know about its splits.
        licence: as its publisher states it.
        citation: author, title, year.
        classes: in the order of the labels; empty where a published file (``class_list``) names them.
        shape: (C, H, W) of one image.
        whitening: mean and std of the training images' channels, as publications use them.
        sizes: official number of images of each split.
        files: what it consists of, archives before what comes out of them.
        layout: reads it from below the data root.
        class_list: the published file with one class a line; labels follow its sorted lines.
    """

    name: str
    title: str
    about: str
    licence: str
    citation: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    whitening: Whitening
    sizes: Mapping[Split, int]
    files: tuple[File, ...]
    layout: Layout
    class_list: str = ""

    def files_of(self, split: Split | None) -> tuple[File, ...]:
        """What one split needs, or all."""
        return tuple(file for file in self.files if split is None or split in file.splits)

    def class_names(self, root: Path) -> tuple[str, ...]:
        """The classes in the order of the labels."""
        return self.classes or tuple(sorted((root / self.class_list).read_text(encoding="utf-8").split()))
