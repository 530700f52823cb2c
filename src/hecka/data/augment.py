"""Random crops and flips of images, a whole batch at once.

    out[b, c, i, j] = padded[b, c, i + dy_b, j' + dx_b],   j' = j or W - 1 - j,   dy, dx uniform on 0, ..., 2 * padding

This is the usual augmentation for CIFAR (He et al., "Deep residual learning for image recognition", CVPR 2016), in which
pictures are padded BEFORE they are whitened, with 0: black.  Here images are whitened once and augmented at every
epoch, so that black is another number in every channel, ``-mean / std``: `Whitening.black`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from hecka.errors import InputError


@dataclass(frozen=True)
class CropAndFlip:
    """Shifts each image by up to ``padding`` pixels either way, and mirrors every second one.

    Args:
        padding: pixels on every side; 0 only flips.
        fill: what lies beyond the border, one number a channel: ``data.whitening.black`` for whitened images; 0 in
            every channel when None, which is black for images in [0, 1] alone.

    >>> augment = CropAndFlip(padding=4, fill=(-1.99, -1.98, -1.71))
    >>> augment(torch.rand(8, 3, 32, 32), torch.Generator().manual_seed(0)).shape
    torch.Size([8, 3, 32, 32])
    """

    padding: int = 4
    fill: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.padding < 0:
            raise InputError(f"CropAndFlip: expected a padding of at least 0 pixels, got {self.padding}")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """``images`` (B, C, H, W), each at a place and a side of its own; nothing waits for a device."""
        if images.dim() != 4 or (self.fill is not None and len(self.fill) != images.shape[1]):
            channels = "C" if self.fill is None else len(self.fill)
            raise InputError(f"CropAndFlip: expected images (B, {channels}, H, W), got {tuple(images.shape)}")
        count, channels, height, width = images.shape
        fill = self.fill or (0.0,) * channels
        # Channel by channel, because a tensor of the values would have to be copied from the host.
        border = (self.padding,) * 4
        padded = torch.cat([F.pad(images[:, c : c + 1], border, value=value) for c, value in enumerate(fill)], dim=1)

        down, right = (self._draw(2 * self.padding, count, generator, images.device) for _ in range(2))
        flipped = self._draw(1, count, generator, images.device) == 1
        rows = torch.arange(height, device=images.device) + down
        across = torch.arange(width, device=images.device)
        columns = torch.where(flipped, across.flip(0), across) + right
        cropped = torch.take_along_dim(padded, rows[:, None, :, None], dim=2)
        return torch.take_along_dim(cropped, columns[:, None, None, :], dim=3)

    @staticmethod
    def _draw(high: int, count: int, generator: torch.Generator, device: torch.device) -> Tensor:
        """(count, 1) whole numbers from 0 to ``high``."""
        drawn = torch.randint(high + 1, (count, 1), generator=generator, device=generator.device)
        return drawn.to(device, non_blocking=device.type == "cuda")
