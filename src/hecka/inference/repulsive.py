r"""Repulsive ensemble: members fit the data and push each other away.

.. math:: \mathcal L = \beta_{in} \overline{\mathrm{CE}}
          + r \left(\gamma\, E(\text{inliers}) + \gamma_{ood}\, E(\text{outliers})\right)
          - \beta\, \overline{H}(\text{mean answer on outliers})

CE is the mean over members and inliers, E a diversity term (of inliers' and outliers' Gram matrices apart), H the
entropy of the members' mean softmax on made-up outliers (for values, what stands for it in ``likelihood``), r a warm-up
from 0 to 1.  Without outliers in the batch the parts that need them fall away.

Reference: Smerkous, Bai & Li, NeurIPS 2024, equation 6 and section 4.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from hecka.diversity.terms import HECKA
from hecka.errors import InputError
from hecka.inference.auto_gamma import AutoGamma, hold_anchor
from hecka.inference.gradient import gradient
from hecka.inference.likelihood import doubt, member_losses, trivial_loss
from hecka.members.evaluation import evaluation_mode
from hecka.types import Batch, Features, Info, Members, Output, Params, State, Step, Term


@dataclass(frozen=True)
class Repulsive:
    """Fit plus repulsion.

    Args:
        term: the diversity term on inliers.
        gamma: its weight, or ``"auto"``: as large as the inlier loss allows (see ``auto_gamma``); a number for a
            hypernetwork.
        outlier_term: the diversity term on outliers; the same as ``term`` when None.
        gamma_ood: its weight; the same as ``gamma`` when None.
        beta: weight of the entropy on outliers.
        beta_in: weight of the mean cross-entropy; the number of members when None, so that each member learns as fast
            as it would alone.
        warmup: steps over which repulsion grows from 0.
        statistics_from: what BatchNorm normalises by: ``"all"``, the batch of inliers and outliers together, as in the
            paper; or ``"inliers"``, which never see an outlier: they are normalised as without any, and outliers by the
            inliers' running statistics, as in evaluation.
        tolerance: for ``gamma="auto"``: what diversity may cost in inlier loss, as a fraction of the loss of a
            constant answer.
    """

    term: Term = field(default_factory=HECKA)
    gamma: float | Literal["auto"] = "auto"
    outlier_term: Term | None = None
    gamma_ood: float | None = None
    beta: float = 1.0
    beta_in: float | None = None
    warmup: int = 0
    statistics_from: Literal["all", "inliers"] = "all"
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        for name, term in (("term", self.term), ("outlier_term", self.outlier_term or self.term)):
            if isinstance(term, type) or not callable(term):
                raise InputError(
                    f"Repulsive: expected {name} to be a diversity term such as HECKA(), got {term!r}; "
                    "its weight goes to gamma="
                )
        if self.statistics_from not in ("all", "inliers"):
            raise InputError(
                f"Repulsive: expected statistics_from to be 'all' or 'inliers', got {self.statistics_from!r}"
            )
        if isinstance(self.gamma, str) and self.gamma != "auto":
            raise InputError(f"Repulsive: expected a number or 'auto' for gamma, got {self.gamma!r}")
        for name in ("gamma", "gamma_ood", "beta", "beta_in", "warmup"):
            value = getattr(self, name)
            if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
                raise InputError(
                    f"Repulsive: expected {name} >= 0, got {value}; a negative weight would pull members together"
                )

    def start(self, members: Members) -> State:
        """The count of steps and, for ``gamma="auto"``, what it has learnt."""
        if self.gamma == "auto" and members.shares_weights:
            raise InputError(
                "Repulsive: gamma='auto' reads the price of repulsion off a member that feels none, but in a "
                f"{type(members).__name__} all members share their trained weights; set gamma to a number, 0.2 to begin"
            )
        if self.statistics_from == "inliers":
            _check_running_statistics(members)
        device = next(iter(members.params().values())).device
        state = {"step": torch.zeros((), device=device)}
        return state | (AutoGamma(self.tolerance).start(device) if self.gamma == "auto" else {})

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """The gradient of the repulsive loss."""
        inliers, outliers = _run(members, params, batch, self.statistics_from == "all")
        losses = member_losses(inliers[0], batch.targets)
        loss = losses.mean() * (len(losses) if self.beta_in is None else self.beta_in)
        info: Info = {"loss": losses.detach().mean()}

        next_state = {"step": state["step"] + 1}
        ramp = (next_state["step"] / self.warmup).clamp(max=1) if self.warmup else torch.ones_like(state["step"])
        gamma = ramp * (state["log_gamma"].exp() if self.gamma == "auto" else self.gamma)
        gamma_ood = gamma if self.gamma_ood is None else ramp * self.gamma_ood
        if self.gamma == "auto":
            trivial = trivial_loss(inliers[0], batch.targets)
            next_state |= AutoGamma(self.tolerance).update(state, losses.detach(), trivial)
            info |= {"gamma": gamma, "price": next_state["price"]}

        if self.gamma != 0:
            loss = loss + gamma * self._energy(self.term, inliers[1], info, "energy")
        if outliers is not None and (self.gamma != 0 if self.gamma_ood is None else self.gamma_ood != 0):
            loss = loss + gamma_ood * self._energy(self.outlier_term or self.term, outliers[1], info, "energy_ood")
        if outliers is not None and self.beta:
            pull = doubt(outliers[0], batch.targets)
            loss = loss + self.beta * pull
            info["doubt_ood"] = -pull.detach()
        return Step(gradient(loss, params), info, next_state)

    def _energy(self, term: Term, features: Features, info: Info, name: str) -> Tensor:
        energy = term(hold_anchor(features) if self.gamma == "auto" else features)
        info[name] = energy.detach()
        return energy


def _run(
    members: Members, params: Params, batch: Batch, together: bool
) -> tuple[tuple[Tensor, Features], tuple[Tensor, Features] | None]:
    """Logits and features of inliers and of outliers, from one pass over both or from two."""
    if batch.outliers is None:
        return members.run(params, batch.inputs), None
    if batch.outliers.shape[1:] != batch.inputs.shape[1:]:
        raise InputError(
            f"Repulsive: expected outliers like one inlier, {tuple(batch.inputs.shape[1:])}, "
            f"got outliers {tuple(batch.outliers.shape)} with inliers {tuple(batch.inputs.shape)}"
        )
    if not together:
        return members.run(params, batch.inputs), _run_unnoticed(members, params, batch.outliers)
    sizes = [len(batch.inputs), len(batch.outliers)]
    logits, features = members.run(params, torch.cat([batch.inputs, batch.outliers]))
    inlier_logits, outlier_logits = torch.split(logits, sizes, dim=1)
    inliers: dict[str, Tensor | tuple[Tensor, ...]] = {}
    outliers: dict[str, Tensor | tuple[Tensor, ...]] = {}
    for tap, each in features.items():
        if isinstance(each, Tensor):
            inliers[tap], outliers[tap] = torch.split(each, sizes, dim=1)
        else:
            inliers[tap], outliers[tap] = zip(*(torch.split(one, sizes) for one in each), strict=True)
    return (inlier_logits, inliers), (outlier_logits, outliers)


def _run_unnoticed(members: Members, params: Params, outliers: Tensor) -> Output:
    """A pass that leaves no trace in the statistics of BatchNorm, and takes them from the inliers seen so far."""
    assert isinstance(members, nn.Module)  # refused otherwise at the start
    with evaluation_mode(members, _BatchNorm):
        return members.run(params, outliers)


def _check_running_statistics(members: Members) -> None:
    if not isinstance(members, nn.Module):
        raise InputError(
            f"Repulsive: statistics_from='inliers' expected members that are an nn.Module, got {type(members).__name__}"
        )
    for name, module in members.named_modules():
        if isinstance(module, _BatchNorm) and module.running_mean is None:
            raise InputError(
                f"Repulsive: statistics_from='inliers' expected BatchNorm with running statistics, "
                f"got {name!r} without; use statistics_from='all'"
            )
