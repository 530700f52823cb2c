"""Outliers for every batch, made for several steps at once where that is cheaper.

Made-up images take a few hundred small operations however many they are.  On a GPU that is launch time and nothing
else (100 images for LeNet cost more than its training step), so a maker whose ``count`` is k steps' worth is asked once
in k steps, and each step takes the next k-th part.  What is left over is part of the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.types import Batch, Outliers


@dataclass
class OutlierStock:
    """Adds outliers to batches: ``outliers`` makes them, for ``steps`` steps at a time; None adds nothing.

    >>> stock = OutlierStock(lambda inputs, generator: torch.arange(6.0)[:, None], steps=3)
    >>> batch = Batch(torch.zeros(4, 1), torch.zeros(4))
    >>> [stock.add_to(batch, torch.Generator()).outliers.flatten().tolist() for _ in range(4)]
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [0.0, 1.0]]
    """

    outliers: Outliers | None = None
    steps: int = 1
    parts: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not (self.outliers is None or callable(self.outliers)):
            raise InputError(
                "fit: expected outliers= to make outliers of (inputs, generator), got "
                f"a {type(self.outliers).__name__}; to draw 30 a step from a pool of them, pass "
                "lambda inputs, generator: pool[torch.randint(len(pool), (30,), generator=generator)]"
            )
        if self.steps < 1:
            raise InputError(f"fit: expected outlier_steps of at least 1, got {self.steps}")

    def add_to(self, batch: Batch, generator: torch.Generator) -> Batch:
        """The batch with its outliers."""
        if self.outliers is None:
            return batch
        if batch.outliers is not None:
            raise InputError("fit: expected outliers from the data or from outliers=, got both; drop one of them")
        if not self.parts:
            self.parts = list(self._make(self.outliers, batch.inputs, generator).chunk(self.steps))
        return Batch(batch.inputs, batch.targets, self.parts.pop(0))

    def state_dict(self) -> list[Tensor]:
        """The parts of the last call that no step has had yet."""
        return self.parts

    def load_state_dict(self, parts: list[Tensor], device: torch.device) -> None:
        """Go on where ``state_dict`` was taken."""
        self.parts = [part.to(device) for part in parts]

    def _make(self, outliers: Outliers, inputs: Tensor, generator: torch.Generator) -> Tensor:
        made = outliers(inputs, generator)
        if made.shape[1:] != inputs.shape[1:]:
            raise InputError(
                f"fit: expected outliers like one inlier, {tuple(inputs.shape[1:])}, got outliers "
                f"{tuple(made.shape)} with inliers {tuple(inputs.shape)}; see what {type(outliers).__name__} returns"
            )
        if len(made) == 0 or len(made) % self.steps:
            raise InputError(
                f"fit: expected outliers for outlier_steps={self.steps} steps at once, a multiple of {self.steps}, "
                f"got {len(made)}; set the maker's count to {self.steps} times what a step shall see"
            )
        return made
