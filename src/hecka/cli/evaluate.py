"""``hecka evaluate RUN``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro


def evaluate(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="Folder of a trained run.")],
    ood: Annotated[
        tuple[str, ...] | None, tyro.conf.arg(help="Outlier sets; those of the run's recipe when left out.")
    ] = None,
    data: Annotated[Path | None, tyro.conf.arg(help="Folder that holds all data sets.")] = None,
    device: Annotated[str | None, tyro.conf.arg(help="Where to run: auto, cpu, cuda, ...")] = None,
) -> None:
    """Score a trained run on its test set and on outliers: evaluation.json and evaluation.npz in its folder."""
    from hecka.experiments.evaluate import RESULT, evaluate_run

    print(table(evaluate_run(run, ood, data, device)))
    print(f"numbers: {run / RESULT}\nnext: hecka report {shlex.quote(str(run))} --out report.html")


def main(arguments: Sequence[str]) -> None:
    """Run the command with these flags."""
    tyro.cli(evaluate, args=arguments, prog="hecka evaluate")


def table(result: dict[str, Any]) -> str:
    """The scores on inliers in a line, and a row of AUROCs for each set of outliers."""
    from hecka.report.tables import markdown

    scores, inliers = result["scores"], result["inliers"]
    shown = ("accuracy", "nll", "nll_of_mean", "brier", "ece", "mean_entropy")
    lines = [
        f"{result['recipe']}, seed {result['seed']}, budget {result['budget']:g}, {result['members']} members",
        f"{inliers['name']} test, {inliers['examples']} examples: "
        + ", ".join(f"{name.replace('_', ' ')} {scores[name]:.4f}" for name in shown),
    ]
    if result["cka"] is not None:
        lines.append(f"CKA between members (unbiased, linear), mean over layers: {result['cka']['mean']:.3f}")
    lines += [f"note: {note}" for note in inliers["notes"]]
    rows = [
        [name, *(_percent(found[score]) for score in ("entropy", "mutual_information", "density"))]
        for name, found in result["outliers"].items()
    ]
    lines += ["", markdown(["AUROC in %", "entropy", "mutual information", "density"], rows)] if rows else []
    return "\n".join(lines)


def _percent(found: dict[str, float] | None) -> str:
    return "-" if found is None else f"{100 * found['auroc']:.2f}"
