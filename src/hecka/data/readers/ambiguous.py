"""Ambiguous-MNIST as published: decoded digits between two classes, each with ten labels drawn for it.

    amnist_samples.pt   (12 000, 1, 28, 28), floats in [0, 1]
    amnist_labels.pt    (12 000, 10), one label a column

The first half is for training, the second for testing; every image stands ten times, its copies one after another, once
with each label.  Pixels are rounded to 256 steps: an error of at most .002, under a hundredth of MNIST's deviation.
A part of the training set that is held out must hold whole tens, or one image stands on both sides.
Reference: Mukhoti et al., Deep Deterministic Uncertainty, CVPR 2023.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import torch
from torch import Tensor

from hecka.data.files import Split
from hecka.errors import InputError

SLACK = 1e-3  # of a decoder's output around [0, 1], before it counts as another scale: a quarter of a grey step


def read(samples: Path, labels: Path, split: Split) -> tuple[Tensor, Tensor]:
    """Images (N, 1, 28, 28) and labels (N,) of one half."""
    pixels, drawn = _load(samples), _load(labels)
    if (
        pixels.shape[1:] != (1, 28, 28)
        or not pixels.is_floating_point()
        or drawn.dim() != 2
        or drawn.is_floating_point()
        or len(drawn) != len(pixels)
    ):
        raise InputError(
            f"ambiguous-mnist: expected float images (N, 1, 28, 28) in {samples} and whole labels (N, 10) in {labels}, "
            f"got {pixels.dtype} {tuple(pixels.shape)} and {drawn.dtype} {tuple(drawn.shape)}"
        )
    low, high = pixels.aminmax()
    if not (low >= -SLACK and high <= 1 + SLACK):  # so asked, NaN fails too
        raise InputError(
            f"ambiguous-mnist: expected values from 0 to 1 in {samples}, got {float(low):g} to {float(high):g}"
        )
    half = len(pixels) // 2
    part = slice(half) if split == "train" else slice(half, None)
    grey = pixels[part].mul(255).round().clamp(0, 255).byte()
    return grey.repeat_interleave(drawn.shape[1], dim=0), drawn[part].flatten().long()


def _load(path: Path) -> Tensor:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise InputError(
            f"ambiguous-mnist: expected one tensor in {path}, got {type(error).__name__}: {error!s:.200}; "
            "fetch the file again"
        ) from error
    if not isinstance(content, Tensor):
        raise InputError(f"ambiguous-mnist: expected one tensor in {path}, got {type(content).__name__}")
    return content
