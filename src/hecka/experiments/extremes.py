"""The dozen examples of a set that a run is surest of, and the dozen that it is least sure of.

Copies of one image count once: else a dozen might be one and the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hecka.data.batches import Batches
from hecka.scores.evaluate import Predictor

COUNT = 12


@dataclass(frozen=True, eq=False)
class Pictures:
    """A set as it was evaluated.

    ``images`` (N, C, H, W) uint8; ``labels`` (N,), -1 for outliers; ``group`` (N,) rises from one image to the next and
    stays among copies; ``notes`` say what the set is not.
    """

    images: Tensor
    labels: Tensor
    group: Tensor
    notes: tuple[str, ...]


def extremes(pictures: Pictures, entropy: Tensor, predictor: Predictor, feed: Batches) -> dict[str, np.ndarray]:
    """``least/...`` and ``most/...``: images, entropies, class probabilities and labels by rising and falling doubt."""
    first = torch.cat([torch.ones(1, dtype=torch.bool), pictures.group.diff() != 0]).nonzero()[:, 0]
    order = first[entropy[first].argsort(stable=True)]
    found: dict[str, np.ndarray] = {}
    for name, rows in {"least": order[:COUNT], "most": order.flip(0)[:COUNT]}.items():
        inputs = feed.inputs[rows.to(feed.inputs.device)]
        seen = inputs if feed.transform is None else feed.transform(inputs, feed.generator)
        found |= {
            f"{name}/images": pictures.images[rows].numpy(),
            f"{name}/entropy": entropy[rows].float().numpy(),
            f"{name}/probs": predictor.predict(seen).probs.float().cpu().numpy(),
            f"{name}/labels": pictures.labels[rows].numpy(),
        }
    return found
