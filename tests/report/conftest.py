"""Runs as a page reads them, made up, so that every number on it is known."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from hecka.report.reported_run import ReportedRun
from hecka.scores.detection import aupr, auroc, fpr_at_tpr
from hecka.scores.evaluate import Evaluation

CLASSES = ("<b>bold</b>", "a & b", '"quoted"', "plain")
EXAMPLES, OUTLIERS, SHOWN, BINS = 300, 200, 3, 5


def detection(inliers, outliers):
    pair = torch.from_numpy(inliers), torch.from_numpy(outliers)
    return {"auroc": auroc(*pair), "aupr": aupr(*pair), "fpr95": fpr_at_tpr(*pair)}


def made_up(
    name="first", seed=0, members=3, density=False, budget=1.0, notes=(), epochs=4, layers=3, parts=("one", "two")
):
    """A run whose outliers, of a set that is called ``<i>odd</i>``, are somewhat less sure than its inliers."""
    rng = np.random.default_rng(seed)
    outliers = "<i>odd</i>"
    arrays = {"classes": np.array(CLASSES), "inliers/part": (np.arange(EXAMPLES) % len(parts)).astype(np.int8)}
    scores = ["entropy", "mutual_information", *(["density"] if density else [])]
    for set_name, count, power in (("inliers", EXAMPLES, 2.0), (outliers, OUTLIERS, 0.7)):
        for score in scores:
            spread = 0.0 if members == 1 and score == "mutual_information" else np.log(len(CLASSES))
            arrays[f"{set_name}/{score}"] = (spread * rng.random(count) ** power).astype(np.float32)
        for side in ("least", "most"):
            arrays[f"{set_name}/{side}/images"] = rng.integers(256, size=(SHOWN, 3, 4, 4), dtype=np.uint8)
            arrays[f"{set_name}/{side}/entropy"] = rng.random(SHOWN).astype(np.float32)
            arrays[f"{set_name}/{side}/probs"] = rng.dirichlet(np.ones(len(CLASSES)), SHOWN).astype(np.float32)
            labels = rng.integers(len(CLASSES), size=SHOWN) if set_name == "inliers" else np.full(SHOWN, -1)
            arrays[f"{set_name}/{side}/labels"] = labels
    accuracy = rng.random(BINS)
    reliability = [
        {"low": i / BINS, "high": (i + 1) / BINS, "examples": 60, "confidence": (i + 0.5) / BINS, "accuracy": each}
        for i, each in enumerate(accuracy.tolist())
    ]
    reliability[0] |= {"examples": 0, "confidence": None, "accuracy": None}
    found = {score: detection(arrays[f"inliers/{score}"], arrays[f"{outliers}/{score}"]) for score in scores}
    values = rng.random((layers, layers))
    taps = [f"layer<{layer}>" for layer in range(layers)]
    names = [field.name for field in fields(Evaluation) if field.type == "float"]
    evaluation = {
        "recipe": name,
        "seed": seed,
        "budget": budget,
        "members": members,
        "score": "density" if density else "entropy",
        "inliers": {"name": "set<1>", "split": "test", "examples": EXAMPLES, "notes": list(notes)},
        "scores": dict(zip(names, rng.random(len(names)).tolist(), strict=True)),
        "reliability": reliability,
        "outliers": {outliers: {"examples": OUTLIERS, "notes": [], "density": None, **found}},
        "cka": {
            "taps": taps,
            "per_layer": dict(zip(taps, values.diagonal().tolist(), strict=True)),
            "mean": float(values.diagonal().mean()),
            "layers": values.tolist(),
        },
        "seconds": {"train": 65.0, "evaluate": 1.0},
    }
    if members == 1:
        evaluation["cka"] = None
    config = {
        "recipe": {
            "settings": "Recipe",
            "name": name,
            "seed": seed,
            "data": {"settings": "DataSettings", "name": "set<1>"},
        },
        "notes": [],
        "versions": {"hecka": "0", "torch": "1"},
        "device": "cpu",
        "parameters": 8970,
        "classes": list(CLASSES),
    }
    records = [
        {"epoch": epoch, "step": 10 * epoch, "seconds": 1.0, "loss": 1.0 / epoch, "own<part>": -epoch}
        for epoch in range(1, epochs + 1)
    ]
    return ReportedRun(name, config, evaluation, arrays, records, parts)


@pytest.fixture
def make_run():
    return made_up
