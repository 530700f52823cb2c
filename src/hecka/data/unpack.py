"""Archives, unpacked with suspicion: plain files and folders below one folder, or nothing.

A name that leads out of that folder, a link or a device makes the whole archive refused.  Files are written beside the
final folder first, which then appears in one step.
"""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from hecka.errors import InputError

# What damaged bytes make the unpackers raise; RuntimeError for a zip whose flags then say that it is encrypted.
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError)

BLOCK = 1 << 20


def unpack(archive: Path, folder: Path) -> None:
    """Unpack ``archive``'s top folder of the name ``folder.name`` to ``folder``.

    A folder that is there already keeps its files and gains those that it lacks.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder.parent))
    try:
        _extract(archive, room)
        if not (room / folder.name).is_dir():
            raise InputError(f"unpack: expected a folder {folder.name} in {archive}, got none; fetch the archive again")
        _move(room / folder.name, folder)
    finally:
        shutil.rmtree(room)


def _extract(archive: Path, room: Path) -> None:
    try:
        for name, content in _tar_files(archive) if tarfile.is_tarfile(archive) else _zip_files(archive):
            target = room / _safe(name, archive)
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, target.open("wb") as stream:
                shutil.copyfileobj(content, stream)
    except DAMAGE as error:
        raise InputError(
            f"unpack: expected {archive} to be a whole archive, got {type(error).__name__}: {error}; "
            "delete it and fetch it again"
        ) from error


def _tar_files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content
            elif not member.isdir():
                raise _refusal(archive, member.name, "a link or a device")
        while tar.fileobj is not None and tar.fileobj.read(BLOCK):
            pass  # to the very end, where gzip keeps its checksum and tar does not look


def _zip_files(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)  # Unix's mode; 0 where another system packed it
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refusal(archive, member.filename, "a link or a device")
            if not member.is_dir():
                yield member.filename, packed.open(member)


def _safe(name: str, archive: Path) -> PurePosixPath:
    """``name``, unless it would lead elsewhere on any system."""
    for path in (PurePosixPath(name), PureWindowsPath(name)):
        if path.anchor or ".." in path.parts or not path.parts:
            raise _refusal(archive, name, "a path that leads out of the folder")
    return PurePosixPath(name)


def _refusal(archive: Path, name: str, what: str) -> InputError:
    return InputError(
        f"unpack: expected plain files and folders in {archive}, got {what}: {name!r}; it was not unpacked: "
        "fetch the official archive"
    )


def _move(made: Path, folder: Path) -> None:
    if not folder.exists():
        os.replace(made, folder)
        return
    for path in sorted(made.rglob("*")):
        target = folder / path.relative_to(made)
        if path.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
