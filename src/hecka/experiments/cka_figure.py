"""``hecka reproduce figure-cka``: how alike are two members of an ensemble, layer against layer?

For each method the grid of unbiased linear CKA between every layer of one member and every layer of another, averaged
over ordered pairs of different members and over seeds.  Bright is alike.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hecka.errors import InputError
from hecka.experiments.finished_runs import FinishedRun, finished_runs, headline, missing, shared_notes
from hecka.experiments.table_rows import DIRTY_MNIST, TableRow
from hecka.report.heatmaps import HeatMap, heat_maps

# As in the paper's appendix, with the two rows that every table adds.
PANELS = (
    "ensemble",
    "hypernet",
    "svgd-rbf",
    "svgd-cka",
    "svgd-he",
    "ensemble-he",
    "ensemble-ood-he",
    "hypernet-ood-he",
    "outlier-entropy",
    "ensemble-ood-he-auto",
)


def cka_figure(runs: Path = Path("runs") / DIRTY_MNIST.name, out: Path | None = None) -> str:
    """Layer against layer CKA between members for each method, from the runs of table-dirty-mnist.

    Args:
        runs: folder of that table's runs.
        out: folder for cka.png and cka.json; the runs' own when None.
    """
    rows = DIRTY_MNIST.choose(PANELS)
    found = finished_runs(runs, rows, DIRTY_MNIST.name)
    folder = out or runs
    folder.mkdir(parents=True, exist_ok=True)
    maps = [_map(row, seeds) for row, seeds in found.items()]
    notes = shared_notes([run for seeds in found.values() for run in seeds])
    heat_maps(
        maps,
        folder / "cka.png",
        title=headline("How alike are two members, layer by layer?", notes),
        axis="layers",
        scale="CKA (unbiased, linear): 1 is alike",
        columns=5,
    )
    content = {
        "figure": "cka",
        "notes": notes,
        "rows": {each.title: {"layers": list(each.labels), "cka": each.values.tolist()} for each in maps},
    }
    (folder / "cka.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return "\n".join(filter(None, [missing(rows, found), f"files: {folder}/cka.png .json"]))


def between_members(grid: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Mean over ordered pairs of different members of a grid (L, M, L, M): (L, L).

    >>> grid = np.zeros((1, 2, 1, 2)); grid[0, :, 0, :] = [[1.0, 0.25], [0.25, 1.0]]
    >>> between_members(grid).tolist()
    [[0.25]]
    """
    members = grid.shape[1]
    if members < 2:
        raise InputError(f"figure-cka: expected at least 2 members to compare, got {members}")
    different = ~np.eye(members, dtype=bool)
    pairs: NDArray[np.float64] = grid.transpose(1, 3, 0, 2)[different].astype(np.float64)
    mean: NDArray[np.float64] = pairs.mean(0)
    return mean


def _map(row: TableRow, seeds: list[FinishedRun]) -> HeatMap:
    values = np.mean([between_members(run.arrays()["cka"]) for run in seeds], axis=0)
    labels = [str(tap) for tap in seeds[0].evaluation["cka"]["taps"]]
    return HeatMap(row.name, values, labels, f"mean of the diagonal {np.diag(values).mean():.2f}")
