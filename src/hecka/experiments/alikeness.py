"""How alike the members of a run see the test set: unbiased CKA between all layers of all members.

The examples, at most 10 000, stand at equal distances in the test set, so that each part of a union has its share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hecka.data.batches import Batches
from hecka.members.ensemble import Ensemble
from hecka.members.evaluation import evaluation_mode
from hecka.members.hypernetwork import Hypernetwork
from hecka.similarity.cka import CKAGrid

MOST = 10_000


@dataclass(frozen=True, eq=False)
class Alikeness:
    """CKA of (layer, member) with (layer', member'): ``values`` (L, M, L, M) of ``examples`` at ``taps``."""

    values: Tensor
    taps: tuple[str, ...]
    examples: int


@torch.no_grad()
def cka_grid(members: Ensemble | Hypernetwork, inliers: Batches) -> Alikeness:
    """CKA between all layers of all members, batch by batch; a last batch that is too small to say much is left out."""
    count = min(MOST, len(inliers.inputs))
    rows = torch.linspace(0, len(inliers.inputs) - 1, count, dtype=torch.float64).long().to(inliers.inputs.device)
    sample = Batches(
        inliers.inputs[rows],
        inliers.targets[rows],
        min(count, inliers.batch_size),
        shuffle=False,
        drop_last=True,
        transform=inliers.transform,
    )
    grid = CKAGrid()
    with evaluation_mode(members):
        params = members.params()
        for batch in sample:
            grid.update(members.run(params, batch.inputs).features)
    return Alikeness(grid.compute().cpu(), grid.taps, len(sample) * sample.batch_size)


def cka_summary(grid: Alikeness) -> dict[str, Any]:
    """Means over pairs of different members: layer by layer, of all layers, and of each layer with each other.

    >>> values = torch.tensor([[1.0, 0.4], [0.4, 1.0]]).reshape(1, 2, 1, 2)
    >>> cka_summary(Alikeness(values, ("fc",), 8))["mean"]
    0.4
    """
    members = grid.values.shape[1]
    different = 1 - torch.eye(members, dtype=torch.float64)
    layers = torch.einsum("lmkn,mn->lk", grid.values.double(), different) / (members * (members - 1))
    own = layers.diagonal().tolist()
    return {
        "taps": list(grid.taps),
        "per_layer": {tap: round(value, 6) for tap, value in zip(grid.taps, own, strict=True)},
        "mean": round(sum(own) / len(own), 6),
        "layers": [[round(value, 6) for value in row] for row in layers.tolist()],
        "examples": grid.examples,
    }
