"""``hecka data sheet NAME``: some images of a set with their labels, the clearest first.

Copies of one image that stand one after another are shown once, with how often each label was given to it; images are
spread evenly over all, by the entropy of their labels and then by class.  So a set whose labels are sure shows its
classes one after another, and one whose labels were drawn shows how images change as labels become unsure.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from hecka.data.files import Split
from hecka.data.images import ImageData
from hecka.data.load import load
from hecka.errors import InputError
from hecka.report.sheets import Panel, sheet

LONGEST = 14
"""Letters of a caption: more would run into the next one."""
MOST_LABELS = 2
"""Labels of one image that a caption names."""


class Unique(NamedTuple):
    """Images (N, C, H, W) without copies, and how often each class was given to each, (N, classes)."""

    images: Tensor
    counts: Tensor


def data_sheet(
    name: str, split: Split = "test", out: Path | None = None, rows: int = 6, columns: int = 12, data: str | None = None
) -> str:
    """Write the sheet and say what it shows.

    Args:
        name: as `hecka.data.load.load` takes it.
        split: which half.
        out: the picture; runs/data/NAME-SPLIT.png when None.
        rows: of images.
        columns: images a row.
        data: where sets are looked for.
    """
    if rows < 1 or columns < 1:
        raise InputError(f"data sheet: expected at least 1 row and 1 column, got {rows} and {columns}")
    found = load(name, split, data)
    unique = without_copies(found.images, found.labels, len(found.classes))
    chosen = evenly(unique, rows * columns)
    path = out or Path("runs") / "data" / f"{name.replace(':', '-').replace('/', '-')}-{split}.png"
    captions = [caption(counts, found.classes) for counts in unique.counts[chosen]]
    cells = [range(start, min(start + columns, len(chosen))) for start in range(0, len(chosen), columns)]
    panel = Panel(
        about(found, unique),
        [unique.images[chosen[cell.start : cell.stop]].float() / 255 for cell in cells],
        [[captions[index] for index in cell] for cell in cells],
    )
    sheet([panel], (), path, title=f"{found.name} {split}")
    notes = "".join(f"\nnote: {note}" for note in found.notes)
    return f"{panel.title}{notes}\npicture: {path}"


def without_copies(images: Tensor, labels: Tensor, classes: int) -> Unique:
    """What stands once of images (N, C, H, W) whose copies follow one another, with the counts of their labels (N,).

    >>> twice = torch.tensor([0, 0, 9]).view(3, 1, 1, 1)
    >>> without_copies(twice, torch.tensor([1, 0, 1]), classes=2).counts
    tensor([[1, 1],
            [0, 1]])
    """
    begins = torch.ones(len(images), dtype=torch.bool)
    begins[1:] = (images[1:] != images[:-1]).flatten(1).any(dim=1)
    group = begins.long().cumsum(0) - 1
    counts = torch.bincount(group * classes + labels, minlength=int(begins.sum()) * classes)
    return Unique(images[begins], counts.view(-1, classes))


def evenly(unique: Unique, number: int) -> Tensor:
    """Rows of ``number`` images, or all there are, spread over the order of entropy and then class."""
    order = unique.counts.argmax(dim=1).argsort(stable=True)
    order = order[entropy(unique.counts)[order].argsort(stable=True)]
    return order[torch.linspace(0, len(order) - 1, min(number, len(order))).long()]


def entropy(counts: Tensor) -> Tensor:
    """Of the labels that each image was given, in nats: (N,)."""
    shares = counts.double() / counts.sum(dim=1, keepdim=True)
    result: Tensor = torch.special.entr(shares).sum(dim=1)
    return result


def caption(counts: Tensor, classes: tuple[str, ...]) -> str:
    """The labels of one image, the most frequent first, with their counts where there are several.

    >>> caption(torch.tensor([0, 10]), ("cat", "dog")), caption(torch.tensor([3, 7]), ("3", "8"))
    ('dog', '8 (7) 3 (3)')
    """
    order = counts.argsort(descending=True, stable=True)[:MOST_LABELS]
    named = [(classes[index], int(counts[index])) for index in order if counts[index]]
    text = named[0][0] if len(named) == 1 else " ".join(f"{name} ({count})" for name, count in named)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def about(data: ImageData, unique: Unique) -> str:
    """How many images there are, and how sure their labels."""
    text = f"{len(unique.images)} images of {len(data.classes)} classes"
    times = len(data) / len(unique.images)
    if times == 1:
        return text
    return f"{text}, {times:.3g} labels each, whose own entropy is {entropy(unique.counts).mean():.2f} nats on average"
