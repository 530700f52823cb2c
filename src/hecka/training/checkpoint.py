"""A run on disk: one safetensors file that is either whole or not there, and that no pickle ever touches.

Tensors are stored by their path in the run's state, everything else as JSON in the file's header (``tree``).  A new
file is written beside the old one and renamed over it, so a crash at any time leaves the last good one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from hecka.errors import CheckpointError
from hecka.training.tree import pack, unpack

NAME = "checkpoint.safetensors"
FORMAT = 1  # raised when an older hecka could no longer read the file

Settings = dict[str, str]
M = TypeVar("M", bound=nn.Module)


def load(out: str | Path, members: M) -> M:
    """Put the weights (and BatchNorm statistics) of a run into ``members`` of the same architecture.

    Args:
        out: the run's folder, or the checkpoint file itself.
        members: what is to hold the weights; also returned.

    >>> import tempfile
    >>> from hecka.training.fit import fit
    >>> from hecka.inference.independent import Independent
    >>> from hecka.members.ensemble import Ensemble
    >>> ensemble = Ensemble(lambda: nn.Linear(2, 3), members=2)
    >>> other = Ensemble(lambda: nn.Linear(2, 3), members=2, seed=1)
    >>> data = torch.randn(8, 2), torch.randint(3, (8,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = fit(ensemble, data, method=Independent(), steps=2, out=folder, progress=False)
    ...     bool((load(folder, other).net.weight == ensemble.net.weight).all())
    True
    """
    path = Path(out)
    path = path / NAME if path.is_dir() else path
    if not path.exists():
        raise CheckpointError(f"load: expected a run's folder or its {NAME}, got {path}, which is not there")
    weights = read(path, "members")
    check_architecture(path, weights, members.state_dict())
    members.load_state_dict(weights)
    return members


def write(path: Path, settings: Settings, state: Mapping[str, Any]) -> None:
    """Replace the checkpoint at ``path`` in one go."""
    skeleton, tensors = pack({"settings": settings, **state})
    # clone: members may share a tensor under two names, and the format refuses shared memory.
    whole = {name: tensor.cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    partial = path.with_name(f".{path.name}.partial")
    save_file(whole, partial, {"hecka": str(FORMAT), "state": json.dumps(skeleton)})
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(partial, path)


def read(path: Path, part: str) -> Any:
    """One part of the state at ``path``: ``"settings"``, ``"members"``, ``"run"``."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            version = header.get("hecka", "")
            if not version.isdecimal():
                raise CheckpointError(f"{path}: expected a checkpoint of hecka, got another safetensors file")
            if int(version) > FORMAT:
                raise CheckpointError(
                    f"{path}: expected format {FORMAT} or older, got {version}, written by a newer hecka; upgrade hecka"
                )
            parts = dict(json.loads(header["state"])["dict"])
            # clone: the file's tensors lie in a memory map of it, which must not outlive this block.
            return unpack(parts[part], lambda name: file.get_tensor(name).clone())
    except (SafetensorError, json.JSONDecodeError, KeyError, ValueError) as error:
        raise CheckpointError(
            f"{path}: expected a whole checkpoint, got a damaged or truncated file ({error}); "
            "restore it from a copy, or delete it to start again"
        ) from error


def check_architecture(path: Path, stored: Mapping[str, Tensor], now: Mapping[str, Tensor]) -> None:
    """Names and shapes must agree; every difference is named."""
    here, there = ({name: tuple(each.shape) for name, each in tensors.items()} for tensors in (now, stored))
    differences = [
        f"  {name!r}: expected {here.get(name, 'nothing')}, came {there.get(name, 'nothing')}"
        for name in {**here, **there}
        if here.get(name) != there.get(name)
    ]
    if differences:
        raise CheckpointError(
            f"{path}: the checkpoint is of another architecture\n"
            + "\n".join(differences)
            + "\nmake the members as in that run, or use another folder"
        )


def check_settings(path: Path, stored: Settings, now: Settings) -> None:
    """Settings must agree; every difference is named."""
    differences = [
        f"  {name}: expected {now.get(name)}, came {stored.get(name)}"
        for name in {**now, **stored}
        if now.get(name) != stored.get(name)
    ]
    if differences:
        raise CheckpointError(
            f"{path}: the checkpoint is of a run with other settings\n"
            + "\n".join(differences)
            + "\nuse another folder, or delete this one to start again"
        )
