"""A set of labelled images in memory, and the whitening that networks see it through.

    whitened = (pixel / 255 - mean) / std        channel by channel

Outliers are whitened as the inliers are: a network that saw MNIST sees Fashion-MNIST through MNIST's mean and std.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.data.files import Split
from hecka.errors import InputError


@dataclass(frozen=True)
class Whitening:
    """(pixel / 255 - mean) / std, with one mean and one std a channel.

    >>> Whitening(mean=(0.5,), std=(0.25,))(torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1)).flatten()
    tensor([-2.,  2.])
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @property
    def black(self) -> tuple[float, ...]:
        """What a pixel of 0 becomes, channel by channel."""
        return tuple(-mean / std for mean, std in zip(self.mean, self.std, strict=True))

    @property
    def white(self) -> tuple[float, ...]:
        """What a pixel of 255 becomes, channel by channel."""
        return tuple((1 - mean) / std for mean, std in zip(self.mean, self.std, strict=True))

    def __call__(self, images: Tensor) -> Tensor:
        """uint8 ``images`` (N, C, H, W) as float32 of the same shape."""
        if images.dim() != 4 or images.shape[1] != len(self.mean):
            raise InputError(
                f"whitening: expected images (N, {len(self.mean)}, H, W), got {tuple(images.shape)}; "
                "images meant for one network need its number of channels"
            )
        mean, std = (torch.tensor(values, device=images.device).view(-1, 1, 1) for values in (self.mean, self.std))
        return images.float().div_(255).sub_(mean).div_(std)  # in place: sets of a gigabyte pass through here


@dataclass(frozen=True, eq=False)  # tensors have no single answer to ==
class ImageData:
    """One split of a data set.

    Args:
        images: (N, C, H, W), uint8.
        labels: (N,), int64, indices into ``classes``.
        name: as in the catalogue.
        split: "train" or "test".
        classes: names of the classes, in the order of the labels.
        whitening: the set's own.
        notes: how this copy differs from the published set; whatever is made from it carries them on.
        parts: (N,), int8: for a union, which of its sets each image is from, 0 the first; None otherwise.

    >>> data = ImageData(
    ...     torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1]), "mine", "test", ("cat", "dog"),
    ...     Whitening((0.5,), (0.5,)),
    ... )
    >>> len(data), data.whitened().unique()
    (2, tensor([-1.]))
    """

    images: Tensor
    labels: Tensor
    name: str
    split: Split
    classes: tuple[str, ...]
    whitening: Whitening
    notes: tuple[str, ...] = ()
    parts: Tensor | None = None

    def __post_init__(self) -> None:
        where = f"data {self.name!r} {self.split}"
        if self.images.dtype != torch.uint8 or self.images.dim() != 4 or len(self.images) == 0:
            raise InputError(
                f"{where}: expected at least 1 image, uint8 (N, C, H, W), "
                f"got {self.images.dtype} {tuple(self.images.shape)}"
            )
        if self.labels.dtype != torch.int64 or self.labels.shape != self.images.shape[:1]:
            raise InputError(
                f"{where}: expected int64 labels ({len(self.images)},), one an image, "
                f"got {self.labels.dtype} {tuple(self.labels.shape)}"
            )
        if self.parts is not None and (self.parts.dtype != torch.int8 or self.parts.shape != self.labels.shape):
            raise InputError(
                f"{where}: expected int8 parts ({len(self.images)},), one an image, "
                f"got {self.parts.dtype} {tuple(self.parts.shape)}"
            )
        low, high = self.labels.aminmax()
        if low < 0 or high >= len(self.classes):
            raise InputError(
                f"{where}: expected labels from 0 to {len(self.classes) - 1}, one for each of {len(self.classes)} "
                f"classes, got {int(low)} to {int(high)}"
            )

    def __len__(self) -> int:
        return len(self.images)

    def whitened(self, whitening: Whitening | None = None) -> Tensor:
        """The images as float32 (N, C, H, W), by the set's own whitening or by that of the inliers they are to meet."""
        return (self.whitening if whitening is None else whitening)(self.images)
