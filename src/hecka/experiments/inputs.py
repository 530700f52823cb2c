"""From images to batches: which examples train and which validate, and what happens to a batch on its way.

Images stay uint8 on the device and are augmented and whitened batch by batch: a quarter of the memory, no workers, no
copies from the host.  The split is the same for every seed and method; copies of one image never part.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.data.augment import CropAndFlip
from hecka.data.batches import Batches
from hecka.data.images import Whitening
from hecka.errors import InputError
from hecka.experiments.recipe import DataSettings
from hecka.experiments.sources import Source

SPLIT_SEED = 0
EVALUATION_BATCH = 500

UNUSED, TRAINING, HELD_OUT = 0, 1, 2


class Preparation:
    """Images (B, C, H, W) uint8 -> what a network sees: augmented or not, then whitened."""

    def __init__(self, whitening: Whitening, augment: bool, device: torch.device) -> None:
        self.whitening = whitening
        self.augment = CropAndFlip() if augment else None  # on raw pixels, where the border's 0 is black
        scale = [1 / (255 * std) for std in whitening.std]
        shift = [-mean / std for mean, std in zip(whitening.mean, whitening.std, strict=True)]
        # Here and not in each batch: a copy from the host would make a GPU wait.
        self._scale, self._shift = (torch.tensor(each, device=device).view(-1, 1, 1) for each in (scale, shift))

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Chance comes from ``generator``."""
        if self.augment is not None:
            images = self.augment(images, generator)
        return torch.addcmul(self._shift, images.float(), self._scale)

    def __repr__(self) -> str:
        return f"Preparation({self.whitening}, augment={self.augment})"


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Batches to train on, batches to validate on (None where nothing is held out), and how many examples train."""

    training: Batches
    validation: Batches | None
    examples: int


def whitening_of(source: Source, settings: DataSettings) -> Whitening:
    """The inliers' own whitening, or none."""
    channels = source.images.shape[1]
    return source.whitening if settings.whiten else Whitening((0.0,) * channels, (1.0,) * channels)


def training_data(
    source: Source, settings: DataSettings, batch_size: int, seed: int, device: torch.device
) -> TrainingData:
    """Batches of the training set; ``seed`` decides their order and their augmentation."""
    training, held_out = split(source, settings)
    size = min(batch_size, len(training))
    whitening = whitening_of(source, settings)
    return TrainingData(
        Batches(
            source.images[training],
            source.labels[training],
            size,
            seed=seed,
            drop_last=True,
            device=device,
            transform=Preparation(whitening, settings.augment, device),
        ),
        in_order(source.images[held_out], source.labels[held_out], whitening, device) if len(held_out) else None,
        len(training),
    )


def in_order(images: Tensor, labels: Tensor, whitening: Whitening, device: torch.device) -> Batches:
    """Batches for evaluation: every example once, in order."""
    size = min(EVALUATION_BATCH, len(images))
    transform = Preparation(whitening, augment=False, device=device)
    return Batches(images, labels, size, shuffle=False, device=device, transform=transform)


def split(source: Source, settings: DataSettings) -> tuple[Tensor, Tensor]:
    """Rows that train and rows that validate, each in the set's order; whole groups of copies on either side.

    Of each part of a union the same share is taken.
    """
    generator = torch.Generator().manual_seed(SPLIT_SEED)
    role = torch.full((int(source.group[-1]) + 1,), UNUSED)
    for part in torch.unique(source.part):
        groups = torch.unique(source.group[source.part == part])
        order = groups[torch.randperm(len(groups), generator=generator)]
        used = order[: max(1, round(len(order) * settings.fraction))]
        held = round(len(used) * settings.held_out)
        role[used[:held]], role[used[held:]] = HELD_OUT, TRAINING
    roles = role[source.group]
    training, held_out = (roles == TRAINING).nonzero()[:, 0], (roles == HELD_OUT).nonzero()[:, 0]
    if len(training) == 0:
        raise InputError(
            f"data: expected at least 1 training example, got none from fraction={settings.fraction} and "
            f"held_out={settings.held_out}; use more of the data"
        )
    return training, held_out
