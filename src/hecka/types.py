"""The contract that every part of hecka speaks.

Axes, always in this order::

    M members   B batch   C classes (or outputs)   D features, flattened   P parameters

A **method** (deep ensemble, repulsion, SVGD, ...) turns one batch into one direction per member; any
``torch.optim`` optimizer then steps along it.  **Members** (a stacked ensemble, a hypernetwork) say where
parameters come from and how a batch runs through all of them.  Nothing else passes between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

Params: TypeAlias = dict[str, Tensor]
"""Parameter name -> one stacked tensor (M, ...)."""

MemberFeatures: TypeAlias = Tensor | tuple[Tensor, ...]
"""What one tap recorded: (M, B, ...) when members ran vmapped, M tensors (B, ...) when they ran in a loop.

Stacking the second into the first would copy every feature map, so nothing may assume either form;
both can be iterated over members.
"""

Features: TypeAlias = Mapping[str, MemberFeatures]
"""Tap name -> the members' features, in the order of ``members.taps``."""

State: TypeAlias = dict[str, Tensor]
"""What a method carries from step to step (on the members' device); ``{}`` for most."""

Info: TypeAlias = dict[str, Tensor]
"""Scalars for eyes: the parts of the loss and what a method reports of itself.  Detached."""

NetFactory: TypeAlias = Callable[[], torch.nn.Module]
"""Makes ONE freshly initialised member; called once a member."""


class Output(NamedTuple):
    """A batch after all members: ``logits`` (M, B, ...) and the recorded ``features``."""

    logits: Tensor
    features: Features


@dataclass(frozen=True)
class Batch:
    """Inliers with their targets, and outliers where a method wants them.

    ``inputs`` (B, ...), ``targets`` (B,) class indices or (B, ...) values, ``outliers`` (B_o, ...) or None.
    """

    inputs: Tensor
    targets: Tensor
    outliers: Tensor | None = None

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on ``device``."""
        outliers = None if self.outliers is None else self.outliers.to(device, non_blocking=True)
        return Batch(
            self.inputs.to(device, non_blocking=True),
            self.targets.to(device, non_blocking=True),
            outliers,
        )


@dataclass(frozen=True)
class Step:
    """What a method made of one batch.

    ``direction`` is what an optimizer subtracts: the gradient of the loss where there is one.
    """

    direction: Params
    info: Info
    state: State = field(default_factory=dict)


@runtime_checkable
class Members(Protocol):
    """Many networks as one: where their parameters come from, and how a batch runs through them."""

    taps: tuple[str, ...]
    shares_weights: bool
    """Whether trained weights stand behind several members at once, so that none of them can be left unmoved."""

    def params(self, generator: torch.Generator | None = None) -> Params:
        """Stacked parameters, differentiable with respect to whatever an optimizer owns."""

    def run(self, params: Params, inputs: Tensor) -> Output:
        """Every member on the same ``inputs`` (B, ...)."""

    def pull_back(self, params: Params, direction: Params) -> None:
        """Add ``direction``, one tensor for each of ``params``, to the ``.grad`` of what an optimizer owns."""

    def predict(self, inputs: Tensor, batch_size: int = ...) -> Any:
        """Logits of all members in evaluation mode, without gradient, as a ``Prediction``."""


class Method(Protocol):
    """A direction for every member from one batch.  Implementations are frozen dataclasses of settings."""

    def start(self, members: Members) -> State:
        """The state before the first step."""

    def __call__(
        self, members: Members, params: Params, batch: Batch, state: State, generator: torch.Generator
    ) -> Step:
        """One step's direction, its report and the state for the next step."""


Term: TypeAlias = Callable[[Features], Tensor]
"""A diversity term: features of all members -> scalar energy, lower when members differ more."""


class Outliers(Protocol):
    """Made-up inputs that no member should be sure about; the object itself knows how many to make."""

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Outliers (B_o, ...) for a batch of inliers (B, ...): same device, dtype and shape of one example."""
