import hashlib
import sys
from pathlib import Path

import pytest

from hecka.data.files import File, cache_folder, data_root, digest


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_a_digest_is_that_of_the_bytes(tmp_path, algorithm):
    content = bytes(range(256)) * 3000
    (tmp_path / "file").write_bytes(content)
    assert digest(tmp_path / "file", algorithm) == f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def test_an_argument_goes_before_the_variable_and_that_before_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HECKA_DATA", str(tmp_path / "variable"))
    assert data_root(tmp_path / "argument") == tmp_path / "argument"
    assert data_root(str(tmp_path / "argument")) == tmp_path / "argument"
    assert data_root() == tmp_path / "variable"
    monkeypatch.setenv("HECKA_DATA", "~/mine")
    assert data_root() == Path.home() / "mine"
    monkeypatch.delenv("HECKA_DATA")
    assert data_root() == cache_folder(sys.platform, Path.home()) / "hecka"


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
