r"""What a batch says of each member: the loss on inliers, and doubt on outliers.

Integer targets mean classification, floating targets regression.  Losses are means over examples, one for every member.

For outliers there is no right answer, so members together shall say what one says who has not seen the input:

* classification: minus the entropy of the members' MEAN softmax, which is, but for a constant, its divergence from the
  uniform distribution; it is lowest when the mean is uniform, be it that every member is unsure or that members
  contradict each other;
* regression: the same divergence between Gaussians, with m and v the mean and the variance BETWEEN members, and
  :math:`\mu_y`, :math:`\sigma_y^2` those of the batch's targets,

  .. math:: \mathrm{KL}\left(N(m, v + \sigma_y^2) \,\|\, N(\mu_y, 2 \sigma_y^2)\right),

  lowest where members spread around the targets' mean as far as targets do.  The variance that both sides have more
  keeps the pull finite where members agree.  To reward variance itself, or its logarithm, would have no end: a few
  members run off to a hundred times the targets' spread, and the fit pays for it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from hecka.errors import InputError


def is_classification(targets: Tensor) -> bool:
    """Whether targets are class indices rather than values."""
    return not targets.is_floating_point()


def member_losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy or squared error of each member, (M,), from logits (M, B, ...) and targets (B, ...).

    >>> member_losses(torch.zeros(2, 3, 4), torch.tensor([0, 1, 3]))  # ln 4 each
    tensor([1.3863, 1.3863])
    """
    members = logits.shape[0]
    if is_classification(targets):
        if logits.shape[1:-1] != targets.shape:
            raise InputError(
                f"loss: integer targets {tuple(targets.shape)} need logits (members, batch, ..., classes), "
                f"got {tuple(logits.shape)}; put classes last, or give floating targets for regression"
            )
        losses = _cross_entropy(logits.flatten(0, -2), targets.expand(members, *targets.shape).flatten())
        return losses.reshape(members, -1).mean(-1)
    outputs = like_targets(logits, targets)
    return (outputs - targets).square().flatten(1).mean(-1)


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    try:
        # torch would leave out a label of -100 without a word; here no label is special.
        nowhere = torch.iinfo(torch.int64).min
        return F.cross_entropy(_at_least_float32(logits), targets.long(), reduction="none", ignore_index=nowhere)
    except IndexError as error:  # only the host sees it: on a GPU the kernel itself stops the process
        raise InputError(
            f"loss: expected labels from 0 to {logits.shape[-1] - 1} for {logits.shape[-1]} outputs, got labels from "
            f"{int(targets.min())} to {int(targets.max())}; shift the labels, or give the network more outputs"
        ) from error


def doubt(logits: Tensor, targets: Tensor) -> Tensor:
    """Loss on outliers' ``logits`` (M, B_o, ...), a scalar; ``targets`` of the inliers tell the task and its scale.

    >>> doubt(torch.zeros(2, 3, 4), torch.tensor([0]))  # -ln 4: as unsure as can be
    tensor(-1.3863)
    """
    logits = _at_least_float32(logits)
    if is_classification(targets):
        log_mean = torch.logsumexp(F.log_softmax(logits, dim=-1), dim=0) - math.log(logits.shape[0])
        return (log_mean.exp() * log_mean).sum(-1).mean()
    scale = target_variance(targets)  # one for all values of a target, as the squared error has one for all
    spread = (1 + logits.var(0, correction=0) / scale) / 2
    offset = (logits.mean(0) - targets.mean(0)).square() / (2 * scale)
    return 0.5 * (spread - 1 - spread.log() + offset).mean()


def trivial_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Loss of the best answer that ignores its input: the yardstick for how much of a loss is much.

    For balanced classes that is ln C, for values it is their variance.
    """
    if is_classification(targets):
        return logits.new_full((), math.log(logits.shape[-1]), dtype=torch.float32)
    return target_variance(targets)


def target_variance(targets: Tensor) -> Tensor:
    """Variance of a batch's values, so far from zero that dividing by it overflows for no sensible output."""
    return targets.var(correction=0).clamp_min(torch.finfo(targets.dtype).tiny ** 0.5)


def _at_least_float32(logits: Tensor) -> Tensor:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def like_targets(logits: Tensor, targets: Tensor) -> Tensor:
    """Outputs (M, B, ...) brought to the targets' shape: (B,) values may come from a network with one output (B, 1)."""
    if logits.shape[1:] == targets.shape:
        return logits
    if logits.shape[1:] == (*targets.shape, 1):
        return logits.squeeze(-1)
    raise InputError(
        f"loss: expected outputs of the targets' shape {tuple(targets.shape)}, got {tuple(logits.shape[1:])}; "
        "reshape the targets"
    )
