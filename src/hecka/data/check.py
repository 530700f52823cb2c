"""Whether the files below a data root are the published ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from hecka.data.catalogue import find
from hecka.data.files import File, Split, data_root, digest, digest_like

State: TypeAlias = Literal[
    "missing",
    "ok",
    "differs from the official checksum",
    "no official checksum",
    "unpacked",  # an archive that was deleted after its folder was made, which has no checksum of its own
]


@dataclass(frozen=True)
class FileStatus:
    """One file's line in a table.

    Args:
        path: below the data root, as found.
        state: how it compares with what was published.
        found: its checksum, "md5:..." or "sha256:..."; "" for what is missing.
        published: the official one, or "".
    """

    path: str
    state: State
    found: str = ""
    published: str = ""


def check(name: str, root: Path | str | None = None, split: Split | None = None) -> list[FileStatus]:
    """Every file of a set, or of one split, compared with what was published."""
    place = data_root(root)
    return [status(file, place) for file in find(name).files_of(split)]


def status(file: File, root: Path) -> FileStatus:
    """One file below ``root``."""
    path = file.find(root)
    if path is None:
        unpacked = file.unpacks_to is not None and (root / file.unpacks_to).is_dir()
        return FileStatus(file.path, "unpacked" if unpacked else "missing", published=file.checksum or "")
    shown = path.relative_to(root).as_posix()
    # Checksums were published for the .gz alone, not for what other tools unpack it to.
    if file.checksum is None or shown != file.path:
        return FileStatus(shown, "no official checksum", digest(path, "sha256"))
    found = digest_like(path, file.checksum)
    same = found == file.checksum
    return FileStatus(shown, "ok" if same else "differs from the official checksum", found, file.checksum)
