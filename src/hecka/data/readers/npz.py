"""Arrays of one's own: an .npz with train_images, train_labels, test_images and test_labels.

Images are uint8, (N, H, W) or with an axis of 1 or 3 channels, last or second; labels are whole numbers (N,) or (N, 1).
Pickled objects are refused.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hecka.data.files import Split
from hecka.errors import InputError

CHANNELS = (1, 3)


def read(path: Path, split: Split) -> tuple[Tensor, Tensor]:
    """Images (N, C, H, W) and labels (N,) of one split."""
    try:
        # Opened here, for numpy leaves a file open that is no zip.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            images, labels = content[f"{split}_images"], content[f"{split}_labels"]
    except (
        OSError,
        KeyError,
        ValueError,
        AttributeError,
        TypeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(
            f"npz: expected {path} to hold the arrays {split}_images and {split}_labels, "
            f"got {type(error).__name__}: {error}; write it by numpy.savez_compressed"
        ) from error
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(
            f"npz: expected whole numbers {split}_labels (N,) in {path}, got {labels.dtype} {labels.shape}"
        )
    return channels_second(images, f"{split}_images in {path}"), torch.from_numpy(labels.astype(np.int64))


def classes(path: Path) -> tuple[str, ...]:
    """Names of the classes: the numbers from 0 to the largest label of any split."""
    with np.load(path, allow_pickle=False) as content:
        largest = max(int(content[name].max(initial=-1)) for name in content.files if name.endswith("_labels"))
    return tuple(str(label) for label in range(largest + 1))


def channels_second(images: np.ndarray, where: str) -> Tensor:
    """uint8 images of any accepted layout as (N, C, H, W).

    >>> channels_second(np.zeros((5, 8, 9, 3), np.uint8), "mine").shape
    torch.Size([5, 3, 8, 9])
    """
    last, second = (images.ndim == 4 and images.shape[axis] in CHANNELS for axis in (3, 1))
    if images.dtype != np.uint8 or not (images.ndim == 3 or last != second):
        raise InputError(
            f"npz: expected uint8 (N, H, W), (N, H, W, C) or (N, C, H, W) with C of 1 or 3 for {where}, "
            f"got {images.dtype} {images.shape}"
        )
    if images.ndim == 3:
        images = images[:, None]
    elif last:
        images = images.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(images))
