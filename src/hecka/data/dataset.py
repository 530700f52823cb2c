"""What the catalogue says of one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        layout: reads it from below the folder that holds it; None for a union.
        parts: for a union, the sets that stand in it one after the other; each may lie in another folder.
        class_list: the published file with one class a line; labels follow its sorted lines.
        made_by: for a set that nobody publishes, the command that makes it.
        stand_in_by: the command that makes a stand-in where the published files cannot be had.
        note: what every result from this set has to say of it.
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
    layout: Layout | None
    parts: tuple[DataSet, ...] = ()
    class_list: str = ""
    made_by: str = ""
    stand_in_by: str = ""
    note: str = ""

    @property
    def whole_parts(self) -> tuple[DataSet, ...]:
        """The sets that are no unions: this one's parts, or itself."""
        return self.parts or (self,)

    def files_of(self, split: Split | None) -> tuple[File, ...]:
        """What one split needs, or all."""
        return tuple(file for file in self.files if split is None or split in file.splits)

    def contents_of(self, split: Split | None) -> tuple[File, ...]:
        """What `load` reads: archives only where nothing is known of their contents."""
        files = self.files_of(split)
        return tuple(file for file in files if file.unpacks_to is None) or files

    def found(self, root: Path, split: Split | None = None) -> int:
        """How many files, or unpacked archives, lie below ``root``."""
        return sum(file.is_there(root) for file in self.contents_of(split))

    def place(self, roots: Sequence[Path], split: Split | None = None) -> Path:
        """The folder of ``roots`` that holds most of the set: the first where several hold as much."""
        return max(roots, key=lambda root: self.found(root, split))  # max keeps to the first of equals

    def class_names(self, root: Path) -> tuple[str, ...]:
        """The classes in the order of the labels."""
        return self.classes or tuple(sorted((root / self.class_list).read_text(encoding="utf-8").split()))
