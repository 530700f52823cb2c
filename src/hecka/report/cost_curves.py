"""What a step costs as the work grows, on logarithmic axes: a line's slope is its exponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from hecka.report.canvas import canvas, save

COLOURS = ("#7f8c8d", "#c0392b")


@dataclass(frozen=True)
class Panel:
    """One quantity over one size: ``lines`` by name, and the exponent that formulas allow."""

    size: str
    quantity: str
    sizes: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    allowed: float


def cost_curves(rows: Sequence[Sequence[Panel]], path: Path) -> None:
    """A grid of panels, one row a quantity; dotted is the steepest that formulas allow, through the last point."""
    figure = canvas(3.1 * len(rows[0]), 2.7 * len(rows))
    for row, panels in enumerate(rows):
        for column, panel in enumerate(panels):
            axes = figure.add_subplot(len(rows), len(panels), 1 + row * len(panels) + column)
            _draw(axes, panel)
            if column == 0:
                axes.set_ylabel(panel.quantity)
            if row == len(rows) - 1:
                axes.set_xlabel(panel.size)
            if row == column == 0:
                axes.legend(frameon=False, fontsize=8, loc="upper left")
    save(figure, path)


def _draw(axes: Axes, panel: Panel) -> None:
    for colour, (name, values) in zip(COLOURS, panel.lines.items(), strict=True):
        axes.loglog(panel.sizes, values, "o-", color=colour, label=name, markersize=4, linewidth=1.5)
    last_size, highest = panel.sizes[-1], list(panel.lines.values())[-1][-1]
    bound = [highest * (size / last_size) ** panel.allowed for size in panel.sizes]
    axes.loglog(panel.sizes, bound, ":", color="black", linewidth=1, label="allowed slope")
    lowest = min(min(values) for values in panel.lines.values())
    axes.set_ylim(lowest / 2, highest * 3)
    axes.set_xticks(list(panel.sizes), [f"{size:g}" for size in panel.sizes], fontsize=8)
    axes.minorticks_off()
    axes.text(0.97, 0.05, f"allowed: exponent {panel.allowed:g}", transform=axes.transAxes, ha="right", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
