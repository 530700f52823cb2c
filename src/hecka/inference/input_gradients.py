r"""Repulsion between input gradients: members look at different things.

With the direction in which member i's answer for the right class grows fastest around an input x,

.. math:: u_i = \frac{U^\top g_i}{|U^\top g_i|} \odot \sqrt\lambda, \qquad g_i = \nabla_x f_i(x)_y,

in the axes U of the training inputs' covariance with its eigenvalues :math:`\lambda` (the inputs' own axes where none
are given), the loss is

.. math:: \mathcal L = \sum_i \mathrm{CE}_i + \frac1B \sum_b \sum_i \log \frac1M \sum_j
          \exp\left(-\frac{|u_{bi} - \bar u_{bj}|^2}{h_{bj}}\right), \qquad
          h_{bj} = \mathrm{median}_i\, |u_{bi} - u_{bj}|^2 / \ln M

with what is barred held: Wasserstein gradient descent with a kernel density of directions.  With one member it is plain
training.  For values, f is the sum of the outputs.

The cost: a gradient of a gradient, and one extra way back through all members for each of them.

Reference: Trinh, Heinonen, Acerbi & Kaski, "Input-gradient space particle inference for neural network ensembles"
(FoRDE), ICLR 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hecka.diversity.energy import mean_over_pairs
from hecka.errors import InputError
from hecka.inference.gradient import gradient
from hecka.inference.likelihood import is_classification, member_losses
from hecka.types import Batch, Info, Members, Params, State, Step


@dataclass(frozen=True, eq=False, repr=False)
class PrincipalAxes:
    """The axes (D, D) of inputs with D numbers each, one a column, and the standard deviation (D,) along each.

    >>> axes = PrincipalAxes.of(torch.tensor([[0.0, 2.0], [0.0, -2.0], [1.0, 0.0], [-1.0, 0.0]]))
    >>> axes.deviations.square()
    tensor([0.5000, 2.0000])
    """

    directions: Tensor
    deviations: Tensor

    @classmethod
    def of(cls, inputs: Tensor) -> PrincipalAxes:
        """The axes of training inputs (N, ...), flattened; they stay on the inputs' device."""
        rows = inputs.flatten(1).double()
        centred = rows - rows.mean(0)
        variances, directions = torch.linalg.eigh(centred.T @ centred / len(rows))
        return cls(directions.to(inputs.dtype), variances.clamp_min(0).sqrt().to(inputs.dtype))

    def __repr__(self) -> str:
        return f"PrincipalAxes(of {len(self.deviations)} numbers, largest deviation {float(self.deviations.max()):.6g})"


@dataclass(frozen=True)
class InputGradients:
    """A repulsive ensemble in the space of input gradients (FoRDE).

    Args:
        axes: of the training inputs, ``PrincipalAxes.of(inputs)``: members then differ along what varies in the data,
            as in the paper's best runs; every input number counts alike when None.
    """

    axes: PrincipalAxes | None = None

    def start(self, members: Members) -> State:
        """Nothing is carried from step to step."""
        return {}

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """The gradient of the loss; outliers in the batch are not looked at."""
        if not batch.inputs.is_floating_point():
            raise InputError(
                f"InputGradients: expected floating inputs, which have a gradient, got {batch.inputs.dtype}; "
                "use Repulsive, which compares features"
            )
        inputs = batch.inputs.detach().requires_grad_()
        logits = members.run(params, inputs).logits
        losses = member_losses(logits, batch.targets)
        loss = losses.sum()
        info: Info = {"loss": losses.detach().mean()}
        if len(losses) > 1:
            log_kernel = self._log_kernel(_input_gradients(logits, inputs, batch.targets))
            loss = loss + (log_kernel.logsumexp(-1) - math.log(len(losses))).mean(0).sum()
            info["kernel"] = mean_over_pairs(log_kernel.detach().exp().mean(0))
        return Step(gradient(loss, params), info, state)

    def _log_kernel(self, gradients: Tensor) -> Tensor:
        """:math:`-d / h` for every example and pair of members, (B, M, M), from gradients (M, B, D)."""
        with torch.autocast(gradients.device.type, enabled=False):  # directions differ in digits that bf16 has not
            if self.axes is not None:
                gradients = gradients @ self.axes.directions.to(gradients)
            directions = _unit(gradients).transpose(0, 1)
            if self.axes is not None:
                directions = directions * self.axes.deviations.to(gradients)
            held = directions.detach()
            squares = directions.square().sum(-1)
            products = directions @ held.mT
            distances = (squares[:, :, None] + squares.detach()[:, None, :] - 2 * products).clamp_min(0)
        return -distances / _bandwidths(distances.detach(), squares.detach())[:, None, :]


def _input_gradients(logits: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    """How each member's answer for the right class, or its value, grows with each input number: (M, B, D)."""
    answers = logits
    if is_classification(targets):
        answers = logits.gather(-1, targets.expand(logits.shape[:-1]).unsqueeze(-1))
    # One after the other: all members read the same inputs, whose gradient would be the sum over members.
    rows = [torch.autograd.grad(one, inputs, create_graph=True)[0] for one in answers.flatten(1).sum(1)]
    return torch.stack(rows).flatten(2)


def _unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1; one without length (a member that is flat there) stays zero."""
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    unit: Tensor = vectors / torch.where(lengths > 0, lengths, 1.0)
    return unit


def _bandwidths(distances: Tensor, squares: Tensor) -> Tensor:
    """The width h of every example and held member, (B, M), from distances (B, M, M) and squared lengths (B, M)."""
    count = distances.shape[-1]
    ordered = distances.sort(dim=1).values
    median = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    # Where members agree to the last digit, distances are rounding noise, and a median of 0 would make NaN.
    noise = 8 * torch.finfo(distances.dtype).eps * squares.mean(-1, keepdim=True)
    return (median / math.log(count)).maximum(noise + torch.finfo(distances.dtype).tiny)
