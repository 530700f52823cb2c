"""The paper's two toy tasks, and the regions of the plane where certainty would be a lie.

Four classes: Gaussians of sigma .4 around (2, 2), (-2, 2), (2, -2), (-2, -2), labelled 0 to 3.
Regression:   y = -(1 + x) sin(1.2 x) + noise, seen on both sides of (-2, 2) and at two points inside.

On the plane [-10, 10]^2 a classifier should be unsure in the gaps between the classes, where no outlier is
placed, and in the far field, on both sides of the square |x|, |y| = 8 where the paper places them.
"""

from __future__ import annotations

import torch
from torch import Tensor

MEANS = ((2.0, 2.0), (-2.0, 2.0), (2.0, -2.0), (-2.0, -2.0))
SPREAD = 0.4  # standard deviation of every class, in both coordinates

GAP_HALF_WIDTH = 0.5  # around an axis; the classes' means are five standard deviations from it
GAP_REACH = 3.0  # about where the data end
FAR = 6.0  # ten standard deviations beyond the classes' means


def four_classes(generator: torch.Generator, per_class: int = 25) -> tuple[Tensor, Tensor]:
    """Points (4 * per_class, 2) and their labels (4 * per_class,), class after class.

    >>> inputs, labels = four_classes(torch.Generator().manual_seed(0))
    >>> inputs.shape, labels.bincount()
    (torch.Size([100, 2]), tensor([25, 25, 25, 25]))
    """
    device = generator.device
    labels = torch.arange(len(MEANS), device=device).repeat_interleave(per_class)
    means = torch.tensor(MEANS, device=device)[labels]
    return means + SPREAD * torch.randn(means.shape, generator=generator, device=device), labels


def curve(x: Tensor) -> Tensor:
    """The regression's noiseless function, -(1 + x) sin(1.2 x)."""
    return -(1 + x) * torch.sin(1.2 * x)


def regression(
    generator: torch.Generator, per_side: int = 40, inside: int = 2, noise: float = 0.2
) -> tuple[Tensor, Tensor]:
    """Inputs (N, 1) and noisy values (N, 1) of `curve`; inputs on [-6, -2], [2, 6] and, a few, (-2, 2).

    The paper's N(0, .04) is read as a variance: the noise has a standard deviation of .2.

    >>> inputs, values = regression(torch.Generator().manual_seed(0))
    >>> inputs.shape, values.shape, int((inputs.abs() < 2).sum())
    (torch.Size([82, 1]), torch.Size([82, 1]), 2)
    """
    device = generator.device
    pieces = ((-6.0, -2.0, per_side), (2.0, 6.0, per_side), (-2.0, 2.0, inside))
    x = torch.cat(
        [low + (high - low) * torch.rand(n, 1, generator=generator, device=device) for low, high, n in pieces]
    )
    return x, curve(x) + noise * torch.randn(x.shape, generator=generator, device=device)


def plane(resolution: int, extent: float = 10.0) -> Tensor:
    """A grid over [-extent, extent]^2 as points (resolution^2, 2), row after row from the bottom up.

    ``values.reshape(resolution, resolution)`` is a picture with the origin at its lower left.

    >>> plane(2, extent=1.0)
    tensor([[-1., -1.],
            [ 1., -1.],
            [-1.,  1.],
            [ 1.,  1.]])
    """
    axis = torch.linspace(-extent, extent, resolution)
    x, y = torch.meshgrid(axis, axis, indexing="xy")
    return torch.stack((x, y), dim=-1).flatten(0, 1)


def in_gaps(points: Tensor) -> Tensor:
    """Which of ``points`` (N, 2) lie between the classes: min(|x|, |y|) < .5 and max(|x|, |y|) < 3.

    >>> in_gaps(torch.tensor([[0.0, 2.0], [2.0, 2.0], [0.0, 9.0]]))
    tensor([ True, False, False])
    """
    near, far = points.abs().aminmax(dim=-1)
    return (near < GAP_HALF_WIDTH) & (far < GAP_REACH)


def in_far_field(points: Tensor) -> Tensor:
    """Which of ``points`` (N, 2) lie far from all classes: max(|x|, |y|) > 6.

    >>> in_far_field(torch.tensor([[0.0, 2.0], [2.0, 2.0], [0.0, 9.0]]))
    tensor([False, False,  True])
    """
    return points.abs().amax(dim=-1) > FAR
