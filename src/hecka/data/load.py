"""A data set by its name: found below the data root, read, and marked where it is not the published one.

    load("mnist")   load("svhn", "test")   load("folder:my/pictures")   load("npz:mine.npz", "test")

A part of a set, or a file with another checksum than the published one, is read all the same, for many good copies are
packed anew; the data's ``notes`` say so, and whatever is made from it carries them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from hecka.data import fetch as net
from hecka.data.catalogue import find, spaced
from hecka.data.check import FileStatus, status
from hecka.data.dataset import DataSet
from hecka.data.files import ROOT_VARIABLE, Split, data_roots, in_words
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
        root: the folder that holds all sets, or several with ``os.pathsep`` between them; those of HECKA_DATA and the
            user's cache folder when None.
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
    dataset = find(name)
    if fetch:
        net.fetch(name, root, split)
    found = [_read(part, split, data_roots(root), name) for part in dataset.whole_parts]
    counts = torch.tensor([len(part.images) for part in found])
    statuses = [line for part in found for line in part.statuses]
    notes = [part.note for part in dataset.whole_parts if part.note]
    notes += _count_notes(dataset, split, statuses, int(counts.sum())) + _checksum_notes(statuses)
    return ImageData(
        _joined([part.images for part in found]),
        _joined([part.labels for part in found]),
        name,
        split,
        dataset.class_names(found[0].place),
        dataset.whitening,
        tuple(notes),
        torch.arange(len(found), dtype=torch.int8).repeat_interleave(counts) if dataset.parts else None,
    )


class _Read(NamedTuple):
    """What was read of a set that is no union, where, and how its files compare with the published ones."""

    images: Tensor
    labels: Tensor
    place: Path
    statuses: list[FileStatus]


def _read(dataset: DataSet, split: Split, roots: Sequence[Path], asked: str) -> _Read:
    place = dataset.place(roots, split)
    wanted = dataset.contents_of(split)
    if wanted and dataset.found(place, split) == 0:
        files = ", ".join(file.unpacks_to or file.path for file in wanted)
        get = dataset.made_by or f"hecka data fetch {asked}"
        raise InputError(
            f"load: expected {dataset.title} ({files}) below {in_words(roots)}, found nothing of it; run `{get}`"
            + ("" if dataset.made_by else ", load with fetch=True,")
            + f" or set {ROOT_VARIABLE} to the folder that has it"
        )
    assert dataset.layout is not None  # only a union has none
    images, labels = dataset.layout(place, split)
    if images.shape[1:] != dataset.shape:
        raise InputError(
            f"load: expected images {dataset.shape} for {dataset.name!r}, got {tuple(images.shape[1:])} below {place}; "
            "another set lies there under this name"
        )
    return _Read(images, labels, place, [status(file, place) for file in wanted])


def _joined(tensors: list[Tensor]) -> Tensor:
    """One after the other; a single one, which may be a gigabyte, without a copy."""
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors)


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
