import io
import tarfile
import zipfile

import pytest

from hecka.data.unpack import unpack
from hecka.errors import InputError

FILES = {"set/a.txt": b"alpha", "set/deep/b.txt": b"beta", "set/empty": b""}


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture(params=["zip", "tar"])
def pack(request, tar):
    return zipped if request.param == "zip" else tar


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_keep_their_names_and_bytes(archive, tmp_path, pack):
    archive.write_bytes(pack(FILES | {"./set/dotted.txt": b"dot", "readme": b"not of the folder"}))
    unpack(archive, tmp_path / "made" / "set")
    assert contents(tmp_path / "made") == FILES | {"set/dotted.txt": b"dot"}


def test_a_folder_gains_what_it_lacks_and_keeps_what_it_has(archive, tmp_path, pack):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.txt").write_bytes(b"mine")
    archive.write_bytes(pack(FILES))
    unpack(archive, tmp_path / "set")
    archive.unlink()
    assert contents(tmp_path) == FILES | {"set/a.txt": b"mine"}


@pytest.mark.parametrize(
    "name",
    ["../out", "set/../../out", "/out", "..\\out", "set\\..\\..\\out", "C:\\out", "C:out", "\\\\host\\share\\out"],
)
def test_a_path_that_leads_out_is_refused(archive, tmp_path, pack, name):
    archive.write_bytes(pack(FILES | {name: b"evil"}))
    with pytest.raises(InputError, match="got a path that leads out of the folder"):
        unpack(archive, tmp_path / "made" / "set")
    assert contents(tmp_path) == {"archive": archive.read_bytes()}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
@pytest.mark.parametrize("target", ["/etc", "a.txt"])
def test_links_and_devices_in_a_tar_are_refused(archive, tmp_path, tar, kind, target):
    member = tarfile.TarInfo("set/link")
    member.type, member.linkname = kind, target
    archive.write_bytes(tar(FILES | {"set/link": member}))
    with pytest.raises(InputError, match="got a link or a device: 'set/link'"):
        unpack(archive, tmp_path / "made" / "set")
    assert contents(tmp_path) == {"archive": archive.read_bytes()}


def test_a_link_in_a_zip_is_refused(archive, tmp_path):
    link = zipfile.ZipInfo("set/link")
    link.external_attr = 0o120777 << 16
    archive.write_bytes(zipped(FILES | {link: "/etc"}))
    with pytest.raises(InputError, match="got a link or a device: 'set/link'"):
        unpack(archive, tmp_path / "made" / "set")
    assert contents(tmp_path) == {"archive": archive.read_bytes()}


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"<html>", lambda b: b[: len(b) // 2], lambda b: b[:-30]])
def test_a_damaged_archive_leaves_nothing(archive, tmp_path, pack, damage):
    archive.write_bytes(damage(pack(FILES)))
    with pytest.raises(InputError, match=r"whole archive, got .* delete it and fetch it again"):
        unpack(archive, tmp_path / "made" / "set")
    assert contents(tmp_path) == {"archive": archive.read_bytes()}


def test_a_wrong_check_sum_inside_is_damage(archive, tmp_path, tar):
    content = tar({"set/a": bytes(100_000)})
    archive.write_bytes(content[:-8] + b"\0\0\0\0" + content[-4:])  # gzip ends with a CRC and a length
    with pytest.raises(InputError, match="got BadGzipFile"):
        unpack(archive, tmp_path / "made" / "set")


def test_an_archive_without_the_folder_is_refused(archive, tmp_path, pack):
    archive.write_bytes(pack({"other/a.txt": b"alpha"}))
    with pytest.raises(InputError, match="expected a folder set"):
        unpack(archive, tmp_path / "made" / "set")
    assert list((tmp_path / "made").iterdir()) == []
