"""The command as a user types it."""

import subprocess
import sys

import pytest

from hecka import cli


def hecka(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hecka", *arguments], capture_output=True, text=True)


def test_help_names_every_command():
    done = hecka("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("demo", "bench"))


def test_a_mistyped_command_is_refused_with_what_exists():
    done = hecka("dmeo")
    assert done.returncode != 0
    assert "demo" in done.stderr


def test_demo_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hecka", "demo", "--steps", "2", "--out", str(tmp_path)])
    cli.main()
    printed = capsys.readouterr().out
    assert 'OOD HE-CKA, gamma="auto"' in printed
    assert str(tmp_path / "four-class.png") in printed


def test_errors_end_with_their_message_and_no_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["hecka", "demo", "--seeds", "0"])
    with pytest.raises(SystemExit, match=r"^hecka: demo: expected at least 1 seed"):
        cli.main()


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt("stopped after step 7")

    monkeypatch.setattr("hecka.experiments.four_class.demo", interrupted)
    monkeypatch.setattr(sys, "argv", ["hecka", "demo"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 130
    assert "stopped after step 7" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m hecka data list"
    with subprocess.Popen(command.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
