"""Published files: where one lies below the data root, and what its publisher says of it.

The layout below a root is the one that most tools use (``MNIST/raw/train-images-idx3-ubyte.gz``,
``cifar-10-batches-py/data_batch_1``, ...), so that one folder serves them all.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from hecka.errors import InputError

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

    def is_there(self, root: Path) -> bool:
        """Whether the file, or for an archive the folder that it holds, lies below ``root``."""
        return self.find(root) is not None if self.unpacks_to is None else (root / self.unpacks_to).is_dir()


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


def data_roots(root: Path | str | None = None) -> tuple[Path, ...]:
    """The folders that sets are looked for in.

    These are ``root`` alone; or those of the variable HECKA_DATA, and then the user's cache folder.  Each may name
    several folders, with ``os.pathsep`` between them as in PATH: shared data can lie where nobody may write, and what
    is made from them elsewhere.
    """
    chosen = os.environ.get(ROOT_VARIABLE) if root is None else str(root)
    named = [Path(folder).expanduser() for folder in (chosen or "").split(os.pathsep) if folder]
    if root is None:
        named.append(cache_folder(sys.platform, Path.home()) / "hecka")
    if not named:
        raise InputError("data: expected a folder, got an empty name; None stands for the usual places")
    return tuple(dict.fromkeys(named))


def writable(roots: Sequence[Path]) -> Path:
    """The first of ``roots`` that can be written to, or made."""
    for root in roots:
        there = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
        if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
            return root
    raise InputError(
        f"data: expected a folder that can be written to, got {in_words(roots)}; name one by {ROOT_VARIABLE} or --data"
    )


def in_words(roots: Sequence[Path]) -> str:
    """Folders as part of a sentence.

    >>> in_words([Path("a"), Path("b")])
    'a or b'
    """
    return " or ".join(map(str, roots))


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
