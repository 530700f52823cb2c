"""IDX, the format of MNIST and its kin: a header, then the bytes; packed by gzip or not.

    0  0  type  rank | rank big-endian 32-bit lengths | the values, last axis fastest

Type 8 is unsigned bytes, the only one that these sets use.  Format: http://yann.lecun.com/exdb/mnist/
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hecka.errors import InputError

UNSIGNED_BYTES = 8
GZIP_MAGIC = b"\x1f\x8b"


def read(images: Path, labels: Path) -> tuple[Tensor, Tensor]:
    """Images (N, 1, H, W) and labels (N,) from a pair of IDX files."""
    pixels, targets = read_array(images, rank=3), read_array(labels, rank=1)
    if len(pixels) != len(targets):
        raise InputError(
            f"idx: expected one label an image, got {len(pixels)} images in {images} and {len(targets)} labels in "
            f"{labels}; they belong to different sets"
        )
    return pixels[:, None], targets.long()


def read_array(path: Path, rank: int) -> Tensor:
    """The uint8 array of ``rank`` axes in one IDX file."""
    try:
        content = path.read_bytes()
        if content.startswith(GZIP_MAGIC):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"idx: expected to read {path}, got: {error}; fetch the file again") from error
    header = 4 + 4 * rank
    if content[:4] != bytes((0, 0, UNSIGNED_BYTES, rank)) or len(content) < header:
        raise InputError(
            f"idx: expected {path} to begin with 0 0 {UNSIGNED_BYTES} {rank} and {rank} lengths, "
            f"got {' '.join(map(str, content[:4])) or 'an empty file'}"
        )
    shape = struct.unpack(f">{rank}I", content[4:header])
    if math.prod(shape) != len(content) - header:
        raise InputError(
            f"idx: expected {math.prod(shape)} values after the header of {path}, as its shape {shape} says, "
            f"got {len(content) - header}; the file is damaged, fetch it again"
        )
    values = np.frombuffer(content, np.uint8, offset=header).reshape(shape)
    return torch.from_numpy(values.copy())  # tensors want memory that they may write to
