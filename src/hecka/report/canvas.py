"""What all pictures share: figures that are not kept anywhere, and how they are written."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

DOTS_PER_INCH = 130


def canvas(width: float, height: float) -> Figure:
    """An empty figure of this size in inches that fits its own labels.

    It is no figure of pyplot's, which would keep it open, and ask some machines for a window.
    """
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` to ``path``, whose folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DOTS_PER_INCH)
