r"""Does a column put the methods in the paper's order?

Kendall's :math:`\tau_b` over the methods that both have: pairs in the same order less pairs in the opposite one, over
all pairs, corrected for ties; 1 is the same order, -1 the reverse, 0 neither.  Absolute numbers depend on budgets and
data; what a method is worth beside another should not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hecka.experiments.published import Published
from hecka.experiments.table_numbers import Column, RowResult

FEWEST = 3  # two methods have an order, but no correlation worth the name


@dataclass(frozen=True)
class Agreement:
    """How far one column's order is the paper's; ``tau`` is None where either side is all ties."""

    column: str
    label: str
    methods: int
    tau: float | None
    pairs: int
    pairs_alike: int
    best_here: str
    best_in_paper: str

    @property
    def sentence(self) -> str:
        """The same for a reader."""
        tau = "undefined (all tied)" if self.tau is None else f"{self.tau:+.2f}"
        best = "as in the paper" if self.best_here == self.best_in_paper else f"in the paper {self.best_in_paper}"
        return (
            f"Order by {self.label}, {self.methods} methods: Kendall tau {tau} with the paper, {self.pairs_alike} of "
            f"{self.pairs} pairs as there; best here {self.best_here}, {best}."
        )


def agreements(columns: Sequence[Column], results: Sequence[RowResult], published: Published) -> list[Agreement]:
    """One for every column that has a better side and enough methods on both sides."""
    found = []
    for column in columns:
        pairs = {
            result.row.name: (ours, published[result.row.name][column.key].value)
            for result in results
            if column.key in published.get(result.row.name, {}) and (ours := result.mean(column.key)) is not None
        }
        if column.better and len(pairs) >= FEWEST:
            found.append(_agreement(column, pairs))
    return found


def _agreement(column: Column, methods: Mapping[str, tuple[float, float]]) -> Agreement:
    names = list(methods)
    ours, theirs = ([column.better * pair[side] for pair in methods.values()] for side in (0, 1))
    pairs = list(combinations(range(len(names)), 2))
    return Agreement(
        column=column.key,
        label=column.label,
        methods=len(names),
        tau=kendall(ours, theirs),
        pairs=len(pairs),
        pairs_alike=sum((ours[i] - ours[j]) * (theirs[i] - theirs[j]) > 0 for i, j in pairs),
        best_here=names[ours.index(max(ours))],
        best_in_paper=names[theirs.index(max(theirs))],
    )


def kendall(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Kendall's tau-b; None where either side is all ties.

    >>> round(kendall([1, 2, 3, 4], [10, 20, 40, 30]), 4)
    0.6667
    """
    from scipy.stats import kendalltau  # here, because tables without a comparison need no SciPy

    if len(set(ours)) < 2 or len(set(theirs)) < 2:
        return None
    return float(kendalltau(ours, theirs).statistic)
