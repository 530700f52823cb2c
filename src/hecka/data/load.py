"""A data set by its name: found below the data root, read, and marked where it is not the published one.

    load("mnist")   load("svhn", "test")   load("folder:my/pictures")   load("npz:mine.npz", "test")

A part of a set, or a file with another checksum than the published one, is read all the same, for many good copies are
packed anew; the data's ``notes`` say so, and whatever is made from it carries them on.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from torch import Tensor

from hecka.data import fetch as net
from hecka.data.catalogue import find, spaced
from hecka.data.check import FileStatus, status
from hecka.data.dataset import DataSet
from hecka.data.files import ROOT_VARIABLE, File, Split, data_root
from hecka.data.images import ImageData, Whitening
from hecka.data.readers import folder, npz
from hecka.errors import InputError


def load(name: str, split: Split = "train", root: Path | str | None = None, fetch: bool = False) -> ImageData:
    """One split of a data set.

    Args:
        name: of the catalogue; or "folder:PATH", a folder with train/CLASS/ and test/CLASS/ full of pictures; or
            "npz:PATH", a file with train_images, train_labels, test_images and test_labels.  A set of one's own is
            whitened to [-1, 1].
        split: "train" or "test".
        root: the folder that holds all sets; HECKA_DATA, else the user's cache folder, when None.
        fetch: download what is missing.

    >>> digits = load("digits")
    >>> digits.images.shape, digits.labels[:5], digits.notes
    (torch.Size([1297, 1, 8, 8]), tensor([0, 1, 2, 3, 4]), ())
    """
    if split not in get_args(Split):
        raise InputError(f"load: expected split 'train' or 'test', got {split!r}")
    kind, _, path = name.partition(":")
    if kind == "folder" and path:
        return _own(name, split, *_read_folder(Path(path).expanduser(), split))
    if kind == "npz" and path:
        return _own(name, split, npz.read(Path(path).expanduser(), split), npz.classes(Path(path).expanduser()))
    dataset, place = find(name), data_root(root)
    if fetch:
        net.fetch(name, place, split)
    _expect_something(dataset, split, place)
    images, labels = dataset.layout(place, split)
    if images.shape[1:] != dataset.shape:
        raise InputError(
            f"load: expected images {dataset.shape} for {name!r}, got {tuple(images.shape[1:])} below {place}; "
            "another set lies there under this name"
        )
    statuses = [status(file, place) for file in _read_files(dataset, split)]
    notes = tuple(_count_notes(dataset, split, statuses, len(images)) + _checksum_notes(statuses))
    return ImageData(images, labels, name, split, dataset.class_names(place), dataset.whitening, notes)


def _read_folder(place: Path, split: Split) -> tuple[tuple[Tensor, Tensor], tuple[str, ...]]:
    """The pictures of one split, and its classes, which are the other split's as well: one label has one meaning."""
    classes = {part: folder.subfolders(place / part) for part in get_args(Split) if (place / part).is_dir()}
    if len(set(classes.values())) > 1:
        odd = sorted(set(classes["train"]) ^ set(classes["test"]))
        raise InputError(f"load: expected the same classes in train and test of {place}, got {odd} in one of them")
    return folder.read(place / split), folder.subfolders(place / split)


def _own(name: str, split: Split, content: tuple[Tensor, Tensor], classes: tuple[str, ...]) -> ImageData:
    channels = content[0].shape[1]
    return ImageData(*content, name, split, classes, Whitening((0.5,) * channels, (0.5,) * channels))


def _read_files(dataset: DataSet, split: Split) -> list[File]:
    """Those files whose checksums say something about what was read: an archive only where its contents have none."""
    files = dataset.files_of(split)
    return [file for file in files if file.unpacks_to is None] or list(files)


def _expect_something(dataset: DataSet, split: Split, root: Path) -> None:
    wanted = [file.path if file.unpacks_to is None else file.unpacks_to for file in _read_files(dataset, split)]
    there = [(root / path).is_dir() or File(path).find(root) is not None for path in wanted]
    if wanted and not any(there):
        raise InputError(
            f"load: expected {dataset.title} ({', '.join(wanted)}) below {root}, found nothing of it; run "
            f"`hecka data fetch {dataset.name}`, load with fetch=True, or set {ROOT_VARIABLE} to the folder that has it"
        )


def _count_notes(dataset: DataSet, split: Split, statuses: list[FileStatus], count: int) -> list[str]:
    official = dataset.sizes[split]
    if count == official:
        return []
    found = sum(line.state != "missing" for line in statuses)
    files = f"{found} of {len(statuses)} files found, " if found < len(statuses) else ""
    return [f"{dataset.title} {split}: {files}{spaced(count)} of {spaced(official)} images"]


def _checksum_notes(statuses: list[FileStatus]) -> list[str]:
    notes = []
    for line in statuses:
        if line.state == "differs from the official checksum":
            notes.append(f"{line.path}: checksum differs ({line.found}, published {line.published})")
        elif line.state == "no official checksum":
            notes.append(f"{line.path}: no published checksum to compare with ({line.found})")
    return notes
