"""``hecka reproduce table-cka``: how alike the members of each ensemble are, from the runs of table-cifar10-resnet18.

Unbiased linear CKA between two members at the same layer, averaged over pairs and over the recorded layers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hecka.experiments import published
from hecka.experiments.finished_runs import finished_runs, missing, shared_notes
from hecka.experiments.table_numbers import RowResult
from hecka.experiments.table_rows import CIFAR10_RESNET18, TableSpec
from hecka.experiments.table_text import write


def spec() -> TableSpec:
    """The table of the ResNet18 runs that have members to compare, with one column."""
    return replace(
        CIFAR10_RESNET18,
        name="table-cka",
        title="Average CKA between members over all layers, ResNet18 on CIFAR-10",
        rows=tuple(row for row in CIFAR10_RESNET18.rows if row.slug != "ddu"),
        published=published.CKA,
        only=("cka",),
    )


def table_cka(runs: Path = Path("runs") / CIFAR10_RESNET18.name, out: Path = Path("runs") / "table-cka") -> str:
    """How alike members are: CKA averaged over pairs and layers, beside the paper's.

    Args:
        runs: folder of the runs of table-cifar10-resnet18.
        out: folder for the table.
    """
    found = finished_runs(runs, spec().rows, CIFAR10_RESNET18.name)
    results = [RowResult(row, [run.evaluation for run in seeds], shared_notes(seeds)) for row, seeds in found.items()]
    text = write(out, spec(), results, {"runs": str(runs)})
    absent = missing(spec().rows, found)
    return "\n\n".join(filter(None, [text, absent, f"files: {out}/table.md .csv .tex .json"]))
