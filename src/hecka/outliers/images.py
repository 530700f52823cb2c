"""Outliers for image data: training images broken beyond repair, and noise.

Each image is a broken training image (``BROKEN``) or noise (the others).  Both are then made more various: an affine
map, an inversion, a blur and Gaussian noise, each with its own probability, in this order.

All that happens between -1, black, and 1, white: the least and the greatest value of each channel.  In this unit an
inversion is a change of sign and grey is 0, whatever whitening the training set went through; a change of the training
set's scale changes the outliers' scale and nothing else.

Reference: the appendix "OOD Images for MNIST and CIFAR" of the HE-CKA paper, with its published numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.outliers.broken import broken_images
from hecka.outliers.channels import noise_images
from hecka.outliers.distort import random_blur, random_fill, turn, warp
from hecka.outliers.draws import Draws

BROKEN = 0.35
"""Share of broken training images."""

AFFINE = 0.75
TURN = 180.0
"""At most so many degrees either way, with ``AFFINE``'s probability, as the next two."""
SHIFT = 0.1
"""At most so many sides."""
SCALE = (0.8, 1.5)

INVERSION_GREY, INVERSION_COLOUR = 0.05, 0.5
"""Probability for images of one channel and of more."""

BLUR = 0.3

NOISE = 0.25
NOISE_SIGMA = (0.005, 0.2)
"""The paper's .01 to .4 are standard deviations of the data; one is about half of the unit here (.4 to .6)."""


@dataclass(frozen=True)
class Images:
    """Draws ``count`` outliers for images whose channels lie between ``black`` and ``white``.

    Args:
        black: least value of each channel; (0 - mean) / std for whitened pixels.
        white: greatest value of each channel; (1 - mean) / std for whitened pixels.
        count: how many images a call returns.

    >>> outliers = Images(black=(0.0, 0.0, 0.0), white=(1.0, 1.0, 1.0), count=10)
    >>> outliers(torch.rand(4, 3, 32, 32), torch.Generator().manual_seed(0)).shape
    torch.Size([10, 3, 32, 32])
    """

    black: tuple[float, ...]
    white: tuple[float, ...]
    count: int = 100

    def __post_init__(self) -> None:
        if not len(self.black) == len(self.white) >= 1:
            raise InputError(
                f"Images: expected one black and one white a channel, got {len(self.black)} and {len(self.white)}"
            )
        for channel, (black, white) in enumerate(zip(self.black, self.white, strict=True)):
            if not (black < white and math.isfinite(white - black)):
                raise InputError(
                    f"Images: expected finite black < white, got {black} and {white} (channel {channel}); "
                    "give the range of pixels that the channel could have"
                )
        if self.count < 1:
            raise InputError(f"Images: expected a count of at least 1, got {self.count}")

    @classmethod
    def like(cls, images: Tensor, count: int = 100) -> Images:
        """Outliers in the range of a training set's ``images`` (N, C, H, W), channel by channel.

        >>> Images.like(torch.tensor([-0.5, 2.75]).view(2, 1, 1, 1))
        Images(black=(-0.5,), white=(2.75,), count=100)
        """
        if images.ndim != 4 or images.numel() == 0:
            raise InputError(f"Images.like: expected images (N, C, H, W), at least one, got {tuple(images.shape)}")
        black, white = images.detach().amin(dim=(0, 2, 3)), images.detach().amax(dim=(0, 2, 3))
        return cls(black=tuple(black.tolist()), white=tuple(white.tolist()), count=count)

    @torch.no_grad()
    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Outliers (count, C, H, W) from a batch of inliers (B, C, H, W), whose device and dtype they take."""
        channels = len(self.black)
        if inputs.ndim != 4 or inputs.shape[1] != channels or inputs.numel() == 0 or not inputs.is_floating_point():
            raise InputError(
                f"Images: expected floating-point inputs (B, {channels}, H, W), got {inputs.dtype} "
                f"{tuple(inputs.shape)}; convert them, or make the outliers with Images.like of such images"
            )
        # Positions of pixels need more digits than half precision has.
        dtype = torch.promote_types(inputs.dtype, torch.float32)
        draws = Draws(generator, inputs.device, dtype)
        black, white = (draws.constant(values).view(-1, 1, 1) for values in (self.black, self.white))
        middle, reach = (white + black) / 2, (white - black) / 2

        (broken, noise), index = draws.kinds(self.count, [BROKEN, 1 - BROKEN])
        source = inputs[draws.whole(broken, low=0, high=len(inputs) - 1)].to(dtype)
        images = torch.cat(
            [broken_images(draws, (source - middle) / reach), noise_images(draws, noise, *inputs.shape[1:])]
        )[index]
        return (varied(draws, images) * reach + middle).to(inputs.dtype)


def varied(draws: Draws, images: Tensor) -> Tensor:
    """``images`` (N, C, H, W), each moved, inverted, blurred and roughened, or not."""
    images = draws.sometimes(images, AFFINE, lambda some: random_move(draws, some))
    inverted = draws.coin(len(images), INVERSION_GREY if images.shape[1] == 1 else INVERSION_COLOUR)
    images = torch.where(inverted, -images, images)
    images = draws.sometimes(images, BLUR, lambda some: random_blur(draws, some))
    return draws.sometimes(images, NOISE, lambda some: random_noise(draws, some))


def random_move(draws: Draws, images: Tensor) -> Tensor:
    """Each of ``images`` (N, C, H, W) turned, scaled and shifted, by ``TURN``, ``SCALE`` and ``SHIFT``."""
    count, _, height, width = images.shape
    degrees = draws.uniform(count, low=-TURN, high=TURN)
    scale = draws.uniform(count, low=SCALE[0], high=SCALE[1])
    shift = draws.uniform(count, 2, low=-SHIFT, high=SHIFT)
    return warp(images, turn(degrees, scale, shift, height, width), random_fill(draws, images))


def random_noise(draws: Draws, images: Tensor) -> Tensor:
    """Each of ``images`` (N, C, H, W) with Gaussian noise of its own deviation, by ``NOISE_SIGMA``."""
    sigma = draws.uniform(len(images), 1, 1, 1, low=NOISE_SIGMA[0], high=NOISE_SIGMA[1])
    return images + sigma * draws.normal(*images.shape)
