"""SVHN's cropped digits: a MATLAB file with X (32, 32, 3, N) and y (N, 1), where 10 stands for the digit 0.

Format: http://ufldl.stanford.edu/housenumbers/
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hecka.errors import InputError

ZERO = 10  # MATLAB counts from 1, so the digit 0 comes last


def read(path: Path) -> tuple[Tensor, Tensor]:
    """Images (N, 3, H, W) and labels (N,), 0 for the digit 0."""
    try:
        from scipy.io import loadmat
        from scipy.io.matlab import MatReadError
    except ImportError as error:
        raise InputError(f"mat: expected scipy, to read {path.name}; pip install scipy") from error
    try:
        content = loadmat(path, variable_names=("X", "y"))
        pixels, labels = content["X"], content["y"]
    except (OSError, MatReadError, LookupError, TypeError, ValueError, NotImplementedError, zlib.error) as error:
        raise InputError(
            f"mat: expected {path} to be a MATLAB file with X and y, got {type(error).__name__}: {error}; "
            "fetch it again"
        ) from error
    count = pixels.shape[-1]
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[2] != 3 or labels.shape != (count, 1):
        raise InputError(
            f"mat: expected uint8 X (H, W, 3, N) and y (N, 1) in {path}, "
            f"got {pixels.dtype} X {pixels.shape} and y {labels.shape}"
        )
    digits = torch.from_numpy(labels[:, 0].astype(np.int64))
    images = np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))
    return torch.from_numpy(images), digits.where(digits != ZERO, 0)
