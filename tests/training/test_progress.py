import pytest

from hecka.training.progress import Display


@pytest.fixture
def drawn(capsys, monkeypatch):
    """What three steps leave on the screen, on a terminal or not."""

    def draw(terminal, shown=True):
        for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        if terminal:
            monkeypatch.setenv("FORCE_COLOR", "1")
            monkeypatch.setenv("COLUMNS", "120")
        with Display(shown, total=10, step=2) as display:
            display.update(3, {"loss": 0.125})
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err

    return draw


def test_a_terminal_sees_steps_speed_and_parts(drawn):
    screen = drawn(terminal=True)
    for text in ("3/10", "steps/s", "loss 0.125"):
        assert text in screen


def test_a_run_that_was_finished_before_draws_nothing(train, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_COLOR", "1")
    train(out=tmp_path, progress=True)
    assert capsys.readouterr().err
    train(out=tmp_path, progress=True)
    assert capsys.readouterr().err == ""


def test_no_terminal_or_no_wish_means_silence(drawn):
    assert drawn(terminal=False) == ""
    assert drawn(terminal=True, shown=False) == ""


def test_a_notebook_that_cannot_redraw_is_left_in_peace(drawn, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("hecka.training.progress.find_spec", lambda name: None)  # no ipywidgets
    assert drawn(terminal=False) == ""  # rich's warning would be an error here
