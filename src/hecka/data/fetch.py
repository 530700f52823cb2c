"""Data sets from the net: what is missing is downloaded, checked and unpacked."""

from __future__ import annotations

from pathlib import Path

from hecka.data.catalogue import find
from hecka.data.check import FileStatus, check, status
from hecka.data.dataset import DataSet
from hecka.data.download import DownloadError, Progress, download, writing
from hecka.data.files import File, Split, data_roots, writable
from hecka.data.unpack import unpack
from hecka.errors import InputError


def fetch(
    name: str, root: Path | str | None = None, split: Split | None = None, progress: Progress | None = None
) -> list[FileStatus]:
    """Complete a set, or one split of it, below the data root, and say how every file now stands.

    A file that is there is left alone, whatever it is: `check` says so where it is not the official one.  One for which
    nobody published a checksum is taken as it comes, and its status holds the SHA-256 by which to know it again.

    Args:
        name: as in the catalogue.
        root: where to look and to write; the folders of HECKA_DATA and the user's cache folder when None.  A set that
            is there in part is completed in its place, another goes to the first folder that can be written to.
        split: what to fetch; everything when None.
        progress: told of every block: file name, bytes so far, bytes in all.
    """
    roots, missing = data_roots(root), []
    for dataset in find(name).whole_parts:
        place = dataset.place(roots, split)
        found = dataset.found(place, split)
        if not dataset.made_by:
            _complete(dataset, place if found or not dataset.files else writable(roots), split, progress)
        elif found < len(dataset.files_of(split)):
            missing.append(dataset)
    if missing:
        raise InputError(
            f"fetch: expected {missing[0].title} to be made, for nobody publishes it; run `{missing[0].made_by}`, "
            "which takes minutes"
        )
    return check(name, root, split)


def _complete(dataset: DataSet, place: Path, split: Split | None, progress: Progress | None) -> None:
    for file in dataset.files_of(split):
        if file.unpacks_to is not None:
            _fetch_archive(dataset, file, place, split, progress)
        elif file.urls and file.find(place) is None:
            try:
                download(file.urls, place / file.path, file.checksum, file.size, progress)
            except DownloadError as error:
                if dataset.stand_in_by:
                    raise DownloadError(f"{error}; or make a surrogate by `{dataset.stand_in_by}`") from error
                raise


def _fetch_archive(dataset: DataSet, file: File, root: Path, split: Split | None, progress: Progress | None) -> None:
    folder = root / str(file.unpacks_to)
    inside = [other for other in dataset.files_of(split) if other.path.startswith(f"{file.unpacks_to}/")]
    if folder.is_dir() and all(other.find(root) for other in inside):
        return
    archive = root / file.path
    if not archive.exists():
        download(file.urls, archive, file.checksum, file.size, progress)
    elif status(file, root).state == "differs from the official checksum":
        raise DownloadError(
            f"fetch: expected {file.checksum} at {archive}, got another file; delete it and fetch again"
        )
    with writing(folder):
        unpack(archive, folder)
