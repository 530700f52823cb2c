"""The sets of a run: inliers by name, and outliers as these inliers' network will see them.

"dirty-mnist" is MNIST and Ambiguous-MNIST as published, or where only that is at hand the surrogate, which every result
then says of itself.  Outliers may be of another size or colour: they are resampled and repeated over channels to match,
and whitened as the inliers are.  Two kinds of outliers are made from the inliers' own test set: "inverted" swaps black
and white, "shuffled" moves all pixels by one fixed permutation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from hecka.data.catalogue import names as catalogue_names
from hecka.data.files import Split
from hecka.data.images import ImageData, Whitening
from hecka.data.load import load
from hecka.errors import InputError, nearest

PARTS = {"dirty-mnist": ("MNIST", "Ambiguous-MNIST")}
"""What the parts of a union are called."""

SURROGATE_NOTE = "surrogate Ambiguous-MNIST"
COPIES = 10
"""Each image of Ambiguous-MNIST stands so many times, one after another, with a label each."""


@dataclass(frozen=True, eq=False)
class Source:
    """Inliers of one split.

    ``images`` (N, C, H, W) uint8, ``labels`` (N,) int64; ``part`` (N,) int8 tells the sets of a union apart, ``group``
    (N,) int64 gives copies of one image the same number, and numbers rise by 1 from group to group.
    """

    images: Tensor
    labels: Tensor
    part: Tensor
    group: Tensor
    classes: tuple[str, ...]
    whitening: Whitening
    notes: tuple[str, ...]


def inliers(name: str, split: Split, root: Path | None = None) -> Source:
    """The set of that name.

    >>> digits = inliers("digits", "test")
    >>> digits.images.shape, int(digits.group[-1])
    (torch.Size([500, 1, 8, 8]), 499)
    """
    data = [load("mnist", split, root), ambiguous(split, root)] if name == "dirty-mnist" else [load(name, split, root)]
    copies = [1, COPIES] if name == "dirty-mnist" else [COPIES if name.startswith("ambiguous-mnist") else 1]
    group, groups = [], 0
    for each, times in zip(data, copies, strict=True):
        group.append(groups + torch.arange(len(each)) // times)
        groups = int(group[-1][-1]) + 1
    return Source(
        images=torch.cat([each.images for each in data]),
        labels=torch.cat([each.labels for each in data]),
        part=torch.cat([torch.full((len(each),), index, dtype=torch.int8) for index, each in enumerate(data)]),
        group=torch.cat(group),
        classes=data[0].classes,
        whitening=data[0].whitening,
        notes=tuple(dict.fromkeys(note for each in data for note in each.notes)),
    )


def parts_of(name: str) -> tuple[str, ...]:
    """What the numbers in ``Source.part`` stand for; a set that is no union is one part of its own name.

    >>> parts_of("dirty-mnist"), parts_of("digits")
    (('MNIST', 'Ambiguous-MNIST'), ('digits',))
    """
    return PARTS.get(name, (name,))


def ambiguous(split: Split, root: Path | None = None) -> ImageData:
    """Ambiguous-MNIST as published where it is there, else its surrogate with a note, else an error that helps."""
    try:
        return load("ambiguous-mnist", split, root)
    except InputError as missing:
        try:
            data = load("ambiguous-mnist-surrogate", split, root)
        except InputError:
            raise InputError(
                f"dirty-mnist: expected Ambiguous-MNIST, or a surrogate for it ({missing}); "
                "run `hecka data make-ambiguous` to make one from MNIST"
            ) from missing
    notes = (SURROGATE_NOTE, *(note for note in data.notes if note != SURROGATE_NOTE))
    return ImageData(data.images, data.labels, data.name, split, data.classes, data.whitening, notes)


def outliers(name: str, inlying: Source, root: Path | None = None) -> tuple[Tensor, tuple[str, ...]]:
    """The test images of the set ``name`` (N, C, H, W) uint8 in the inliers' size and colours, with notes."""
    if name in MADE:
        return MADE[name](inlying.images), ()
    if ":" not in name and name not in catalogue_names():
        raise InputError(f"ood: no outlier set is called {name!r}; {nearest(name, [*catalogue_names(), *MADE])}")
    data = load(name, "test", root)
    images, notes = data.images, data.notes
    channels, *size = inlying.images.shape[1:]
    if list(images.shape[2:]) != size:
        images = F.interpolate(images.float(), size=size, mode="bilinear", antialias=True).round().clamp(0, 255).byte()
        notes += (f"resampled from {data.images.shape[2]} x {data.images.shape[3]} pixels",)
    if images.shape[1] != channels:
        notes += (f"{images.shape[1]} channels as {channels}",)
        grey = images.float().mean(1, keepdim=True).round().byte()
        images = grey.expand(-1, channels, -1, -1).contiguous()
    return images, notes


def inverted(images: Tensor) -> Tensor:
    """Black for white.

    >>> inverted(torch.tensor([0, 255], dtype=torch.uint8))
    tensor([255,   0], dtype=torch.uint8)
    """
    return 255 - images


def shuffled(images: Tensor) -> Tensor:
    """The pixels of every image (N, C, H, W) moved by one and the same permutation."""
    count, channels, height, width = images.shape
    order = torch.randperm(height * width, generator=torch.Generator().manual_seed(0))
    return images.flatten(2)[:, :, order].reshape(count, channels, height, width)


MADE: dict[str, Callable[[Tensor], Tensor]] = {"inverted": inverted, "shuffled": shuffled}
