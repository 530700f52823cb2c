"""Whether the files below a data root are the published ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from hecka.data.catalogue import find
from hecka.data.files import File, Split, data_roots, digest, digest_like

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
        root: the folder that was looked in.
    """

    path: str
    state: State
    found: str = ""
    published: str = ""
    root: Path = Path()


def check(name: str, root: Path | str | None = None, split: Split | None = None) -> list[FileStatus]:
    """Every file of a set, or of one split, compared with what was published, in the folder that holds most of it."""
    roots = data_roots(root)
    return [status(file, part.place(roots, split)) for part in find(name).whole_parts for file in part.files_of(split)]


def status(file: File, root: Path) -> FileStatus:
    """One file below ``root``."""
    path = file.find(root)
    if path is None:
        return FileStatus(
            file.path, "unpacked" if file.is_there(root) else "missing", published=file.checksum or "", root=root
        )
    shown = path.relative_to(root).as_posix()
    # Checksums were published for the .gz alone, not for what other tools unpack it to.
    if file.checksum is None or shown != file.path:
        return FileStatus(shown, "no official checksum", digest(path, "sha256"), root=root)
    found = digest_like(path, file.checksum)
    same = found == file.checksum
    return FileStatus(shown, "ok" if same else "differs from the official checksum", found, file.checksum, root)
