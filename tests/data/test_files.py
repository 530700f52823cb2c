import hashlib
import os
from pathlib import Path

import pytest

from hecka.data.files import File, cache_folder, data_roots, digest, writable
from hecka.errors import InputError


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_a_digest_is_that_of_the_bytes(tmp_path, algorithm):
    content = bytes(range(256)) * 3000
    (tmp_path / "file").write_bytes(content)
    assert digest(tmp_path / "file", algorithm) == f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache folder of data, and no variable."""
    monkeypatch.setattr("hecka.data.files.cache_folder", lambda platform, home: tmp_path / "cache")
    monkeypatch.delenv("HECKA_DATA", raising=False)
    return tmp_path / "cache" / "hecka"


def test_an_argument_stands_alone_and_the_variable_before_the_cache(cache, tmp_path, monkeypatch):
    assert data_roots() == (cache,)
    monkeypatch.setenv("HECKA_DATA", str(tmp_path / "variable"))
    assert data_roots() == (tmp_path / "variable", cache)
    assert data_roots(tmp_path / "argument") == data_roots(str(tmp_path / "argument")) == (tmp_path / "argument",)
    monkeypatch.setenv("HECKA_DATA", "~/mine")
    assert data_roots()[0] == Path.home() / "mine"
    monkeypatch.setenv("HECKA_DATA", "")
    assert data_roots() == (cache,)


def test_several_folders_are_looked_in_in_their_order(cache, monkeypatch):
    monkeypatch.setenv("HECKA_DATA", os.pathsep.join(["a", "", "b", "a"]))
    assert data_roots() == (Path("a"), Path("b"), cache)
    assert data_roots(f"c{os.pathsep}a") == (Path("c"), Path("a"))


def test_an_empty_argument_is_refused():
    with pytest.raises(InputError, match="expected a folder, got an empty name"):
        data_roots("")


def test_the_first_folder_that_can_be_written_to_is(tmp_path, monkeypatch):
    locked, free = tmp_path / "locked", tmp_path / "free"
    locked.mkdir()
    allowed = os.access
    monkeypatch.setattr("hecka.data.files.os.access", lambda path, mode: path != locked and allowed(path, mode))
    (tmp_path / "file").write_bytes(b"")
    assert writable([locked, locked / "deeper", tmp_path / "file", free, tmp_path]) == free
    assert not free.exists()
    with pytest.raises(InputError, match=r"can be written to, got .*locked or .*file; name one by HECKA_DATA"):
        writable([locked, tmp_path / "file"])


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", None, "/home/me/.cache"),
        ("linux", "XDG_CACHE_HOME", "/elsewhere"),
        ("darwin", None, "/home/me/Library/Caches"),
        ("win32", None, "/home/me/AppData/Local"),
        ("win32", "LOCALAPPDATA", "/elsewhere"),
    ],
)
def test_every_platform_has_its_cache(monkeypatch, platform, variable, expected):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "/elsewhere")
    assert cache_folder(platform, Path("/home/me")) == Path(expected)


def test_an_unpacked_twin_stands_in_for_what_was_packed(tmp_path):
    file = File("set/images.gz")
    assert file.find(tmp_path) is None
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "images").write_bytes(b"")
    assert file.find(tmp_path) == tmp_path / "set" / "images"
    (tmp_path / "set" / "images.gz").write_bytes(b"")
    assert file.find(tmp_path) == tmp_path / "set" / "images.gz"
