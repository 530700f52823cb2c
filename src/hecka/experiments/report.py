"""``hecka report``: the files of evaluated runs become one page to look at."""

from __future__ import annotations

import json
import shlex
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hecka.data.files import digest
from hecka.errors import InputError
from hecka.experiments.evaluate import ARRAYS, RESULT
from hecka.experiments.sources import parts_of
from hecka.experiments.train import CONFIG, FORMAT, read_config
from hecka.report.page import page
from hecka.report.reported_run import ReportedRun
from hecka.training import checkpoint, record


def report(runs: Sequence[Path], out: Path = Path("report.html")) -> Path:
    """Write one page on these runs to ``out``, and return its path.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from hecka.experiments.evaluate import evaluate_run
    >>> from hecka.experiments.recipes import find
    >>> from hecka.experiments.train import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Path(folder, "run")
    ...     _ = train(replace(find("digits/ensemble"), steps=2), run, progress=False)
    ...     _ = evaluate_run(run, progress=False)
    ...     text = report([run], Path(folder, "report.html")).read_text(encoding="utf-8")
    >>> text.startswith("<!DOCTYPE html>")
    True
    """
    if not runs:
        raise InputError("report: expected the folder of at least 1 evaluated run, got none; name it")
    if len({run.resolve() for run in runs}) < len(runs):
        raise InputError("report: expected different runs, got one of them twice; name each once")
    text = page(reported(runs))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"report: expected a file to write the page to, got {out} ({error}); choose another --out"
        ) from error
    return out


def reported(runs: Sequence[Path]) -> list[ReportedRun]:
    """What the files of these runs say, under names that tell the runs apart."""
    contents = [(run, read_config(_run_folder(run)), _evaluation(run)) for run in runs]
    plain = [
        (run, evaluation["recipe"], f"{evaluation['recipe']}, seed {evaluation['seed']}")
        for run, _, evaluation in contents
    ]
    return [
        ReportedRun(name, config, evaluation, _arrays(run), _records(run), parts_of(str(evaluation["inliers"]["name"])))
        for name, (run, config, evaluation) in zip(names(plain), contents, strict=True)
    ]


def names(runs: Sequence[tuple[Path, str, str]]) -> list[str]:
    """The shortest of recipe, recipe with seed, and that with folder, that no other run has.

    >>> names([(Path("a"), "x", "x, seed 0"), (Path("b"), "x", "x, seed 1"), (Path("c"), "y", "y, seed 0")])
    ['x, seed 0', 'x, seed 1', 'y']
    """
    recipes, seeded = Counter(recipe for _, recipe, _ in runs), Counter(seed for _, _, seed in runs)
    return [
        recipe if recipes[recipe] == 1 else seed if seeded[seed] == 1 else f"{seed} ({run})"
        for run, recipe, seed in runs
    ]


def _run_folder(run: Path) -> Path:
    """The folder itself; one that holds runs instead of being one is refused with the way to name them."""
    if not (run / CONFIG).exists() and (inside := sorted(path.parent for path in run.glob(f"**/{CONFIG}"))):
        raise InputError(
            f"report: expected the folder of a run, got {run}, which holds {len(inside)} of them; name those to show, "
            f"the first is {inside[0]}"
        )
    return run


def _evaluation(run: Path) -> dict[str, Any]:
    """The evaluation of the weights that lie in the run's folder."""
    path, again = run / RESULT, f"run `hecka evaluate {shlex.quote(str(run))}`"
    if not (path.exists() and (run / ARRAYS).exists()):
        raise InputError(f"report: expected {RESULT} and {ARRAYS} in {run}, got no evaluation; {again} first")
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"report: expected JSON in {path}, got {error}; {again} again") from error
    if found.get("format") != FORMAT:
        raise InputError(f"report: expected format {FORMAT} in {path}, got {found.get('format')}; {again} again")
    weights = run / checkpoint.NAME
    if weights.exists() and digest(weights, "sha256") != found["checkpoint"]:
        raise InputError(f"report: expected {path} to be of the weights beside it, got those of others; {again} again")
    return found


def _arrays(run: Path) -> dict[str, NDArray[Any]]:
    try:
        # Opened here, for np.load leaves half a file open.
        with (run / ARRAYS).open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            return dict(content)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"report: expected arrays in {run / ARRAYS}, got {error}; delete it and run `hecka evaluate "
            f"{shlex.quote(str(run))}` again"
        ) from error


def _records(run: Path) -> list[dict[str, float]]:
    path = run / record.NAME
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InputError(
            f"report: expected one JSON object a line in {path}, got {error}; put the run's own file back"
        ) from error
