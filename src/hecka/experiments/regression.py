"""A curve with a gap in its data: the paper's second toy task.

Thirty small networks learn 82 noisy points of y = -(1 + x) sin(1.2 x), of which two lie in (-2, 2).  Where nothing was
seen, members of a good ensemble part, and where much was seen they agree.  The paper gives no settings for this task;
those below were found by short runs, and are the same for both kinds of members but for what a hypernetwork needs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from hecka.data import toy
from hecka.diversity.terms import HECKA
from hecka.experiments.rows import Row, Stepping, ToyMembers, check, train
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.networks.mlp import MLP
from hecka.outliers.border import Border
from hecka.report.bands import Band, bands
from hecka.report.tables import markdown, with_spread
from hecka.scores.disagreement import cka_per_layer

MEMBERS, STEPS = 30, 1000
EXTENT, RESOLUTION = 10.0, 401
SEEN, GAP, FAR = (2.0, 6.0), 1.5, 7.0  # of |x|: where the data lie, inside the gap, outside of all
OUTLIERS = Border(low=(-9.0,), high=(9.0,), count=30, noise=0.5)
LEGEND = (
    "under each panel, the mean standard deviation\nwhere the data lie, in the gap (|x| below 1.5),\n"
    "and beyond the data (|x| above 7)"
)


@dataclass(frozen=True)
class Scores:
    """What trained members say of the curve, where the data lie, in the gap and far out.

    Errors are those of the members' mean, spreads the standard deviation between members, ``covered`` the share of a
    region where the true curve lies within two of them; CKA (unbiased, linear) by layer.
    """

    rmse_data: float
    rmse_gap: float
    spread_data: float
    spread_gap: float
    spread_far: float
    covered_data: float
    covered_gap: float
    covered_far: float
    cka: tuple[float, ...]


def ensemble(seed: int) -> Ensemble:
    """Thirty networks with weights of their own."""
    return Ensemble(_make_net, MEMBERS, taps=MLP.taps, seed=seed)


def hypernetwork(seed: int) -> Hypernetwork:
    """A generator of which thirty networks are drawn for each step, and thirty others for the answer."""
    return Hypernetwork(_make_net, members=MEMBERS, taps=MLP.taps, seed=seed)


def rows() -> list[Row]:
    """The paper's four; doubt on made-up outliers (see ``likelihood``), alone and with HE-CKA; all at its default."""
    term = HECKA(weights=(0.05, 0.3, 0.6, 0.05))
    own, written = Stepping(rate=0.02, decay=0.0), Stepping(rate=0.005, decay=0.01)
    plain = Independent()
    he = Repulsive(term, gamma=3.0)
    doubt = Repulsive(gamma=0.0)
    both = Repulsive(term, gamma=3.0)
    return [
        Row("ensemble", "ensemble", ensemble, plain, stepping=own),
        Row("ensemble + HE-CKA", "ensemble-he", ensemble, he, stepping=own),
        Row("hypernetwork", "hypernetwork", hypernetwork, plain, stepping=written),
        Row("hypernetwork + HE-CKA", "hypernetwork-he", hypernetwork, he, stepping=written),
        Row("ensemble + outlier doubt", "doubt", ensemble, doubt, OUTLIERS, own),
        Row("ensemble + OOD HE-CKA", "ood-he", ensemble, both, OUTLIERS, own),
        Row('ensemble + OOD HE-CKA, gamma="auto"', "ood-he-auto", ensemble, Repulsive(), OUTLIERS, own),
    ]


def regression(out: Path = Path("runs/regression"), seeds: int = 1, steps: int = STEPS) -> str:
    """Seven ways to fit 30 networks to a curve with a gap in its data: a table, and a panel for each.

    Args:
        out: folder for runs, numbers and picture; the same command goes on there.
        seeds: how many seeds, from 0; the picture shows seed 0.
        steps: training steps of each row.
    """
    check("regression", seeds, steps)
    grid = torch.linspace(-EXTENT, EXTENT, RESOLUTION)
    results: dict[str, list[Scores]] = {}
    panels: list[Band] = []
    for row in rows():
        results[row.name] = []
        for seed in range(seeds):
            members = train(row, data(seed), seed, out, steps)
            outputs = members.predict(grid[:, None]).regression.outputs.squeeze(-1)
            scores = score(grid, outputs, _cka(members, data(seed)[0]))
            results[row.name].append(scores)
            if seed == 0:
                panels.append(_panel(row, scores, outputs))
    picture, numbers = out / "regression.png", out / "regression.json"
    bands(panels, grid, toy.curve(grid), data(0), picture, legend=LEGEND, columns=4)
    _write(numbers, results, steps)
    return f"{table(results)}\n\npicture: {picture}\nnumbers: {numbers}"


def data(seed: int) -> tuple[Tensor, Tensor]:
    """The 82 points of a seed, inputs and values."""
    return toy.regression(torch.Generator().manual_seed(seed))


def score(grid: Tensor, outputs: Tensor, cka: Sequence[float]) -> Scores:
    """The scores of members' ``outputs`` (M, R) over ``grid`` (R,)."""
    mean, std = outputs.mean(0), outputs.std(0, correction=0)
    error, size = (mean - toy.curve(grid)).abs(), grid.abs()
    seen, gap, far = (size >= SEEN[0]) & (size <= SEEN[1]), size <= GAP, size >= FAR
    covered = (error <= 2 * std).float()
    return Scores(
        rmse_data=error[seen].square().mean().sqrt().item(),
        rmse_gap=error[gap].square().mean().sqrt().item(),
        spread_data=std[seen].mean().item(),
        spread_gap=std[gap].mean().item(),
        spread_far=std[far].mean().item(),
        covered_data=covered[seen].mean().item(),
        covered_gap=covered[gap].mean().item(),
        covered_far=covered[far].mean().item(),
        cka=tuple(cka),
    )


def table(results: dict[str, list[Scores]]) -> str:
    """One row a method; means and standard deviations over seeds."""
    header = [
        "method",
        "error: data",
        "gap",
        "spread: data",
        "gap",
        "far",
        "covered: data",
        "gap",
        "far",
        "CKA by layer",
    ]
    lines = []
    for name, runs in results.items():
        numbers = [
            with_spread([run.rmse_data for run in runs], 2),
            with_spread([run.rmse_gap for run in runs], 2),
            with_spread([run.spread_data for run in runs]),
            with_spread([run.spread_gap for run in runs], 2),
            with_spread([run.spread_far for run in runs], 2),
            with_spread([run.covered_data for run in runs], 2),
            with_spread([run.covered_gap for run in runs], 2),
            with_spread([run.covered_far for run in runs], 2),
            " ".join(f"{sum(layer) / len(layer):.2f}" for layer in zip(*(run.cka for run in runs), strict=True)),
        ]
        lines.append([name, *numbers])
    return markdown(header, lines)


def _make_net() -> MLP:
    return MLP(1, 30, 40, 30, 1)


def _cka(members: ToyMembers, inputs: Tensor) -> list[float]:
    with torch.no_grad():
        return list(cka_per_layer(members(inputs).features, unbiased=True).values())


def _panel(row: Row, scores: Scores, outputs: Tensor) -> Band:
    caption = f"data {scores.spread_data:.2f} · gap {scores.spread_gap:.2f} · far {scores.spread_far:.2f}"
    some = None if row.outliers is None else row.outliers(torch.zeros(1, 1), torch.Generator().manual_seed(0))
    return Band(row.name, outputs, caption, None if some is None else some.squeeze(1))


def _write(path: Path, results: dict[str, list[Scores]], steps: int) -> None:
    rows = {name: [{"seed": seed, **asdict(run)} for seed, run in enumerate(runs)] for name, runs in results.items()}
    content = {"experiment": "regression", "members": MEMBERS, "steps": steps, "rows": rows}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
