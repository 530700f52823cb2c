"""A recipe becomes a run: a folder with its configuration, its diary and its weights.

The same call goes on where it was stopped; a folder that holds a run of another recipe is refused.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hecka import __version__
from hecka.errors import CheckpointError, InputError
from hecka.experiments.build import (
    Shape,
    check_outputs,
    make_members,
    make_optimizer,
    make_outliers,
    make_schedule,
    pick_device,
)
from hecka.experiments.inputs import TrainingData, training_data, whitening_of
from hecka.experiments.plain import differences, from_plain, to_plain
from hecka.experiments.recipe import Recipe
from hecka.experiments.sources import Source, inliers
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.training import checkpoint
from hecka.training.fit import Run, fit

CONFIG = "config.json"
FORMAT = 1
# Where data lie, what is evaluated afterwards and on which machine decide nothing that a run could disagree about.
FREE = (("ood",), ("device",), ("compile",), ("capture",), ("network", "execution"), ("data", "root"))


def train(recipe: Recipe, out: Path, progress: bool = True) -> Run:
    """Train by ``recipe`` in the folder ``out``; the same call resumes.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from hecka.experiments.recipes import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train(replace(find("digits/ensemble"), steps=2), Path(folder), progress=False).steps
    2
    """
    _check_whole(recipe)
    check_same(recipe, out)
    device = pick_device(recipe.device)
    source = inliers(recipe.data.name, "train", recipe.data.root)
    shape = shape_of(source)
    members = make_members(recipe, shape)
    check_outputs(members, shape, recipe.network.factory)
    if recipe.start_from is not None and not (out / checkpoint.NAME).exists():
        start_from(members, recipe.start_from)
    data = training_data(source, recipe.data, recipe.batch_size, recipe.seed, device)
    write_config(recipe, out, source, members, device)
    return _fit(recipe, members.to(device), data, source, out, progress)


def restore(run: Path, device: str | None = None) -> tuple[Recipe, Ensemble | Hypernetwork]:
    """The recipe of a run and its trained members, in evaluation mode, on ``device`` (the recipe's own when None)."""
    config = read_config(run)
    recipe = from_plain(Recipe, config["recipe"], str(run / CONFIG))
    members = make_members(recipe, Shape(tuple(config["shape"]), len(config["classes"])))
    checkpoint.load(run, members)
    return recipe, members.to(pick_device(device or recipe.device)).eval()


def read_config(run: Path) -> dict[str, Any]:
    """What config.json of a run says."""
    path = run / CONFIG
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise InputError(f"{run}: expected the folder of a run, with {CONFIG}, got {error}; train it first") from error
    if config.get("format") != FORMAT:
        raise InputError(f"{path}: expected format {FORMAT}, got {config.get('format')}; use the hecka that wrote it")
    return config


def check_same(recipe: Recipe, out: Path) -> None:
    """Refuse a folder that holds a run of another recipe."""
    if not (out / CONFIG).exists():
        return
    before = to_plain(from_plain(Recipe, read_config(out)["recipe"], str(out / CONFIG)))
    now = to_plain(recipe)
    for plain in (before, now):
        for *path, last in FREE:
            node = plain
            for name in path:
                node = node.get(name, {})
            node.pop(last, None)
    if lines := differences(now, before):
        raise CheckpointError(
            f"{out} holds a run with other settings\n"
            + "\n".join(f"  {line}" for line in lines)
            + "\nuse another folder, or delete this one to start again"
        )


def write_config(
    recipe: Recipe, out: Path, source: Source, members: Ensemble | Hypernetwork, device: torch.device
) -> None:
    """Write down what is about to be trained, on what and by what."""
    count = sum(parameter.numel() for parameter in members.parameters() if parameter.requires_grad)
    config = {
        "format": FORMAT,
        "recipe": to_plain(recipe),
        "notes": list(dict.fromkeys((*recipe.notes, *source.notes))),
        "versions": {"hecka": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "parameters": count // recipe.members.count if isinstance(members, Ensemble) else count,
        "shape": list(source.images.shape[1:]),
        "classes": list(source.classes),
    }
    write_json(out / CONFIG, config)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at ``path`` in one go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(partial, path)


def shape_of(source: Source) -> Shape:
    """What networks for these inliers have to fit."""
    channels, height, width = source.images.shape[1:]
    return Shape((channels, height, width), len(source.classes))


def start_from(members: nn.Module, run: Path) -> None:
    """Give ``members`` the weights of a trained run; of one with more members, those of its first ones."""
    path = run / checkpoint.NAME
    if not path.exists():
        raise InputError(f"start_from: expected the folder of a trained run, got {run}, which has no {checkpoint.NAME}")
    weights, own = checkpoint.read(path, "members"), members.state_dict()
    if isinstance(members, Ensemble):
        weights = {name: each[: members.members] for name, each in weights.items()}
    checkpoint.check_architecture(path, weights, own)
    members.load_state_dict(weights)


def _check_whole(recipe: Recipe) -> None:
    if not recipe.data.name:
        raise InputError(
            f"{recipe.name}: expected a data set, got none; add --data.name with a name of `hecka data list`, "
            "folder:PATH or npz:FILE"
        )
    if recipe.continues and recipe.start_from is None:
        raise InputError(
            f"{recipe.name} goes on from a trained run: expected --start-from RUN, got none; first "
            f"`hecka train {recipe.continues} --out RUN`"
        )


def _fit(
    recipe: Recipe, members: Ensemble | Hypernetwork, data: TrainingData, source: Source, out: Path, progress: bool
) -> Run:
    return fit(
        members,
        data.training,
        method=recipe.method.make(data.examples),
        outliers=make_outliers(recipe.outliers * recipe.outlier_steps, whitening_of(source, recipe.data)),
        outlier_steps=recipe.outlier_steps,
        validation=data.validation,
        epochs=recipe.epochs if recipe.steps is None else None,
        steps=recipe.steps,
        optimizer=make_optimizer(recipe.optimizer, members),
        schedule=make_schedule(recipe.optimizer, recipe.steps or recipe.epochs * len(data.training)),
        clip=recipe.clip,
        seed=recipe.seed,
        out=out,
        precision=recipe.precision,
        compile=recipe.compile,
        capture=recipe.capture and next(members.parameters()).device.type == "cuda",
        progress=progress,
    )
