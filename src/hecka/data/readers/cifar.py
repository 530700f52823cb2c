"""CIFAR's "python version": pickles of a dict with an array of pixels and a list of labels.

A pickle is a program.  This one is run by an interpreter that knows two nouns and no verbs: what a pickle calls numpy's
array and dtype become the two stand-ins below, which only hold bytes and a shape; any other name is refused, and
nothing of numpy or of Python is ever called on a file's word.

Each row of ``data`` is one image: 1024 red values, row by row, then green, then blue.
Format: https://www.cs.toronto.edu/~kriz/cifar.html
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from hecka.errors import InputError

SHAPE = (3, 32, 32)
# All that damaged bytes make an unpickler and the making of tensors raise.
DAMAGE = (
    OSError, pickle.UnpicklingError, EOFError, LookupError, AttributeError, TypeError, ValueError, OverflowError,
    RuntimeError, MemoryError,
)  # fmt: skip
BYTE_TYPES = ("u1", b"u1")  # numpy's name for uint8, as Python 3 and Python 2 wrote it


class _Type:
    """Stands in for ``numpy.dtype``: bytes, or nothing."""

    def __init__(self, name: object, *_: object) -> None:
        if name not in BYTE_TYPES:
            raise InputError(f"expected arrays of uint8, got {name!r:.40}")

    def __setstate__(self, state: object) -> None:
        """Byte order and alignment, which a byte has not."""


class _Array:
    """Stands in for a ``numpy.ndarray``: a shape and its bytes."""

    def __init__(self, *_: object) -> None:
        """Arrays are made empty; ``__setstate__`` fills them."""

    def __setstate__(self, state: tuple[int, tuple[int, ...], _Type, bool, bytes]) -> None:
        _, self.shape, _, self.columns_first, self.values = state

    def tensor(self) -> Tensor:
        if self.columns_first:
            raise InputError("expected values row by row, got them column by column")
        return torch.from_numpy(np.frombuffer(self.values, np.uint8).reshape(self.shape).copy())


class _Unpickler(pickle.Unpickler):
    """Admits arrays, and what needs no name: dicts, lists, tuples, strings, bytes and numbers."""

    _admitted: ClassVar[dict[tuple[str, str], type]] = {
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,  # numpy 2's name
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Type,
    }

    def find_class(self, module: str, name: str) -> type:
        """A stand-in for an admitted name; everything else is refused before it is looked up."""
        try:
            return self._admitted[module, name]
        except KeyError:
            raise InputError(f"expected nothing but arrays, lists and strings, it asks for {module}.{name}") from None


def read(paths: Sequence[Path], labels: str) -> tuple[Tensor, Tensor]:
    """Images (N, 3, 32, 32) and labels (N,) of several batch files, one after the other.

    Args:
        paths: the files, in order.
        labels: which of a file's lists to take: "labels", or "fine_labels" for CIFAR-100.
    """
    images, targets = zip(*(_read_one(path, labels) for path in paths), strict=True)
    return torch.cat(images), torch.cat(targets)


def _read_one(path: Path, labels: str) -> tuple[Tensor, Tensor]:
    try:
        with path.open("rb") as stream:
            content = _Unpickler(stream, encoding="bytes").load()
        pixels, targets = content[b"data"].tensor(), torch.tensor(content[labels.encode()])
        if pixels.shape != (len(targets), math.prod(SHAPE)) or targets.dtype != torch.int64:
            raise InputError(f"expected {math.prod(SHAPE)} values an image and one label, got {tuple(pixels.shape)}")
    except InputError as error:
        raise InputError(f"cifar: {path}: {error}; it was not loaded: fetch the official file") from None
    except DAMAGE as error:
        raise InputError(
            f"cifar: expected {path} to be one of CIFAR's batch files with data and {labels}, "
            f"got {type(error).__name__}: {error}; fetch the official file"
        ) from error
    return pixels.reshape(-1, *SHAPE), targets
