"""One file from the net, whole or not at all.

Bytes go to NAME.part; the name itself appears, in one step, when all of them are there and their checksum is the
published one.  A transfer that breaks off is taken up where it stopped (an HTTP range), by the same source or the next;
a .part that turns out wrong is deleted.

Own, over urllib, for pooch (1.9) has no way to resume a file and knows one address a file: on a line that drops every
100 MB it would never end, and a university's server that is down ends it.
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from hecka.data.files import ROOT_VARIABLE, digest_like
from hecka.errors import HeckaError

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Told after every block: the file's name, bytes so far, bytes in all where the server says."""

BLOCK = 1 << 18
ROUNDS = 5  # through all sources; with PAUSE this waits 1 + 2 + 4 + 8 seconds between them
PAUSE = 1.0
TIMEOUT = 30.0  # seconds without a byte
EXCESS = 1 << 24  # bytes beyond the published size, after which a source might go on until the disk is full
WORTH_RETRYING = {408, 425, 429, 500, 502, 503, 504}  # HTTP's ways of saying "later"


class DownloadError(HeckaError):
    """A file that could not be fetched, or not be written."""


class _AttemptError(Exception):
    """One attempt at one source failed; ``final`` when another would end alike."""

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


def download(
    urls: Sequence[str],
    target: Path,
    checksum: str | None = None,
    size: int | None = None,
    progress: Progress | None = None,
    *,
    rounds: int = ROUNDS,
    pause: float = PAUSE,
    timeout: float = TIMEOUT,
) -> None:
    """Fetch ``target`` from the first of ``urls`` that gives it whole.

    Args:
        urls: sources of the same bytes, in the order to try them.
        target: where the file is to be; its folder is made.
        checksum: "md5:..." or "sha256:..."; without one nothing is resumed, for nothing could tell whether the halves
            belong together.
        size: in bytes; the truth where there is no checksum, else only to tell an answer without end.
        progress: told of every block.
        rounds: how often all sources are tried.
        pause: seconds before the second round; twice as many before each further one.
        timeout: seconds without a byte after which a source is given up.
    """
    part = target.with_name(target.name + ".part")
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    left = list(urls)
    reasons: dict[str, str] = {}
    for attempt in range(rounds):
        for url in tuple(left):
            try:
                resumed = _transfer(url, part, checksum is not None, size, timeout, progress)
                _verify(part, checksum, size, resumed)
            except _AttemptError as failure:
                reasons[url] = str(failure)
                if failure.final:
                    left.remove(url)
            else:
                with writing(target):
                    os.replace(part, target)
                return
        if not left:
            break
        if attempt < rounds - 1:
            time.sleep(pause * 2**attempt)
    if checksum is None:
        part.unlink(missing_ok=True)
    raise DownloadError(
        f"download: expected {target.name} from one of {len(urls)} sources, got: "
        + "; ".join(f"{url}: {reason}" for url, reason in reasons.items())
        + f"; try again later, or put the file at {target} by hand"
    )


def _transfer(url: str, part: Path, resume: bool, size: int | None, timeout: float, progress: Progress | None) -> bool:
    """Append what is missing to ``part`` and say True, or write it anew and say False."""
    start = part.stat().st_size if resume and part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "hecka"})  # some servers turn Python's away
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            return True  # nothing is missing, or too much is there: the checksum tells
        raise _AttemptError(f"HTTP {error.code} {error.reason}", final=error.code not in WORTH_RETRYING) from error
    except (OSError, http.client.HTTPException) as error:
        raise _AttemptError(f"no connection ({_cause(error)}); is there a network?") from error
    with response:
        if response.status != http.client.PARTIAL_CONTENT:
            start = 0  # the server sends all of it, whatever was asked for
        total = None if response.length is None else start + response.length
        with writing(part), part.open("ab" if start else "wb") as stream:
            done = start
            for block in _blocks(response, timeout):
                stream.write(block)
                done += len(block)
                if size is not None and done > size + EXCESS:
                    break
                if progress is not None:
                    progress(part.stem, done, total)
            stream.flush()
            os.fsync(stream.fileno())  # before the name appears, so that a power cut cannot leave it empty
    if size is not None and done > size + EXCESS:
        part.unlink()
        raise _AttemptError(
            f"expected {size} bytes, got {done} and more: not the published file, deleted", final=start == 0
        )
    if total is not None and done < total:
        raise _AttemptError(f"the connection closed after {done} of {total} bytes")
    return start > 0


def _blocks(response: http.client.HTTPResponse, timeout: float) -> Iterator[bytes]:
    """What comes in, as it comes in."""
    while True:
        try:
            block = response.read1(BLOCK)
        except TimeoutError as error:
            raise _AttemptError(f"no byte for {timeout:g} seconds") from error
        except (OSError, http.client.HTTPException) as error:
            raise _AttemptError(f"the connection broke ({_cause(error)})") from error
        if not block:
            return
        yield block


def _verify(part: Path, checksum: str | None, size: int | None, resumed: bool) -> None:
    """Delete ``part`` unless it is what was published."""
    if checksum is not None:
        expected, got = checksum, digest_like(part, checksum)
    elif size is not None:
        expected, got = f"{size} bytes", f"{part.stat().st_size} bytes"
    else:
        return
    if expected != got:
        part.unlink()
        # Two halves may come from different files, which a fresh start mends; a source of other bytes stays one.
        raise _AttemptError(f"expected {expected}, got {got}: not the published file, deleted", final=not resumed)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what a disk says on the way to ``path`` into what a user can do."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            free = shutil.disk_usage(path.parent).free
            raise DownloadError(
                f"download: the disk is full while writing {path}, {free / 1e6:.0f} MB are free; make room and run it "
                f"again, which goes on from there, or choose another folder by {ROOT_VARIABLE}"
            ) from error
        raise DownloadError(
            f"download: cannot write {path}: {error.strerror or error}; choose a folder that can be written to, "
            f"by {ROOT_VARIABLE}"
        ) from error


def _cause(error: Exception) -> object:
    return error.reason if isinstance(error, urllib.error.URLError) else error or type(error).__name__
