r"""Points on a sphere that move apart: why an energy is minimised, and not the cosine.

Points from two Gaussians are projected onto the unit sphere, then descend along one of two means over pairs:

* the cosine, :math:`\overline{c_{ij}}`, which depends on the points' sum alone.  A point feels the sum, not its
  neighbours, so a cluster moves as one and stays a cluster; the sum's pull is weak (2/N of a unit), so it is also slow;
* the hyperspherical energy, :math:`\overline{\phi_{ij}^{-2}}` with :math:`\phi = \arccos c`, which neighbours dominate.

Both are then measured by both.  No set of N points has a mean cosine below -1 / (N - 1): that is reached where the sum
is zero, by very uneven sets too.  Gradient descent, rate .75, momentum .9, 50 iterations, as in the paper; the number
of points, the clusters and the energy's smoothing are not published and are chosen here.  Momentum is kept tangent to
the sphere: what is left of it off the tangent plane is lost to the projection, and would only slow points down.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from hecka.diversity.energy import hyperspherical_energy, mean_over_pairs
from hecka.errors import InputError
from hecka.report.spheres import Spreading, spheres
from hecka.report.tables import markdown, with_spread

RATE, MOMENTUM, ITERATIONS = 0.75, 0.9, 50
LONG = 20  # times as many iterations, to see where the cosine ends when it has the time
POINTS = {3: 300, 1000: 200}  # dimensions -> points
CLUSTER = 0.9  # length of a Gaussian's noise, in any number of dimensions, around a mean of length 1
SMOOTHING = 0.0025  # bounds the force between points that coincide: momentum of .9 would carry them across the sphere

Objective: TypeAlias = Callable[[Tensor], Tensor]
"""Cosines (N, N) -> what is minimised."""


@dataclass(frozen=True)
class Spread:
    """How far apart points are: mean cosine and energy over pairs, mean angle to the nearest neighbour in radians."""

    cosine: float
    energy: float
    nearest: float


@dataclass(frozen=True)
class Descent:
    """Points (N, D) at the end, and their spread before every iteration and after the last."""

    points: Tensor
    spreads: list[Spread]


def energy(cosines: Tensor) -> Tensor:
    """The hyperspherical energy with s = 2."""
    return hyperspherical_energy(cosines, s=2.0, eps_dist=SMOOTHING, eps_arc=SMOOTHING)


DESCENTS: dict[str, Objective] = {"cosine": mean_over_pairs, "energy": energy}


def two_clusters(points: int, dimensions: int, generator: torch.Generator) -> Tensor:
    """Unit vectors (points, dimensions), half of them around one random direction and half around another.

    >>> two_clusters(4, 3, torch.Generator().manual_seed(0)).norm(dim=1).round(decimals=4)
    tensor([1., 1., 1., 1.])
    """
    means = F.normalize(torch.randn(2, dimensions, generator=generator), dim=1)
    noise = torch.randn(points, dimensions, generator=generator) * CLUSTER / dimensions**0.5
    return F.normalize(means.repeat_interleave(points // 2, 0) + noise, dim=1)


def descend(points: Tensor, objective: Objective, iterations: int = ITERATIONS) -> Descent:
    """Gradient descent with momentum of unit vectors (N, D), projected back onto the sphere after every step."""
    points, velocity, spreads = points.clone(), torch.zeros_like(points), []
    for _ in range(iterations):
        leaves = points.requires_grad_()
        cosines = leaves @ leaves.T
        spreads.append(spread(cosines.detach()))
        (slope,) = torch.autograd.grad(objective(cosines), leaves)
        with torch.no_grad():
            velocity = MOMENTUM * velocity + slope
            velocity -= (velocity * points).sum(1, keepdim=True) * points
            points = F.normalize(points - RATE * velocity, dim=1)
    spreads.append(spread(points @ points.T))
    return Descent(points, spreads)


def spread(cosines: Tensor) -> Spread:
    """The spread of points with these cosines (N, N).

    >>> found = spread(torch.eye(3))  # three axes, a right angle apart
    >>> found.cosine, round(found.energy, 2), round(found.nearest, 4)
    (0.0, 0.41, 1.5708)
    """
    others = cosines - 3 * torch.eye(len(cosines))  # a point is not its own neighbour
    nearest = torch.arccos(others.amax(1).clamp(-1, 1)).mean()
    return Spread(mean_over_pairs(cosines).item(), energy(cosines).item(), nearest.item())


def sphere(out: Path = Path("runs/sphere"), seeds: int = 5, iterations: int = ITERATIONS) -> str:
    """Points on a sphere, driven apart by their cosine or by their energy: a table, points and curves.

    Args:
        out: folder for the picture and the numbers.
        seeds: how many seeds, from 0; the picture shows seed 0.
        iterations: steps of gradient descent.
    """
    if seeds < 1 or iterations < 1:
        raise InputError(f"sphere: expected at least 1 seed and 1 iteration, got {seeds} and {iterations}")
    spreads: dict[int, dict[str, list[Spread]]] = {}
    panels = []
    for dimensions, count in POINTS.items():
        ends: dict[str, list[Spread]] = {name: [] for name in ("start", *DESCENTS, _long(iterations))}
        for seed in range(seeds):
            start = two_clusters(count, dimensions, torch.Generator().manual_seed(seed))
            descents = {name: descend(start, objective, iterations) for name, objective in DESCENTS.items()}
            ends["start"].append(descents["cosine"].spreads[0])
            for name, descent in descents.items():
                ends[name].append(descent.spreads[-1])
            ends[_long(iterations)].append(descend(start, mean_over_pairs, LONG * iterations).spreads[-1])
            if seed == 0:
                panels.append(_panel(dimensions, start, descents))
        spreads[dimensions] = ends
    out.mkdir(parents=True, exist_ok=True)
    spheres(panels, out / "sphere.png")
    _write(out / "sphere.json", spreads, iterations)
    return f"{table(spreads)}\n\n{verdict(spreads)}\n\npicture: {out / 'sphere.png'}\nnumbers: {out / 'sphere.json'}"


def table(spreads: dict[int, dict[str, list[Spread]]]) -> str:
    """One row a set of points; means and standard deviations over seeds."""
    header = ["points after minimising", "mean cosine", "lowest possible", "energy", "nearest neighbour"]
    lines = [
        [
            f"{dimensions}-D: {name}",
            with_spread([run.cosine for run in runs], 4),
            f"{-1 / (POINTS[dimensions] - 1):.4f}",
            with_spread([run.energy for run in runs]),
            with_spread([run.nearest for run in runs]),
        ]
        for dimensions, ends in spreads.items()
        for name, runs in ends.items()
    ]
    return markdown(header, lines)


def verdict(spreads: dict[int, dict[str, list[Spread]]]) -> str:
    """On how many seeds minimising the energy ends lower than minimising the cosine, by either measure."""
    lines = []
    for dimensions, ends in spreads.items():
        pairs = list(zip(ends["energy"], ends["cosine"], strict=True))
        cosine = sum(energy.cosine < cosine.cosine for energy, cosine in pairs)
        lower = sum(energy.energy < cosine.energy for energy, cosine in pairs)
        lines.append(
            f"{dimensions}-D, {POINTS[dimensions]} points: minimising the energy ends lower than minimising the "
            f"cosine in mean cosine on {cosine} of {len(pairs)} seeds, in energy on {lower} of {len(pairs)}"
        )
    return "\n".join(lines)


def _long(iterations: int) -> str:
    return f"cosine, {LONG * iterations} iterations"


def _panel(dimensions: int, start: Tensor, descents: dict[str, Descent]) -> Spreading:
    names = {name: f"{name} minimised" for name in descents}
    return Spreading(
        title=f"{len(start)} points in {dimensions} dimensions",
        groups=torch.arange(2).repeat_interleave(len(start) // 2),
        stages={"start": start} | {names[name]: descent.points for name, descent in descents.items()},
        curves={
            "mean cosine": {names[n]: [each.cosine for each in descent.spreads] for n, descent in descents.items()},
            "energy": {names[n]: [each.energy for each in descent.spreads] for n, descent in descents.items()},
        },
    )


def _write(path: Path, spreads: dict[int, dict[str, list[Spread]]], iterations: int) -> None:
    content = {
        "experiment": "sphere",
        "iterations": iterations,
        "spaces": [
            {
                "dimensions": dimensions,
                "points": POINTS[dimensions],
                "lowest_cosine": -1 / (POINTS[dimensions] - 1),
                "ends": {
                    name: [{"seed": seed, **asdict(run)} for seed, run in enumerate(runs)]
                    for name, runs in ends.items()
                },
            }
            for dimensions, ends in spreads.items()
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
