"""How each set lies below the data root: which reader takes which files for which split.

A layout is ``layout(root, split) -> images (N, C, H, W) uint8, labels (N,) int64``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from hecka.data.files import Split, present
from hecka.data.readers import ambiguous, cifar, digits, folder, idx, mat
from hecka.errors import InputError

Layout: TypeAlias = Callable[[Path, Split], tuple[Tensor, Tensor]]

IDX_PREFIX: Mapping[Split, str] = {"train": "train", "test": "t10k"}

AMBIGUOUS_FILES = ("amnist_samples.pt", "amnist_labels.pt")

# Published damaged: Pillow finds no picture in them, and most are empty.
NOT_MNIST_DAMAGED = {
    "notMNIST_small/A/RGVtb2NyYXRpY2FCb2xkT2xkc3R5bGUgQm9sZC50dGY=.png",
    "notMNIST_small/F/Q3Jvc3NvdmVyIEJvbGRPYmxpcXVlLnR0Zg==.png",
    "notMNIST_large/A/RnJlaWdodERpc3BCb29rSXRhbGljLnR0Zg==.png",
    "notMNIST_large/A/SG90IE11c3RhcmQgQlROIFBvc3Rlci50dGY=.png",
    "notMNIST_large/A/Um9tYW5hIEJvbGQucGZi.png",
    "notMNIST_large/B/TmlraXNFRi1TZW1pQm9sZEl0YWxpYy5vdGY=.png",
    "notMNIST_large/D/VHJhbnNpdCBCb2xkLnR0Zg==.png",
}


def idx_pair(place: str) -> Layout:
    """MNIST's four files in the folder ``place``."""

    def read(root: Path, split: Split) -> tuple[Tensor, Tensor]:
        start = root / place / IDX_PREFIX[split]
        return idx.read(_file(f"{start}-images-idx3-ubyte.gz"), _file(f"{start}-labels-idx1-ubyte.gz"))

    return read


def cifar_batches(place: str, batches: Mapping[Split, Sequence[str]], labels: str) -> Layout:
    """Those of a split's batch files that are there; at least one."""

    def read(root: Path, split: Split) -> tuple[Tensor, Tensor]:
        paths = [root / place / batch for batch in batches[split]]
        return cifar.read([path for path in paths if path.is_file()] or paths, labels)

    return read


def svhn(root: Path, split: Split) -> tuple[Tensor, Tensor]:
    """One MATLAB file a split."""
    return mat.read(_file(root / "svhn" / f"{split}_32x32.mat"))


def not_mnist(root: Path, split: Split) -> tuple[Tensor, Tensor]:
    """One folder a letter; the small archive tests, the large one trains."""
    place = root / "notMNIST" / ("notMNIST_large" if split == "train" else "notMNIST_small")
    paths, labels = folder.listing(place, "ABCDEFGHIJ")
    whole = [path.relative_to(place.parent).as_posix() not in NOT_MNIST_DAMAGED for path in paths]
    kept = [path for path, good in zip(paths, whole, strict=True) if good]
    return folder.decode(kept, (1, 28, 28)), labels[torch.tensor(whole)]


def tiny_imagenet(root: Path, split: Split) -> tuple[Tensor, Tensor]:
    """Train: one folder a class; test: the official validation images, whose classes stand in a table."""
    place = root / "tiny-imagenet-200"
    classes = sorted(_lines(place / "wnids.txt"))
    if split == "train":
        paths = sorted(place.glob("train/*/images/*.JPEG"))
        names = [path.parents[1].name for path in paths]
    else:
        rows = sorted(line.split("\t") for line in _lines(place / "val" / "val_annotations.txt"))
        paths = [place / "val" / "images" / row[0] for row in rows]
        names = [row[1] for row in rows]
    return folder.decode(paths, (3, 64, 64)), _labels(names, classes, place)


def textures(classes: Sequence[str], size: int) -> Layout:
    """DTD's first partition: its lists for training and validation train, its list for testing tests."""

    def read(root: Path, split: Split) -> tuple[Tensor, Tensor]:
        place = root / "dtd" / "dtd"
        lists = ("train1.txt", "val1.txt") if split == "train" else ("test1.txt",)
        names = sorted(line for name in lists for line in _lines(place / "labels" / name))
        images = folder.decode([place / "images" / name for name in names], (3, size, size))
        return images, _labels([name.partition("/")[0] for name in names], classes, place)

    return read


def ambiguous_mnist(place: str) -> Layout:
    """Two files of tensors in the folder ``place``, each with both splits."""

    def read(root: Path, split: Split) -> tuple[Tensor, Tensor]:
        samples, labels = (_file(root / place / name) for name in AMBIGUOUS_FILES)
        return ambiguous.read(samples, labels, split)

    return read


def bundled_digits(root: Path, split: Split) -> tuple[Tensor, Tensor]:
    """Nothing below the root: scikit-learn brings them."""
    return digits.read(split)


def _file(path: Path | str) -> Path:
    found = present(Path(path))
    if found is None:
        raise InputError(f"data: expected a file at {path}, found none; fetch the set again to complete it")
    return found


def _lines(path: Path) -> list[str]:
    return _file(path).read_text(encoding="utf-8").splitlines()


def _labels(names: Sequence[str], classes: Sequence[str], source: Path) -> Tensor:
    index = {name: label for label, name in enumerate(classes)}
    if unknown := set(names) - set(index):
        raise InputError(f"data: expected only the set's {len(index)} classes in {source}, got {sorted(unknown)[0]!r}")
    return torch.tensor([index[name] for name in names], dtype=torch.int64)
