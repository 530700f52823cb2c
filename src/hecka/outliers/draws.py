"""Chance for made-up images: all of it from the caller's generator, in tensors whose sizes are known beforehand.

Numbers are drawn on the generator's device and used on the images'; nothing is read back, so no step waits for a
device.  Sizes that chance would decide become fixed by systematic sampling.  To give one of several kinds, kind k with
probability p_k, to each of ``count`` images, cut the line from 0 to count into lengths ``count * p_k``; with one
u ~ U(0, 1) the points ``u, u + 1, ..., u + count - 1`` say which image is of which kind, in a random order.  Each image
is of kind k with probability p_k, and of each kind no more than ``count * p_k``, rounded up, have to be made; drawing a
kind for each image by itself would need ``count`` of every kind.

Reference: Madow, "On the Theory of Systematic Sampling, II", Annals of Mathematical Statistics 20, 1949.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch
from torch import Tensor


@dataclass(frozen=True)
class Draws:
    """Draws from ``generator``, as tensors of ``dtype`` on ``device``.

    >>> draws = Draws(torch.Generator().manual_seed(0), torch.device("cpu"), torch.float32)
    >>> draws.uniform(2, 3).shape
    torch.Size([2, 3])
    """

    generator: torch.Generator
    device: torch.device
    dtype: torch.dtype

    def constant(self, numbers: Sequence[float]) -> Tensor:
        """(K,) on the device by filling, since a copy from the host could not be part of a CUDA graph."""
        return torch.cat([torch.full((1,), number, device=self.device, dtype=self.dtype) for number in numbers])

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Numbers from [low, high)."""
        numbers = torch.empty(shape, device=self.generator.device, dtype=self.dtype)
        return self._here(numbers.uniform_(low, high, generator=self.generator))

    def normal(self, *shape: int) -> Tensor:
        """Numbers from N(0, 1)."""
        numbers = torch.randn(shape, generator=self.generator, device=self.generator.device, dtype=self.dtype)
        return self._here(numbers)

    def whole(self, *shape: int, low: int, high: int) -> Tensor:
        """Whole numbers from ``low`` to ``high``, both included."""
        numbers = torch.randint(low, high + 1, shape, generator=self.generator, device=self.generator.device)
        return self._here(numbers)

    def coin(self, count: int, probability: float) -> Tensor:
        """(count, 1, 1, 1): True with ``probability``, for each image by itself."""
        return self.uniform(count, 1, 1, 1) < probability

    def kinds(self, count: int, probabilities: Sequence[float]) -> tuple[list[int], Tensor]:
        """How many candidates of each kind to make, and where each image is among them.

        Args:
            count: how many images there are to be.
            probabilities: one a kind; their sum is 1.

        Returns:
            sizes: candidates of each kind.
            index: (count,) into the candidates of all kinds, one kind after another; none is taken twice.

        >>> draws = Draws(torch.Generator().manual_seed(0), torch.device("cpu"), torch.float32)
        >>> sizes, index = draws.kinds(10, [0.35, 0.65])
        >>> sizes, len(index)
        ([4, 7], 10)
        """
        cuts = [0.0, *(count * share for share in accumulate(probabilities[:-1])), float(count)]
        whole, rest = [math.floor(cut) for cut in cuts], [cut % 1 for cut in cuts]
        sizes = [after - before + (rest[k + 1] > rest[k]) for k, (before, after) in enumerate(pairwise(whole))]
        # The first image at or beyond a cut: ceil(cut - u), without a rounding that could differ from ``sizes``.
        starts = self.constant(whole[:-1]) + (self.constant(rest[:-1]) > self.uniform(1))
        offsets = self.constant([0, *accumulate(sizes[:-1])])
        image = self.uniform(count).argsort()
        kind = (image[:, None] >= starts[None, 1:]).sum(dim=1)
        return sizes, image + (offsets - starts).long()[kind]

    def sometimes(self, images: Tensor, probability: float, change: Callable[[Tensor], Tensor]) -> Tensor:
        """Change each of ``images`` (N, C, H, W) with ``probability``; ``change`` gets no more than may be needed."""
        sizes, index = self.kinds(len(images), [probability, 1 - probability])
        candidates = index.argsort()[: sizes[0]]
        changed = (index[candidates] < sizes[0])[:, None, None, None]
        before = images[candidates]
        return images.index_copy(0, candidates, torch.where(changed, change(before), before))

    def _here(self, numbers: Tensor) -> Tensor:
        # Only towards a GPU may a copy be left under way: the host would read numbers that are not there yet.
        return numbers.to(self.device, non_blocking=self.device.type == "cuda")
