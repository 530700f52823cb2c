"""``hecka data`` as a user types it; downloads come from a server on this machine."""

import json

import pytest

from hecka import cli
from hecka.data.catalogue import CATALOGUE
from hecka.data.files import File

CONTENT = b"published"


@pytest.fixture
def run(tmp_path, capsys):
    """Runs ``hecka data ...`` on the folder tmp_path; what it printed, and what it told beside, and its status."""

    def hecka_data(*arguments, root=tmp_path):
        status = 0
        try:
            cli.main(["data", *arguments, *(["--data", str(root)] if root else [])])
        except SystemExit as stop:
            status = stop.code
        printed = capsys.readouterr()
        return printed.out, printed.err, status

    return hecka_data


@pytest.fixture
def served(entry, server, answer, md5):
    """The set "mine" of one file, and the replies that its server is to give."""

    def serve(*replies):
        entry(File("mine.bin", md5(CONTENT), len(CONTENT), (server.serve("/mine.bin", *replies),)))

    return serve


def test_help_lists_the_actions(run):
    printed, _, status = run("--help", root=None)
    assert status == 0
    assert all(f"\n  {action} " in printed for action in ("list", "fetch", "check", "make-ambiguous", "sheet"))


def test_a_mistyped_action_or_set_is_met_with_the_nearest(run):
    assert "no action is called 'fecth'; did you mean 'fetch'?" in run("fecth")[2]
    for action in ("list", "fetch", "check", "sheet"):
        assert "no set is called 'mnits'; did you mean 'mnist'?" in run(action, "mnits")[2]


def test_list_has_a_line_for_every_set(run, tmp_path):
    printed, _, status = run("list")
    assert status == 0
    for name in CATALOGUE:
        assert f"\n| {name} " in printed
    assert f"Looked in {tmp_path}." in printed


def test_list_tells_what_is_here(run, tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "t10k-images-idx3-ubyte").write_bytes(b"unpacked")
    (line,) = [line for line in run("list")[0].splitlines() if line.startswith("| mnist ")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["mnist", "60 000", "10 000", "1 x 28 x 28", "11.6 MB", "1 of 4 files"]


def test_list_tells_all_about_one(run, tmp_path):
    printed, _, _ = run("list", "fashion-mnist")
    assert "60 000 train, 10 000 test" in printed
    assert "T-shirt/top" in printed
    assert f"-, looked in {tmp_path}" in printed


def test_fetch_downloads_and_says_how_files_stand(run, served, answer, tmp_path):
    served(answer.whole(CONTENT))
    printed, told, status = run("fetch", "mine")
    assert (tmp_path / "mine.bin").read_bytes() == CONTENT
    assert "| mine | mine.bin |    ok |" in printed
    assert told == "downloading mine.bin, 0.0 MB\n"
    assert status == 0


def test_fetch_shows_a_bar_on_a_terminal(run, served, answer, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    served(answer.whole(CONTENT))
    _, told, _ = run("fetch", "mine")
    assert "mine.bin" in told
    assert "━" in told
    assert "downloading" not in told


def test_fetch_fails_with_a_message_and_leaves_nothing(run, served, answer, tmp_path):
    served(answer.whole(b"something else"))
    _, _, status = run("fetch", "mine")
    assert status.startswith("hecka: download: expected mine.bin from one of 1 sources")
    assert "not the published file, deleted" in status
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_fetch_says_that_it_can_go_on(run, served, answer, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    served(answer.whole(CONTENT))
    monkeypatch.setattr("hecka.data.fetch.download", interrupted)
    _, told, status = run("fetch", "mine")
    assert "the same command goes on from here" in told
    assert status == 130


def test_what_nobody_publishes_is_to_be_made(run):
    assert "run `hecka data make-ambiguous`" in run("fetch", "ambiguous-mnist-surrogate")[2]


@pytest.mark.parametrize(("content", "status"), [(CONTENT, 0), (b"packed anew", 1), (None, 1)])
def test_check_ends_with_status_1_unless_all_is_as_published(run, served, answer, tmp_path, md5, content, status):
    served(answer.error(404))
    if content:
        (tmp_path / "mine.bin").write_bytes(content)
    printed, _, found = run("check", "mine")
    assert found == status
    assert {CONTENT: " ok ", None: "missing"}.get(content, "differs from the official checksum") in printed
    assert (f"{tmp_path / 'mine.bin'}: {md5(b'packed anew')}, published {md5(CONTENT)}" in printed) == (
        content == b"packed anew"
    )


def test_check_of_all_leaves_out_what_nobody_fetched(run, served, answer, tmp_path):
    served(answer.error(404))
    assert run("check")[0].startswith("no file of any set is here")
    (tmp_path / "mine.bin").write_bytes(CONTENT)
    printed, _, status = run("check")
    assert [line.split(" | ")[0] for line in printed.splitlines()[2:]] == ["| mine"]
    assert status == 0


def test_sheet_writes_a_picture(run, tmp_path):
    out = tmp_path / "deep" / "digits.png"
    printed, _, status = run("sheet", "digits", "--out", str(out), "--rows", "2", "--columns", "3")
    assert status == 0
    assert "500 images of 10 classes" in printed
    assert out.read_bytes().startswith(b"\x89PNG")


def test_make_ambiguous_prints_its_statistics_beside_the_published_ones(run, tmp_path, monkeypatch):
    names = ("images", "labels", "entropy", "ceiling", "drawn", "disagreement", "candidates")
    half = dict(zip(names, (6000, 10, 0.4, 0.8, 0.7, 0.05, 9), strict=True))
    asked = []

    def make(data, seed, tell):
        asked.append((data, seed))
        tell("1/4  something")
        return tmp_path

    monkeypatch.setattr("hecka.experiments.ambiguous.make", make)
    (tmp_path / "statistics.json").write_text(json.dumps({"seed": 3, "train": half, "test": half}))
    printed, _, _ = run("make-ambiguous", "--seed", "3")
    assert asked == [(str(tmp_path), 3)]
    assert "1/4  something" in printed
    (line,) = [line for line in printed.splitlines() if "entropy" in line]
    assert [cell.strip() for cell in line.split("|")[2:5]] == ["0.400", "0.400", "about .43"]
    assert f"made in 0 s: {tmp_path}" in printed
