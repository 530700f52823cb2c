r"""Two failings of particle methods, each where its cause can be seen alone.

**Repulsion on weights fades as networks grow.**  In P dimensions random points are nearly equally far apart, so that
the median rule gives every pair the same kernel value, and its pull shrinks like the distances' inverse: measured is
its share, :math:`|B r| / (|A g| + |B r|)`, in the first direction of ten fresh perceptrons of growing width.

**Few particles know little of a posterior in many dimensions.**  Bayesian linear regression has a Gaussian posterior in
closed form: measured is the variance that 20 particles come to rest with, as a fraction of the true one, averaged over
the posterior's principal axes.  20 points span at most 19 directions, and every kernel method shrinks before that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from hecka.data.toy import four_classes
from hecka.diversity.terms import HECKA
from hecka.inference.gradient import gradient
from hecka.inference.likelihood import member_losses
from hecka.inference.member_kernels import Closeness, between_features, between_outputs, between_points
from hecka.inference.particles import Particles
from hecka.inference.posterior import Gaussian
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.networks.mlp import MLP
from hecka.report.tables import markdown
from hecka.similarity.kernels import RBF
from hecka.training.fit import fit
from hecka.types import Params

Curves = dict[str, dict[int, float]]
"""Name of a line -> place on the horizontal axis -> value."""

WIDTHS = (4, 16, 64, 256, 512)
DIMENSIONS = (1, 2, 4, 8, 16, 32)
PARTICLES = 20
NOISE, STD = 0.5, 1.0


def repulsion_shares(widths: tuple[int, ...] = ()) -> Curves:
    """The share of repulsion in SVGD's first step, by the number of parameters, for three ways to compare members."""
    inputs, labels = four_classes(torch.Generator().manual_seed(0))
    curves: Curves = {"RBF on weights": {}, "RBF on outputs": {}, "HE-CKA on features": {}}
    for width in widths or WIDTHS:
        members = Ensemble(partial(MLP, 2, width, width, 4), members=10, taps=MLP.taps)
        params = members.params()
        size = sum(each[0].numel() for each in params.values())
        logits, features = members.run(params, inputs)
        losses = member_losses(logits, labels)
        slope = gradient_kept(losses.sum(), params)
        curves["HE-CKA on features"][size] = _share(slope, between_features(params, features, HECKA()))
        curves["RBF on weights"][size] = _share(slope, between_points(params, RBF()))
        outputs = logits.detach().requires_grad_()
        seen = gradient(member_losses(outputs, labels).sum(), {"outputs": outputs})
        matrix, pull = between_outputs(outputs, RBF(), softmax=False)
        drive, repel = SVGD().mixing(matrix)
        moves = [torch.einsum("ij,j...->i...", a, b["outputs"]) for a, b in ((drive, seen), (repel, pull))]
        driven, repelled = (_norm(gradient_kept((logits * move).sum(), params)) for move in moves)
        curves["RBF on outputs"][size] = repelled / (driven + repelled)
    return curves


def variances(steps: int, dimensions: tuple[int, ...] = ()) -> Curves:
    """Variance of 20 particles as a fraction of the posterior's, by dimension, for every rule on weights."""
    rules: dict[str, Callable[..., Particles]] = {
        "SVGD": SVGD,
        "kde-WGD": WGD,
        "sge-WGD": partial(WGD, estimator="sge"),
        "ssge-WGD": partial(WGD, estimator="ssge"),
    }
    return {
        name: {
            size: _variance(rule(data_size=3 * size, prior=Gaussian(STD), noise=NOISE), size, steps)
            for size in dimensions or DIMENSIONS
        }
        for name, rule in rules.items()
    }


def fraction(points: Tensor, precision: Tensor) -> float:
    """Variance of points (M, D) along the principal axes of a Gaussian, each in its own unit, on average."""
    centred = points - points.mean(0)
    return float(((centred @ precision) * centred).sum()) / points.numel()


def shares_table(curves: Curves) -> str:
    """One row for each way to compare members."""
    return _table("share of repulsion, by parameters", curves, 4)


def variances_table(curves: Curves) -> str:
    """One row a method."""
    return _table("variance / true variance, by dimension", curves, 2)


def gradient_kept(loss: Tensor, params: Params) -> Params:
    """As ``gradient``, and the graph can be walked again."""
    return dict(zip(params, torch.autograd.grad(loss, list(params.values()), retain_graph=True), strict=True))


def _share(slope: Params, closeness: Closeness) -> float:
    drive, repel = SVGD().mixing(closeness.matrix)
    driven = _norm({name: torch.einsum("ij,j...->i...", drive, each) for name, each in slope.items()})
    repelled = _norm({name: torch.einsum("ij,j...->i...", repel, each) for name, each in closeness.gradient.items()})
    return repelled / (driven + repelled)


def _norm(direction: Params) -> float:
    return float(torch.stack([each.square().sum() for each in direction.values()]).sum().sqrt())


def _variance(method: Particles, size: int, steps: int) -> float:
    generator = torch.Generator().manual_seed(size)
    inputs = torch.randn(3 * size, size, generator=generator)
    targets = inputs @ torch.randn(size, generator=generator) + NOISE * torch.randn(3 * size, generator=generator)
    precision = inputs.T @ inputs / NOISE**2 + torch.eye(size) / STD**2
    members = Ensemble(partial(nn.Linear, size, 1, bias=False), PARTICLES, taps=[])
    fit(
        members,
        (inputs, targets),
        method=method,
        steps=steps,
        optimizer=partial(torch.optim.Adam, lr=0.1),
        schedule=lambda step: 1 - step / steps,
        progress=False,
    )
    points = members.params()["weight"].detach().flatten(1)
    return fraction(points, precision)


def _table(corner: str, curves: Curves, digits: int) -> str:
    places = list(next(iter(curves.values())))
    lines = [[name, *(f"{curve[place]:.{digits}f}" for place in places)] for name, curve in curves.items()]
    return markdown([corner, *(f"{place:,}" for place in places)], lines)
