"""The 8 x 8 digits that come with scikit-learn: 1 797 images that need no download.

They are the test half of UCI's "Optical Recognition of Handwritten Digits".  No split is official here: the first
1 297 train and the last 500 test, in the order in which they come.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hecka.data.files import Split
from hecka.errors import InputError

TRAIN = 1297
LEVELS = 16  # values run from 0 to 16


def read(split: Split) -> tuple[Tensor, Tensor]:
    """Images (N, 1, 8, 8), stretched from 0..16 to 0..255, and labels (N,)."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise InputError("digits: expected scikit-learn, whose digits these are; pip install scikit-learn") from error
    bundle = load_digits()
    part = slice(TRAIN) if split == "train" else slice(TRAIN, None)
    images = torch.from_numpy(bundle.images[part]).mul(255 / LEVELS).round().byte()
    return images[:, None], torch.from_numpy(bundle.target[part]).long()
