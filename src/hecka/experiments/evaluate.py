"""A trained run becomes numbers: ``evaluation.json`` for tables, ``evaluation.npz`` for pictures.

One pass over the test set and one over each set of outliers keep a handful of numbers an example; a further one, over
at most 10 000 inliers, compares the members' features.  Nothing is done twice: what was evaluated for the same weights
and the same sets is read from the file.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hecka.data.files import digest
from hecka.experiments.alikeness import cka_grid, cka_summary
from hecka.experiments.extremes import Pictures, extremes
from hecka.experiments.inputs import EVALUATION_BATCH, in_order, split, whitening_of
from hecka.experiments.recipe import Recipe
from hecka.experiments.sources import Source, inliers, outliers
from hecka.experiments.train import FORMAT, read_config, restore, write_json
from hecka.members.ddu import DDU
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.scores.calibration import reliability_table
from hecka.scores.evaluate import InlierScores, OutlierScores, Predictor, score_inliers, score_outliers, summarise
from hecka.training import checkpoint, record

RESULT, ARRAYS = "evaluation.json", "evaluation.npz"
INLIERS = "inliers"


def evaluate_run(
    run: Path,
    ood: Sequence[str] | None = None,
    root: Path | None = None,
    device: str | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Evaluate a trained run on its test set and on sets of outliers; write the result, and return it.

    Args:
        run: the run's folder.
        ood: outlier sets; those of its recipe when None.
        root: the folder that holds all sets; the recipe's when None.
        device: where to compute; the recipe's choice when None.
        progress: say on standard error what is being done.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from hecka.experiments.recipes import find
    >>> from hecka.experiments.train import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train(replace(find("digits/ensemble"), steps=2), Path(folder), progress=False)
    ...     result = evaluate_run(Path(folder), ood=["inverted"], progress=False)
    >>> result["inliers"]["examples"], list(result["outliers"])
    (500, ['inverted'])
    """
    began = time.perf_counter()
    recipe, members = restore(run, device)
    weights = digest(run / checkpoint.NAME, "sha256")
    before = earlier(run, weights)
    names = tuple(dict.fromkeys((*(before or {}).get("outliers", ()), *(recipe.ood if ood is None else ood))))
    if before is not None and names == tuple(before["outliers"]):
        return before
    place = recipe.data.root if root is None else root
    test = inliers(recipe.data.name, "test", place)
    whitening, own = whitening_of(test, recipe.data), next(members.parameters()).device
    sets = {INLIERS: Pictures(test.images, test.labels, test.group, test.notes)}
    for name in names:
        images, notes = outliers(name, test, place)
        sets[name] = Pictures(images, torch.full((len(images),), -1), torch.arange(len(images)), notes)
    feeds = {name: in_order(each.images, each.labels, whitening, own) for name, each in sets.items()}

    predictor = with_density(recipe, members, place)
    _say(f"{recipe.data.name}: {len(test.labels)} examples", progress)
    scores = score_inliers(predictor, feeds[INLIERS])
    found: dict[str, OutlierScores] = {}
    for name in names:
        _say(f"{name}: {len(sets[name].labels)} examples", progress)
        found[name] = score_outliers(predictor, feeds[name], name)
    grid = cka_grid(members, feeds[INLIERS]) if recipe.members.count > 1 else None

    arrays = columns(scores, found, test)
    for name, each in sets.items():
        entropy = scores.entropy if name == INLIERS else found[name].entropy
        arrays |= {f"{name}/{key}": value for key, value in extremes(each, entropy, predictor, feeds[name]).items()}
    if grid is not None:
        arrays["cka"] = grid.values.float().numpy()
    _write_arrays(run / ARRAYS, arrays)
    result = {
        **heading(recipe, run, weights, test),
        **numbers(scores, found, sets),
        "cka": None if grid is None else cka_summary(grid),
        "seconds": {"train": trained_seconds(run), "evaluate": time.perf_counter() - began},
    }
    write_json(run / RESULT, result)
    return result


def earlier(run: Path, weights: str) -> dict[str, Any] | None:
    """The evaluation that lies in the run's folder, if it is whole and of the same weights."""
    path = run / RESULT
    if not (path.exists() and (run / ARRAYS).exists()):
        return None
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None  # half a file is no evaluation
    return result if result.get("format") == FORMAT and result.get("checkpoint") == weights else None


def with_density(recipe: Recipe, members: Ensemble | Hypernetwork, root: Path | None) -> Predictor:
    """The members, with the density of the training set's features where the recipe asks for one."""
    tap = recipe.members.density
    if tap is None:
        return members
    training = inliers(recipe.data.name, "train", root)
    rows, _ = split(training, recipe.data)
    whitened = whitening_of(training, recipe.data)(training.images[rows])
    return DDU.fit(members, whitened, training.labels[rows], tap, batch_size=EVALUATION_BATCH)


def heading(recipe: Recipe, run: Path, weights: str, test: Source) -> dict[str, Any]:
    """What was evaluated."""
    notes = [*read_config(run)["notes"], *test.notes]
    return {
        "format": FORMAT,
        "recipe": recipe.name,
        "seed": recipe.seed,
        "budget": recipe.budget,
        "members": recipe.members.count,
        "score": "entropy" if recipe.members.density is None else "density",
        "checkpoint": weights,
        "inliers": {
            "name": recipe.data.name,
            "split": "test",
            "examples": len(test.labels),
            "notes": list(dict.fromkeys(notes)),
        },
    }


def numbers(scores: InlierScores, found: dict[str, OutlierScores], sets: dict[str, Pictures]) -> dict[str, Any]:
    """Every score of a table, and the bins of a reliability diagram."""
    flat = summarise(scores, found).to_dict()
    detected = flat.pop("outliers")
    flat.pop("examples")
    table = reliability_table(scores.confidence, scores.correct)
    columns = (table.lo, table.hi, table.count, table.confidence, table.accuracy)
    bins = [
        dict(zip(("low", "high", "examples", "confidence", "accuracy"), map(_or_null, row), strict=True))
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return {
        "scores": flat,
        "reliability": bins,
        "outliers": {
            name: {"examples": each.pop("examples"), "notes": list(sets[name].notes), **each}
            for name, each in detected.items()
        },
    }


def columns(scores: InlierScores, found: dict[str, OutlierScores], test: Source) -> dict[str, np.ndarray]:
    """What was kept of each example, by set and name."""
    arrays: dict[str, np.ndarray] = {
        f"{INLIERS}/correct": scores.correct.numpy(),
        f"{INLIERS}/confidence": scores.confidence.float().numpy(),
        f"{INLIERS}/part": test.part.numpy(),
        "classes": np.array(test.classes),
    }
    kept: list[tuple[str, InlierScores | OutlierScores]] = [(INLIERS, scores), *found.items()]
    for name, each in kept:
        arrays[f"{name}/entropy"] = each.entropy.float().numpy()
        arrays[f"{name}/mutual_information"] = each.mutual_information.float().numpy()
        if len(each.outlyingness):
            arrays[f"{name}/density"] = each.outlyingness.float().numpy()
    return arrays


def trained_seconds(run: Path) -> float | None:
    """How long training took, by the run's diary."""
    lines = (run / record.NAME).read_text(encoding="utf-8").splitlines()
    return float(json.loads(lines[-1])["seconds"]) if lines else None


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    os.replace(partial, path)


def _say(line: str, shown: bool) -> None:
    if shown:
        sys.stderr.write(f"{line}\n")
