"""The grid over the smoothing of the energy."""

import json

import pytest

import hecka
from hecka.experiments.smoothing import GRID, rows, smoothing


def test_rows_differ_in_the_smoothing_alone():
    terms = [row.method.kernel for row in rows()]
    assert [term.eps_arc for term in terms] == list(GRID)
    assert {(term.s, term.eps_dist, term.kernel, term.centering) for term in terms} == {
        (2, 0.00025, "cosine", "one-sided")
    }
    assert len({row.slug for row in rows()}) == len(GRID)


def test_command_writes_a_row_a_value_and_a_picture(tmp_path):
    said = smoothing(tmp_path, steps=2)
    assert all(f"eps_arc = {eps_arc:g} " in said for eps_arc in GRID)
    assert (tmp_path / "smoothing.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((tmp_path / "smoothing.json").read_text())["rows"]) == len(GRID)


def test_at_least_one_step_is_needed(tmp_path):
    with pytest.raises(hecka.InputError, match="smoothing: expected at least 1 seed and 1 step"):
        smoothing(tmp_path, steps=0)
