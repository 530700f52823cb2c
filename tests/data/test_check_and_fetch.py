import errno
import hashlib
from dataclasses import replace

import pytest

from hecka.data import catalogue
from hecka.data.check import check
from hecka.data.download import DownloadError
from hecka.data.fetch import fetch
from hecka.data.files import File

PLAIN, BATCH_A, BATCH_B = b"labels", b"first batch", b"second batch"


@pytest.fixture
def packed_set(entry, server, answer, tar, md5):
    """An archive with two batches, each needed for one split; where it is served."""
    content = tar({"set/a": BATCH_A, "set/b": BATCH_B})
    url = server.serve("/set.tar.gz", answer.whole(content))
    entry(
        File("set.tar.gz", md5(content), len(content), (url,), unpacks_to="set"),
        File("set/a", md5(BATCH_A), splits=("train",)),
        File("set/b", md5(BATCH_B), splits=("test",)),
    )


def states(lines):
    return {line.path: line.state for line in lines}


def test_check_tells_the_states_apart(entry, tmp_path, md5):
    entry(
        *(File(name, md5(PLAIN)) for name in ("whole", "gone", "other")),
        File("unknown"),
        File("packed.gz", md5(PLAIN)),
        File("archive.zip", md5(PLAIN), unpacks_to="folder"),
    )
    for name in ("whole", "unknown", "packed"):
        (tmp_path / name).write_bytes(PLAIN)
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "folder").mkdir()
    lines = check("mine", tmp_path)
    assert states(lines) == {
        "whole": "ok",
        "gone": "missing",
        "other": "differs from the official checksum",
        "unknown": "no official checksum",
        "packed": "no official checksum",
        "archive.zip": "unpacked",
    }
    found = {line.path: line.found for line in lines}
    assert found["whole"] == md5(PLAIN)
    assert found["other"] == md5(b"other")
    assert found["unknown"] == f"sha256:{hashlib.sha256(PLAIN).hexdigest()}"
    assert found["gone"] == ""


def test_fetch_completes_a_set_and_asks_only_once(entry, server, answer, tmp_path, md5):
    entry(
        File("deep/train", md5(PLAIN), urls=(server.serve("/train", answer.whole(PLAIN)),), splits=("train",)),
        File("deep/test", None, 4, urls=(server.serve("/test", answer.whole(b"four")),), splits=("test",)),
    )
    assert states(fetch("mine", tmp_path, "train")) == {"deep/train": "ok"}
    assert [path for path, _ in server.asked] == ["/train"]
    lines = fetch("mine", tmp_path)
    assert states(lines) == {"deep/train": "ok", "deep/test": "no official checksum"}
    assert lines[1].found == f"sha256:{hashlib.sha256(b'four').hexdigest()}"
    fetch("mine", tmp_path)
    assert [path for path, _ in server.asked] == ["/train", "/test"]


def test_fetch_leaves_a_file_that_differs_alone(entry, server, answer, tmp_path, md5):
    entry(File("mine", md5(PLAIN), urls=(server.serve("/mine", answer.whole(PLAIN)),)))
    (tmp_path / "mine").write_bytes(b"packed anew")
    assert states(fetch("mine", tmp_path)) == {"mine": "differs from the official checksum"}
    assert (tmp_path / "mine").read_bytes() == b"packed anew"
    assert server.asked == []


def test_fetch_refuses_what_is_not_the_published_file(entry, server, answer, tmp_path, md5):
    entry(File("mine", md5(PLAIN), urls=(server.serve("/mine", answer.whole(b"another")),)))
    with pytest.raises(DownloadError, match="not the published file"):
        fetch("mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fetch_unpacks_an_archive_once(packed_set, server, tmp_path):
    told = []
    lines = fetch("mine", tmp_path, progress=lambda *line: told.append(line))
    assert states(lines) == {"set.tar.gz": "ok", "set/a": "ok", "set/b": "ok"}
    assert told[-1][0] == "set.tar.gz"
    fetch("mine", tmp_path)
    (tmp_path / "set.tar.gz").unlink()
    assert states(fetch("mine", tmp_path))["set.tar.gz"] == "unpacked"
    assert len(server.asked) == 1


def test_fetch_completes_a_part_of_an_archive(packed_set, server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a").write_bytes(BATCH_A)
    fetch("mine", tmp_path, "train")
    assert server.asked == []
    assert states(fetch("mine", tmp_path, "test")) == {"set.tar.gz": "ok", "set/b": "ok"}


def test_fetch_refuses_an_archive_that_differs(packed_set, server, tmp_path):
    (tmp_path / "set.tar.gz").write_bytes(b"other")
    with pytest.raises(DownloadError, match=r"at .*set\.tar\.gz, got another file; delete it and fetch again"):
        fetch("mine", tmp_path)
    assert not (tmp_path / "set").exists()


def test_fetch_says_when_there_is_no_room_to_unpack(packed_set, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hecka.data.unpack.shutil.copyfileobj", full)
    with pytest.raises(DownloadError, match=r"disk is full while writing .*set"):
        fetch("mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["set.tar.gz"]


def test_fetch_uses_the_variable(entry, server, answer, tmp_path, monkeypatch, md5):
    monkeypatch.setenv("HECKA_DATA", str(tmp_path / "variable"))
    entry(File("mine", md5(PLAIN), urls=(server.serve("/mine", answer.whole(PLAIN)),)))
    fetch("mine")
    assert (tmp_path / "variable" / "mine").read_bytes() == PLAIN
    assert states(check("mine")) == {"mine": "ok"}


def test_the_bundled_digits_need_no_file(tmp_path):
    assert fetch("digits", tmp_path) == check("digits", tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_where_a_stand_in_can_be_made_a_failed_download_says_so(server, answer, tmp_path, monkeypatch):
    gone = server.serve("/gone", answer.error(404))
    published = catalogue.find("ambiguous-mnist")
    files = tuple(replace(file, urls=(gone,)) for file in published.files)
    monkeypatch.setitem(catalogue.CATALOGUE, "ambiguous-mnist", replace(published, files=files))
    with pytest.raises(DownloadError, match=r"HTTP 404.*; or make a surrogate by `hecka data make-ambiguous`"):
        fetch("ambiguous-mnist", tmp_path)
