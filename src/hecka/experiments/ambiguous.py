"""Ambiguous-MNIST made anew, for whoever cannot get the published files: digits between two classes, with drawn labels.

    x = g(t m(a) + (1 - t) m(b)),   y_1, ..., y_10 ~ p(x) = mean_j softmax_j(x)

Images are those of `between_digits`; labels are drawn from what its judges say.  Nothing of a picture is on both sides:
the VAE and the judges see MNIST's training images alone, the training half lies between those, and the test half
between MNIST's test images.

Reference: Mukhoti et al., "Deep Deterministic Uncertainty", CVPR 2023.  It publishes the images and outlines how they
were made; every number here is hecka's own, chosen so that the labels' mean entropy comes out as the published one.
The best answer is right more often than there, .87 against .82 to .84 (docs/data.md).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hecka.data.download import writing
from hecka.data.files import data_roots, writable
from hecka.data.grey_sets import MNIST, SURROGATE_FOLDER
from hecka.data.layouts import AMBIGUOUS_FILES
from hecka.data.load import load
from hecka.errors import InputError
from hecka.experiments.between_digits import Judged, choose, train_judges
from hecka.experiments.digit_vae import train_vae
from hecka.report.tables import markdown

IMAGES = 6_000
"""In each half, as published."""
LABELS = 10
"""Drawn for each image, as published."""
VAE_EPOCHS = 12
JUDGES_IMAGES, JUDGES_EPOCHS = 20_000, 4
"""Enough for 98 % on MNIST's test images, in a minute."""

STATISTICS = "statistics.json"
ROWS = {
    "images": ("unique images in each half", "6000"),
    "labels": ("labels drawn for each", "10"),
    "entropy": ("mean entropy of the labels' distribution, nats", "about .43"),
    "ceiling": ("its mean greatest probability: the best expected accuracy", ".816 to .837"),
    "drawn": ("the same answers' accuracy on the labels drawn", ".816 to .837"),
    "disagreement": ("mean mutual information of the judges, nats", ""),
    "candidates": ("candidates to choose from", ""),
}
"""What is counted of each half, and the published value where one is known."""


def make(data: str | None = None, seed: int = 0, tell: Callable[[str], None] = print) -> Path:
    """Make the surrogate and return its folder; where it lies already, only that.

    It is written to the first data folder that can be written to: those of ``data``, else of HECKA_DATA and then the
    user's cache folder.  One seed gives the same files again, on one machine with one number of threads.

    Args:
        data: where MNIST is found and the surrogate goes.
        seed: of everything drawn.
        tell: is told what is being done.
    """
    roots = data_roots(data)
    for root in roots:
        if (root / SURROGATE_FOLDER).exists():
            return _made_before(root / SURROGATE_FOLDER, seed)
    place = writable(roots) / SURROGATE_FOLDER
    train, test = (load(MNIST.name, split, data) for split in ("train", "test"))
    tell("1/4  an autoencoder of MNIST's training images")
    vae = train_vae(train.images, seed, VAE_EPOCHS)
    tell("2/4  an ensemble of LeNets to judge by")
    some = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))[:JUDGES_IMAGES]
    judges = train_judges(train.images[some], train.labels[some], seed, JUDGES_EPOCHS)
    halves: list[tuple[Tensor, Tensor]] = []
    found: dict[str, Any] = {"seed": seed, "torch": torch.__version__}
    for digits in (train, test):
        tell(f"{len(halves) + 3}/4  images between MNIST's {digits.split} digits")
        generator = torch.Generator().manual_seed(2 * seed + len(halves))  # no two halves, of any seed, alike
        half, candidates = choose(vae, judges, digits.images, digits.labels, IMAGES, generator)
        labels = torch.multinomial(half.probs, LABELS, replacement=True, generator=generator)
        halves.append((half.images.float() / 255, labels))
        found[digits.split] = statistics(half, labels) | {"candidates": candidates}
    samples, labels = (torch.cat(tensors) for tensors in zip(*halves, strict=True))
    store(place, samples, labels, found)
    return place


def statistics(half: Judged, labels: Tensor) -> dict[str, float]:
    """What one half and its ``labels`` (N, L) are like, by the names of ``ROWS``.

    >>> sure = Judged(torch.zeros(2, 1, 28, 28), torch.eye(10)[:2], torch.zeros(2))
    >>> statistics(sure, torch.tensor([[0, 0], [1, 2]]))["drawn"]
    0.75
    """
    best, answer = half.probs.max(dim=1)
    return {
        "images": len(labels),
        "labels": labels.shape[1],
        "entropy": half.entropy.mean().item(),
        "ceiling": best.mean().item(),
        "drawn": (labels == answer[:, None]).float().mean().item(),
        "disagreement": half.disagreement.mean().item(),
    }


def store(place: Path, samples: Tensor, labels: Tensor, found: Mapping[str, Any]) -> None:
    """Both tensors and ``found`` in a folder that appears at ``place`` in one step."""
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
        try:
            for name, tensor in zip(AMBIGUOUS_FILES, (samples, labels), strict=True):
                torch.save(tensor, room / name)
            (room / STATISTICS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            room.chmod(0o755)  # mkdtemp's is the owner's alone
            os.replace(room, place)
        finally:
            shutil.rmtree(room, ignore_errors=True)


def table(place: Path) -> str:
    """The statistics of the surrogate at ``place`` beside the published ones."""
    found = read_statistics(place)
    rows = [
        [about, *(_number(found[split][name]) for split in ("train", "test")), published]
        for name, (about, published) in ROWS.items()
    ]
    return markdown(["", "train", "test", "published"], rows)


def read_statistics(place: Path) -> dict[str, Any]:
    """What was counted when the surrogate at ``place`` was made."""
    try:
        found: dict[str, Any] = json.loads((place / STATISTICS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"make-ambiguous: expected {STATISTICS} in {place}, got {error}; delete the folder and make it again"
        ) from error
    return found


def _made_before(place: Path, seed: int) -> Path:
    if (made := read_statistics(place)["seed"]) != seed:
        raise InputError(
            f"make-ambiguous: expected seed {made}, with which the surrogate at {place} was made, got {seed}; delete "
            "that folder, or choose another by --data"
        )
    return place


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
