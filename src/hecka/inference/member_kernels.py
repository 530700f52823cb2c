r"""How close members are to each other, and which way leads closer: the two things a particle method asks of a kernel.

.. math:: K_{ij} = k(\theta_i, \theta_j), \qquad r_i = \sum_j \nabla_{\theta_i} k(\theta_i, \theta_j)

with the right argument held.  Two ways to compare members:

* by where they lie (weights, or outputs): an RBF of the distance, :math:`k = \exp(-D / 2b)`, whose gradient is known,
  :math:`r_i = \frac1b \sum_j K_{ij} (x_j - x_i)`: no backward pass, and hardly any cost;
* by their features: any diversity term's matrix.  k is symmetric, so holding the right argument is half the gradient
  of :math:`\sum_{ij} K_{ij}`: one backward pass, or none of its own where it only joins another one (``at_taps``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from hecka.diversity.terms import PairTerm
from hecka.similarity.kernels import RBF, linear_gram, squared_distances
from hecka.types import Features, MemberFeatures, Params


class Closeness(NamedTuple):
    """``matrix`` K (M, M), diagonal included, and ``gradient`` r, shaped like what was compared; both detached."""

    matrix: Tensor
    gradient: Params


def between_points(points: Params, kernel: RBF) -> Closeness:
    """Closeness of M points whose coordinates come in pieces (M, ...).

    >>> matrix, gradient = between_points({"x": torch.tensor([[0.0], [1.0]])}, RBF())
    >>> matrix, gradient["x"].flatten()  # each is drawn to the other
    (tensor([[1.0000, 0.1111],
            [0.1111, 1.0000]]), tensor([ 0.4883, -0.4883]))
    """
    # Only differences count: around the points' mean they keep their digits, and points that coincide pull at nothing.
    centred = {name: _rows(each) - _rows(each).mean(0) for name, each in points.items()}
    matrix, bandwidth = gaussian(torch.stack([linear_gram(each) for each in centred.values()]).sum(0), kernel)
    return Closeness(
        matrix, {name: pull(matrix, bandwidth, centred[name]).reshape(each.shape) for name, each in points.items()}
    )


def between_features(params: Params, features: Features, term: PairTerm) -> Closeness:
    """Closeness by what members make of a batch; ``features`` must hang on ``params``, and still do so afterwards."""
    matrix = term.matrix(features)
    gradients = torch.autograd.grad(matrix.sum() / 2, list(params.values()), retain_graph=True, materialize_grads=True)
    return Closeness(matrix.detach(), dict(zip(params, gradients, strict=True)))


def at_taps(
    features: Features, term: PairTerm, factors: Callable[[Tensor], Tensor]
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """K (M, M), and the gradient r where it passes each recorded tensor, times ``factors(K)`` (M,).

    From there to the weights all is linear, so r goes the rest of the way together with another gradient, at no cost.
    """
    held: dict[str, MemberFeatures] = {}
    for tap, each in features.items():
        held[tap] = _leaf(each) if isinstance(each, Tensor) else tuple(map(_leaf, each))
    matrix = term.matrix(held)
    leaves = [one for each in held.values() for one in _parts(each)]
    gradients = torch.autograd.grad(matrix.sum() / 2, leaves, materialize_grads=True)
    matrix = matrix.detach()
    scales = [scale for each in held.values() for scale in _scales(factors(matrix), each)]
    recorded = [one for each in features.values() for one in _parts(each)]
    scaled = (gradient * scale.to(gradient.dtype) for gradient, scale in zip(gradients, scales, strict=True))
    # What hangs on no weight, such as the output of a frozen layer, is no way to any.
    return matrix, [pair for pair in zip(recorded, scaled, strict=True) if pair[0].requires_grad]


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_()


def _parts(each: MemberFeatures) -> tuple[Tensor, ...]:
    return (each,) if isinstance(each, Tensor) else each


def _scales(factors: Tensor, each: MemberFeatures) -> tuple[Tensor, ...]:
    """``factors`` (M,) in the form of one tap's features: one for each member, or all along a first axis."""
    if isinstance(each, Tensor):
        return (factors.reshape(-1, *[1] * (each.dim() - 1)),)
    return factors.unbind()


def between_outputs(outputs: Tensor, kernel: RBF, softmax: bool) -> Closeness:
    """Closeness by outputs (M, B, ...) or their softmax; the gradient is that of ``outputs`` in both cases."""
    if not softmax:
        return between_points({"outputs": outputs}, kernel)
    probabilities = outputs.detach().softmax(-1)
    matrix, gradient = between_points({"outputs": probabilities}, kernel)
    slope = gradient["outputs"]
    through = probabilities * (slope - (probabilities * slope).sum(-1, keepdim=True))  # the softmax's own derivative
    return Closeness(matrix, {"outputs": through})


def gaussian(linear: Tensor, kernel: RBF) -> tuple[Tensor, Tensor]:
    """The RBF of points with the linear Gram matrix ``linear`` (M, M), and its bandwidth b (1, 1)."""
    distances = squared_distances(linear)
    bandwidth = kernel.bandwidth(distances, linear)
    return torch.exp(distances * (-0.5 / bandwidth)), bandwidth


def pull(matrix: Tensor, bandwidth: Tensor, points: Tensor) -> Tensor:
    """The gradient r of an RBF's ``matrix`` (M, M) at centred ``points`` (M, P)."""
    return mix((matrix - torch.diag(matrix.sum(-1))) / bandwidth, points)


def mix(matrix: Tensor, vectors: Tensor) -> Tensor:
    """Linear combinations over members: ``matrix`` (N, M) times ``vectors`` (M, ...), in full precision."""
    wide = torch.promote_types(matrix.dtype, vectors.dtype)
    with torch.autocast(vectors.device.type, enabled=False):
        mixed = matrix.to(wide) @ _rows(vectors).to(wide)
    return mixed.to(vectors.dtype).reshape(-1, *vectors.shape[1:])


def _rows(each: Tensor) -> Tensor:
    """One row a member, (M, P); a parameter may be a single number, (M,)."""
    return each.detach().reshape(len(each), -1)
