import hashlib
import socket
from pathlib import Path

import pytest

from hecka.data import download as module
from hecka.data.download import DownloadError, download

CONTENT = bytes(range(256)) * 4000  # four blocks
CHECKSUM = f"md5:{hashlib.md5(CONTENT).hexdigest()}"
HALF = len(CONTENT) // 2
REST = f"bytes={HALF}-"


@pytest.fixture
def get(tmp_path):
    """Downloads to tmp_path/deep/data.bin, without a pause between rounds."""

    def run(*urls, checksum=CHECKSUM, **settings):
        target = tmp_path / "deep" / "data.bin"
        download(urls, target, checksum, **({"rounds": 3, "pause": 0, "timeout": 30} | settings))
        assert left(tmp_path) == ["data.bin"]
        return target.read_bytes()

    return run


@pytest.fixture
def part(tmp_path):
    (tmp_path / "deep").mkdir()
    return tmp_path / "deep" / "data.bin.part"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


def test_a_file_comes_whole_and_progress_is_told(get, server, answer):
    told = []
    url = server.serve("/a", answer.whole(CONTENT))
    assert get(url, progress=lambda *line: told.append(line)) == CONTENT
    assert server.asked == [("/a", None)]
    assert len(told) >= 4
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    assert told[-1] == ("data.bin", len(CONTENT), len(CONTENT))
    assert {(name, total) for name, _, total in told} == {("data.bin", len(CONTENT))}


def test_a_redirect_is_followed(get, server, answer):
    server.serve("/there", answer.whole(CONTENT))
    assert get(server.serve("/here", answer.redirect("/there"))) == CONTENT


def test_an_interrupted_file_is_taken_up_where_it_stopped(get, server, answer, part):
    part.write_bytes(CONTENT[:HALF])
    told = []
    assert get(server.serve("/a", answer.whole(CONTENT)), progress=lambda *line: told.append(line)) == CONTENT
    assert server.asked == [("/a", REST)]
    assert told[0][1] > HALF
    assert told[-1] == ("data.bin", len(CONTENT), len(CONTENT))


def test_a_server_without_ranges_sends_all_again(get, server, answer, part):
    part.write_bytes(CONTENT[:HALF])
    assert get(server.serve("/a", answer.whole(CONTENT, ranges=False))) == CONTENT


def test_a_part_that_is_whole_already_is_taken(get, server, answer, part):
    part.write_bytes(CONTENT)
    assert get(server.serve("/a", answer.whole(CONTENT))) == CONTENT
    assert server.asked == [("/a", f"bytes={len(CONTENT)}-")]


@pytest.mark.parametrize("wrong", [b"x" * HALF, CONTENT + b"x"], ids=["other bytes", "too long"])
def test_a_wrong_part_is_thrown_away(get, server, answer, part, wrong):
    part.write_bytes(wrong)
    assert get(server.serve("/a", answer.whole(CONTENT))) == CONTENT
    assert server.asked == [("/a", f"bytes={len(wrong)}-"), ("/a", None)]


def test_a_range_that_was_not_asked_for_does_no_harm(get, server, answer, part):
    part.write_bytes(CONTENT[:HALF])
    url = server.serve("/a", answer.whole(CONTENT, shift=-10), answer.whole(CONTENT))
    assert get(url) == CONTENT
    assert server.asked == [("/a", REST), ("/a", None)]


@pytest.mark.parametrize("stall", [0.0, 5.0], ids=["closes early", "stalls"])
def test_a_connection_that_fails_halfway_is_resumed(get, server, answer, stall):
    url = server.serve("/a", answer.whole(CONTENT, sent=HALF, stall=stall), answer.whole(CONTENT))
    assert get(url, timeout=1 if stall else 30) == CONTENT
    assert server.asked == [("/a", None), ("/a", REST)]


def test_the_next_source_goes_on_where_the_first_stopped(get, server, answer):
    first = server.serve("/a", answer.whole(CONTENT, sent=HALF))
    assert get(first, server.serve("/b", answer.whole(CONTENT))) == CONTENT
    assert server.asked == [("/a", None), ("/b", REST)]


@pytest.mark.parametrize("code", [500, 503, 429])
def test_what_a_server_may_get_over_is_tried_again(get, server, answer, code):
    url = server.serve("/a", answer.error(code), answer.error(code), answer.whole(CONTENT))
    assert get(url) == CONTENT
    assert len(server.asked) == 3


def test_a_source_that_says_no_is_asked_once(get, server, answer):
    gone = server.serve("/a", answer.error(404))
    assert get(gone, server.serve("/b", answer.error(500), answer.whole(CONTENT))) == CONTENT
    assert [path for path, _ in server.asked] == ["/a", "/b", "/b"]


def test_waits_double(get, server, answer, monkeypatch):
    waited = []
    monkeypatch.setattr(module.time, "sleep", waited.append)
    with pytest.raises(DownloadError, match="HTTP 500"):
        get(server.serve("/a", answer.error(500)), rounds=5, pause=1.0)
    assert waited == [1, 2, 4, 8]


def test_a_lie_is_deleted_and_not_asked_for_again(get, server, answer, tmp_path):
    lie = b"<html>please log in</html>"
    with pytest.raises(DownloadError, match=f"expected {CHECKSUM}, got md5:{hashlib.md5(lie).hexdigest()}"):
        get(server.serve("/a", answer.whole(lie)))
    assert len(server.asked) == 1
    assert left(tmp_path) == []


@pytest.mark.parametrize("checksum", [CHECKSUM, None])
def test_an_answer_without_end_is_cut_off_before_it_fills_the_disk(
    get, server, answer, tmp_path, monkeypatch, checksum
):
    monkeypatch.setattr(module, "EXCESS", 1_000_000)
    told = []
    with pytest.raises(DownloadError, match=r"expected 1000 bytes, got \d+ and more: not the published file"):
        get(
            server.serve("/a", answer.endless(50_000_000)),
            checksum=checksum,
            size=1000,
            progress=lambda name, done, total: told.append(done),
        )
    assert len(server.asked) == 1
    assert left(tmp_path) == []
    assert max(told) < 3_000_000


def test_half_a_file_stays_for_the_next_time(get, server, answer, part):
    url = server.serve("/a", answer.whole(CONTENT, sent=HALF), answer.error(500))
    with pytest.raises(DownloadError, match=r"data\.bin from one of 1 sources, .*/a: HTTP 500.* put the file at"):
        get(url)
    assert left(part.parent) == ["data.bin.part"]
    assert part.read_bytes() == CONTENT[:HALF]


def test_a_file_that_was_there_stays_until_the_new_one_is_whole(get, server, answer, part):
    part.with_suffix("").write_bytes(b"old")
    with pytest.raises(DownloadError, match="closed after"):
        get(server.serve("/a", answer.whole(CONTENT, sent=HALF, ranges=False)))
    assert part.with_suffix("").read_bytes() == b"old"


def test_every_source_has_its_reason(get, server, answer):
    urls = [server.serve("/a", answer.error(403)), server.serve("/b", answer.whole(CONTENT, sent=HALF, ranges=False))]
    with pytest.raises(DownloadError, match=rf"/a: HTTP 403 Forbidden; .*/b: .*closed after {HALF} of {len(CONTENT)}"):
        get(*urls)


def test_no_network_is_said(get, server):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DownloadError, match=r"no connection \(.*refused.*\); is there a network\?"):
        get(f"http://127.0.0.1:{port}/a")


def test_a_stall_is_said(get, server, answer):
    with pytest.raises(DownloadError, match=r"/a: no byte for 0\.5 seconds"):
        get(server.serve("/a", answer.whole(CONTENT, sent=HALF, stall=5.0)), rounds=1, timeout=0.5)


def test_silence_from_the_start_is_a_timeout(get, server, answer):
    with pytest.raises(DownloadError, match="timed out"):
        get(server.serve("/a", answer.silence(5.0)), rounds=1, timeout=0.5)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full, a disk without space")
def test_a_full_disk_is_said(get, server, answer, part):
    part.symlink_to("/dev/full")
    with pytest.raises(DownloadError, match=r"disk is full while writing .*data\.bin\.part, .* make room"):
        get(server.serve("/a", answer.whole(CONTENT)))
    assert len(server.asked) == 1


def test_a_folder_that_cannot_be_written_to_is_said(get, server, answer, tmp_path):
    (tmp_path / "deep").write_bytes(b"no folder")
    with pytest.raises(DownloadError, match=r"cannot write .*choose a folder"):
        get(server.serve("/a", answer.whole(CONTENT)))
    assert server.asked == []


class TestWithoutChecksum:
    """Nothing could tell whether two halves belong together."""

    def test_nothing_is_resumed(self, get, server, answer, part):
        part.write_bytes(b"x" * HALF)
        url = server.serve("/a", answer.whole(CONTENT, sent=HALF), answer.whole(CONTENT))
        assert get(url, checksum=None) == CONTENT
        assert server.asked == [("/a", None), ("/a", None)]

    def test_the_size_is_looked_at(self, get, server, answer, tmp_path):
        with pytest.raises(DownloadError, match=f"expected 7 bytes, got {len(CONTENT)} bytes"):
            get(server.serve("/a", answer.whole(CONTENT)), checksum=None, size=7)
        assert left(tmp_path) == []

    def test_half_a_file_does_not_stay(self, get, server, answer, tmp_path):
        with pytest.raises(DownloadError, match="closed after"):
            get(server.serve("/a", answer.whole(CONTENT, sent=HALF)), checksum=None)
        assert left(tmp_path) == []
