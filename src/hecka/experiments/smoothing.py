"""What the smoothing of the energy does: SVGD with HE-CKA of cosine features on four classes, one row an ``eps_arc``.

The arccos is infinitely steep where two members coincide; dividing the cosine by 1 + ``eps_arc`` bounds that slope.  A
small value lets members that are alike push each other hard, to the harm of the fit and of all other pairs; a large one
makes the energy as blind to them as the plain cosine.  Everything but the grid is published for this figure.
"""

from __future__ import annotations

from pathlib import Path

from hecka.diversity.terms import HECKA
from hecka.experiments.four_class import STEPS, compare, present
from hecka.experiments.four_class_rows import ensemble
from hecka.experiments.rows import Row, check
from hecka.inference.svgd import SVGD

GRID = (0.0001, 0.001, 0.004, 0.016, 0.065, 0.165, 0.5)


def rows() -> list[Row]:
    """One row a value of the grid."""
    return [
        Row(f"eps_arc = {eps_arc:g}", f"eps-arc-{eps_arc:g}", ensemble, SVGD(kernel=_term(eps_arc))) for eps_arc in GRID
    ]


def smoothing(out: Path = Path("runs/smoothing"), seeds: int = 1, steps: int = STEPS) -> str:
    """SVGD + HE-CKA on four classes, from sharp to smooth: a table, and a map of entropy for each eps_arc.

    Args:
        out: folder for runs, numbers and picture; the same command goes on there.
        seeds: how many seeds, from 0; the picture shows seed 0.
        steps: training steps of each row.
    """
    check("smoothing", seeds, steps)
    title = "SVGD + HE-CKA (cosine features): how smooth should the energy be?"
    return present(compare(rows(), out, seeds, steps), out / "smoothing", title, columns=4)


def _term(eps_arc: float) -> HECKA:
    return HECKA(
        kernel="cosine",
        weights=(0.2, 0.35, 0.85, 0.05),
        centering="one-sided",
        s=2,
        eps_dist=0.00025,
        eps_arc=eps_arc,
    )
