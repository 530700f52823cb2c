"""Order against the paper's: closed forms, and a count of pairs by hand."""

import pytest

from hecka.experiments.published import read
from hecka.experiments.table_numbers import Column, RowResult
from hecka.experiments.table_order import agreements, kendall
from hecka.experiments.table_rows import TableRow

ACCURACY = Column("accuracy", "Accuracy", 2, +1)
NLL = Column("nll", "NLL", 3, -1)
COST = Column("seconds", "s", 0, 0)
PAPER = read("""
method | accuracy | nll | seconds
a      | 90       | 0.1 | 1
b      | 80       | 0.2 | 2
c      | 70       | 0.3 | 3
d      | 60       | -   | 4
""")


def result(name, accuracy, nll):
    scores = {"accuracy": accuracy, "nll": nll}
    return RowResult(TableRow(name, f"x/{name}"), [{"score": "entropy", "scores": scores, "seconds": {"train": 1}}])


@pytest.mark.parametrize(
    ("ours", "theirs", "tau"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([3, 2, 1], [10, 20, 30], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),
        ([1, 1, 2], [1, 2, 3], 2 / (2 * 3) ** 0.5),  # one tie: two pairs agree, over the root of 2 * 3
        ([1, 1, 1], [1, 2, 3], None),
    ],
)
def test_kendall(ours, theirs, tau):
    assert kendall(ours, theirs) == (tau if tau is None else pytest.approx(tau))


def test_a_lower_column_is_turned_round_and_missing_numbers_are_left_out():
    ours = [
        result("a", 0.9, 0.5),
        result("b", 0.8, 0.3),
        result("c", 0.7, 0.4),
        result("d", 0.75, 0.1),
        result("e", 1, 0),
    ]
    accuracy, nll = agreements([ACCURACY, NLL, COST], ours, PAPER)
    assert (accuracy.column, accuracy.methods, accuracy.pairs, accuracy.pairs_alike) == ("accuracy", 4, 6, 5)
    assert accuracy.tau == pytest.approx(4 / 6)
    assert (accuracy.best_here, accuracy.best_in_paper) == ("a", "a")
    assert (nll.methods, nll.pairs_alike, nll.best_here, nll.best_in_paper) == (3, 1, "b", "a")
    assert nll.tau == pytest.approx(-1 / 3)
    assert "tau +0.67" in accuracy.sentence
    assert "as in the paper" in accuracy.sentence
    assert "in the paper a" in nll.sentence


def test_two_methods_have_no_order_to_speak_of():
    assert agreements([ACCURACY], [result("a", 0.9, 0), result("b", 0.8, 0)], PAPER) == []
