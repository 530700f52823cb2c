"""``hecka reproduce figure-entropy``: how sure methods are of digits, of ambiguous digits and of clothes.

Predictive entropy of every test image of MNIST, Ambiguous-MNIST and Fashion-MNIST.  Clean digits should lie left,
ambiguous ones spread out, for their entropy is real; clothes, which no network has seen, should lie right of both.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hecka.experiments.finished_runs import FinishedRun, finished_runs, headline, missing, shared_notes
from hecka.experiments.table_numbers import value
from hecka.experiments.table_rows import DIRTY_MNIST, TableRow
from hecka.report.histograms import Histograms, histogram_panels, shares

# The paper's four, and the two rows that every table adds.
PANELS = ("ensemble", "svgd-rbf", "svgd-he", "ensemble-ood-he", "outlier-entropy", "ensemble-ood-he-auto")
OUTLIERS = "fashion-mnist"
CLASSES, BINS = 10, 40
EDGES = np.linspace(0.0, math.log(CLASSES), BINS + 1)


def entropy_figure(runs: Path = Path("runs") / DIRTY_MNIST.name, out: Path | None = None) -> str:
    """Histograms of predictive entropy of inliers and outliers, from the runs of table-dirty-mnist.

    Args:
        runs: folder of that table's runs.
        out: folder for entropy.png and entropy.json; the runs' own when None.
    """
    rows = DIRTY_MNIST.choose(PANELS)
    found = finished_runs(runs, rows, DIRTY_MNIST.name)
    folder = out or runs
    folder.mkdir(parents=True, exist_ok=True)
    panels = [_panel(row, seeds) for row, seeds in found.items()]
    notes = shared_notes([run for seeds in found.values() for run in seeds])
    histogram_panels(
        panels,
        EDGES,
        folder / "entropy.png",
        title=headline("How unsure is each method of what it sees?", notes),
        xlabel="predictive entropy in nats",
        ceiling=f"ln {CLASSES}",
    )
    content = {
        "figure": "entropy",
        "edges": EDGES.tolist(),
        "notes": notes,
        "rows": {
            panel.title: {
                name: {"shares": share.tolist(), "median": panel.medians[name]} for name, share in panel.shares.items()
            }
            for panel in panels
        },
    }
    (folder / "entropy.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return "\n".join(filter(None, [missing(rows, found), f"files: {folder}/entropy.png .json"]))


def entropies(run: FinishedRun) -> dict[str, NDArray[np.floating[Any]]]:
    """Entropies of the three sets of one run."""
    arrays = run.arrays()
    inliers, part = arrays["inliers/entropy"], arrays["inliers/part"]
    return {
        "MNIST": inliers[part == 0],
        "Ambiguous-MNIST": inliers[part == 1],
        "Fashion-MNIST (never seen)": arrays[f"{OUTLIERS}/entropy"],
    }


def _panel(row: TableRow, seeds: list[FinishedRun]) -> Histograms:
    """All seeds of a row together."""
    parts = [entropies(run) for run in seeds]
    pooled = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    aurocs = [auroc for run in seeds if (auroc := value(run.evaluation, f"{OUTLIERS}/entropy")) is not None]
    return Histograms(
        row.name,
        {name: shares(values, EDGES) for name, values in pooled.items()},
        {name: float(np.median(values)) for name, values in pooled.items()},
        f"AUROC of Fashion-MNIST {np.mean(aurocs):.2f} %",
    )
