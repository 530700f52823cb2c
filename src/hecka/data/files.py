"""Published files: where one lies below the data root, and what its publisher says of it.

The layout below a root is the one that most tools use (``MNIST/raw/train-images-idx3-ubyte.gz``,
``cifar-10-batches-py/data_batch_1``, ...), so that one folder serves them all.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Split: TypeAlias = Literal["train", "test"]

ROOT_VARIABLE = "HECKA_DATA"


@dataclass(frozen=True)
class File:
    """One published file.

    Args:
        path: below the root, with forward slashes.
        checksum: "md5:..." or "sha256:...", as published; None where nobody published one.
        size: in bytes, where known.
        urls: the same bytes from several places, tried in this order; none for what comes out of an archive.
        splits: what the file is needed for.
        unpacks_to: for an archive, the folder below the root that it holds.
    """

    path: str
    checksum: str | None = None
    size: int | None = None
    urls: tuple[str, ...] = ()
    splits: tuple[Split, ...] = ("train", "test")
    unpacks_to: str | None = None

    def find(self, root: Path) -> Path | None:
        """Where the file, or its unpacked twin, lies below ``root``."""
        return present(root / self.path)


def present(path: Path) -> Path | None:
    """``path``, or the file without .gz that other tools leave beside or instead of it; None where neither is."""
    candidates = (path, path.with_suffix("")) if path.suffix == ".gz" else (path,)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def digest(path: Path, algorithm: str) -> str:
    """The checksum of a file, in the form "md5:..." or "sha256:..."."""
    with path.open("rb") as stream:
        # MD5 tells a damaged file from a whole one; it is what these publishers give, and no guard against malice.
        hashed = hashlib.file_digest(stream, lambda: hashlib.new(algorithm, usedforsecurity=False))
    return f"{algorithm}:{hashed.hexdigest()}"


def digest_like(path: Path, checksum: str) -> str:
    """The checksum of a file by the algorithm that ``checksum`` was made with."""
    return digest(path, checksum.partition(":")[0])


def data_root(root: Path | str | None = None) -> Path:
    """The folder that holds all sets: ``root``, else the variable HECKA_DATA, else the user's cache folder."""
    chosen = root or os.environ.get(ROOT_VARIABLE)
    return Path(chosen).expanduser() if chosen else cache_folder(sys.platform, Path.home()) / "hecka"


def cache_folder(platform: str, home: Path) -> Path:
    """Where a platform wants files that can be downloaded again.

    >>> cache_folder("darwin", Path("/Users/me")).as_posix()
    '/Users/me/Library/Caches'
    """
    if platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
