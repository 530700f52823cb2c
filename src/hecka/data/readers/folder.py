"""Pictures in folders, one subfolder a class, read by Pillow.

Classes are the subfolders' names and pictures the files below them, both in the order of their names, so that the same
folder gives the same data on every machine.  A picture that does not fit is cut to a square about its centre and
resampled; that happens only where a size was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hecka.errors import InputError

GREY_MODES = {"1", "L"}
# What Pillow turns into 8 bits a channel without loss; 16-bit and floating-point modes it would clip.
COLOUR_MODES = {"P", "PA", "LA", "RGB", "RGBA", "CMYK", "YCbCr"}


def read(folder: Path, size: int | None = None) -> tuple[Tensor, Tensor]:
    """Images (N, C, H, W) and labels (N,) of a folder with one subfolder a class.

    Args:
        folder: labels count its `subfolders`.
        size: the side that every picture is brought to; None for pictures that are all of one size.

    C is 1 where all pictures are grey, else 3.
    """
    paths, labels = listing(folder, subfolders(folder))
    modes, sizes = _headers(paths)
    if size is None and len(sizes) > 1:
        raise InputError(
            f"folder: expected pictures of one size in {folder}, got {len(sizes)} sizes, "
            f"among them {sorted(sizes)[0]} and {sorted(sizes)[-1]}; give a size to bring them to, or resize them"
        )
    width, height = sizes.pop() if size is None else (size, size)
    return decode(paths, (1 if modes <= GREY_MODES else 3, height, width)), labels


def subfolders(folder: Path) -> tuple[str, ...]:
    """The names of the classes, sorted."""
    if not folder.is_dir():
        raise InputError(f"folder: expected a folder with one subfolder a class, got nothing at {folder}")
    names = tuple(sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")))
    if not names:
        raise InputError(f"folder: expected one subfolder a class in {folder}, got none")
    return names


def listing(folder: Path, classes: Sequence[str]) -> tuple[list[Path], Tensor]:
    """All pictures of ``classes`` in order, and their labels (N,)."""
    paths: list[Path] = []
    counts: list[int] = []
    for name in classes:
        found = sorted(path for path in (folder / name).rglob("*") if path.is_file() and not path.name.startswith("."))
        if not found:
            raise InputError(f"folder: expected pictures of class {name!r} in {folder / name}, got none")
        paths += found
        counts.append(len(found))
    return paths, torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))


def decode(paths: Sequence[Path], shape: tuple[int, int, int]) -> Tensor:
    """Images (N, *shape) from picture files; those of another size are cut and resampled to (H, W).

    >>> decode([], (3, 8, 8)).shape
    torch.Size([0, 3, 8, 8])
    """
    images = np.empty((len(paths), *shape), np.uint8)
    with ThreadPoolExecutor() as pool:  # decoders release the interpreter's lock
        for index, pixels in enumerate(pool.map(_decode_one, paths, [shape] * len(paths))):
            images[index] = pixels
    return torch.from_numpy(images)


def _decode_one(path: Path, shape: tuple[int, int, int]) -> np.ndarray:
    from PIL import Image, ImageOps

    channels, height, width = shape
    try:
        with Image.open(path) as picture:
            _check_mode(path, picture.mode)
            fitting = picture.convert("L" if channels == 1 else "RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise _unreadable(path, error) from error
    if fitting.size != (width, height):
        fitting = ImageOps.fit(fitting, (width, height), Image.Resampling.BICUBIC)
    return np.asarray(fitting).reshape(height, width, channels).transpose(2, 0, 1)


def _headers(paths: Sequence[Path]) -> tuple[set[str], set[tuple[int, int]]]:
    """The modes and the sizes (width, height) that occur, without decoding a pixel."""
    from PIL import Image

    modes, sizes = set(), set()
    for path in paths:
        try:
            with Image.open(path) as picture:
                modes.add(picture.mode)
                sizes.add(picture.size)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise _unreadable(path, error) from error
    return modes, sizes


def _check_mode(path: Path, mode: str) -> None:
    if mode not in GREY_MODES | COLOUR_MODES:
        raise InputError(f"folder: expected 8 bits a channel, got mode {mode} in {path}; convert the picture first")


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, InputError):
        return error
    return InputError(f"folder: expected a picture at {path}, got {type(error).__name__}: {error}; mend or remove it")
