"""Points on spheres before and after they were driven apart, and how fast they went.

Three dimensions are seen from outside, the hidden half small and pale; of more dimensions one sees the angles between
all pairs of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from torch import Tensor

from hecka.report.canvas import canvas, save

GROUP_COLOURS = ("#d1495b", "#00798c")
CURVE_COLOURS = ("#edae49", "#222222")  # orange and black, as in the paper


@dataclass(frozen=True)
class Spreading:
    """One row of the picture.

    ``groups`` (N,) are the clusters that points started in, ``stages`` named points (N, D), the start first, and
    ``curves`` the values of each measure, for each descent, iteration by iteration.
    """

    title: str
    groups: Tensor
    stages: dict[str, Tensor]
    curves: dict[str, dict[str, list[float]]]


def spheres(rows: Sequence[Spreading], path: Path) -> None:
    """Write one row of panels for each of ``rows``: its stages, then its curves."""
    columns = max(len(row.stages) + len(row.curves) for row in rows)
    figure = canvas(2.9 * columns, 3.3 * len(rows))
    parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
    for part, row in zip(parts, rows, strict=True):
        part.suptitle(row.title, fontsize=11)
        cells = list(part.subplots(1, columns, squeeze=False)[0])
        start = next(iter(row.stages.values()))
        for axes, (name, points) in zip(cells, row.stages.items(), strict=False):
            if points.shape[1] == 3:
                _ball(axes, points @ _view(start, row.groups).T, row.groups)
            else:
                _angles(axes, points, bottom=axes is cells[0])
            axes.set_title(name, fontsize=9.5)
        for axes, (measure, curves) in zip(cells[len(row.stages) :], row.curves.items(), strict=False):
            for (name, values), colour in zip(curves.items(), CURVE_COLOURS, strict=True):
                axes.plot(values, color=colour, label=name, linewidth=1.8)
            axes.set_title(measure, fontsize=9.5)
            axes.set_xlabel("iteration", fontsize=8.5)
            axes.tick_params(labelsize=7.5)
            axes.grid(alpha=0.25)
            axes.legend(fontsize=7.5, frameon=False)
    save(figure, path)


def _view(points: Tensor, groups: Tensor) -> Tensor:
    """Axes (3, 3), the last of them towards the eye, such that the clusters of ``points`` stand side by side."""
    first, second = (F.normalize(points[groups == group].mean(0), dim=0) for group in (0, 1))
    right, front = F.normalize(second - first, dim=0), F.normalize(first + second, dim=0)
    return torch.stack([right, torch.linalg.cross(front, right), front])


def _ball(axes: Axes, points: Tensor, groups: Tensor) -> None:
    axes.add_patch(Circle((0, 0), 1.0, facecolor="#f4f4f4", edgecolor="#bbbbbb", linewidth=0.8))
    for hidden in (True, False):
        for group, colour in enumerate(GROUP_COLOURS):
            shown = (groups == group) & ((points[:, 2] < 0) == hidden)
            x, y = points[shown, :2].T.numpy(force=True)
            if hidden:
                axes.scatter(x, y, s=6, c=colour, alpha=0.25, linewidths=0)
            else:
                axes.scatter(x, y, s=16, c=colour, edgecolors="white", linewidths=0.3)
    axes.set_xlim(-1.05, 1.05)
    axes.set_ylim(-1.05, 1.05)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _angles(axes: Axes, points: Tensor, bottom: bool) -> None:
    above, right = torch.triu_indices(len(points), len(points), offset=1)
    angles = torch.arccos((points @ points.T)[above, right].clamp(-1, 1)).rad2deg()
    axes.hist(angles.numpy(force=True), bins=60, range=(0, 120), color=GROUP_COLOURS[1])
    axes.axvline(90, color="#888888", linewidth=0.8, linestyle=":")
    axes.set_xlabel("angle between two points, degrees", fontsize=8.5)
    axes.set_xticks([0, 30, 60, 90, 120])
    axes.set_yticks([])
    axes.tick_params(labelsize=7.5)
    if bottom:
        axes.set_ylabel("pairs", fontsize=8.5)
