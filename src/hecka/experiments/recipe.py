"""A run as one value: everything that decides its outcome, in nested frozen dataclasses of plain values.

Variants are edits: of a recipe in Python by ``dataclasses.replace``, of any field on the command line.  Lengths of a
schedule are shares of the run, so that a run of another length keeps its shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from hecka.errors import InputError
from hecka.experiments.methods import MethodSettings, RepulsiveSettings
from hecka.members.execution import Mode
from hecka.training.plan import Precision


@dataclass(frozen=True)
class DataSettings:
    """The inliers.

    Args:
        name: of the catalogue, or folder:PATH, or npz:FILE.
        fraction: of the training set that is used.
        held_out: share of that which is kept for validation, in whole groups where one image stands several times.
        augment: whether training images are cropped (padding of 4) and mirrored at random.
        whiten: whether mean and deviation are taken out of pixels; else they lie in [0, 1].
        root: the folder that holds all sets; the environment's when None.
    """

    name: str
    fraction: float = 1.0
    held_out: float = 0.1
    augment: bool = False
    whiten: bool = True
    root: Path | None = None

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise InputError(f"data.fraction: expected a share above 0 and up to 1, got {self.fraction}")
        if not 0 <= self.held_out < 1:
            raise InputError(f"data.held_out: expected a share from 0 to below 1, got {self.held_out}")


@dataclass(frozen=True)
class NetworkSettings:
    """One member's network.

    Args:
        factory: lenet5, mlp, resnet18, resnet32, wide-resnet, or package.module:function that returns a network.
        width: of those networks that come in widths; the usual one when None.
        taps: modules whose outputs are compared, by name or pattern; the network's own choice when None.
        spectral_bound: the most that a layer before the last may stretch its input; free when None.
        channels_last: whether images lie channels last in memory, which is faster; networks must not call view on them.
        execution: whether members run at once or in a loop; auto takes the faster one.
    """

    factory: str
    width: int | None = None
    taps: tuple[str, ...] | None = None
    spectral_bound: float | None = None
    channels_last: bool = True
    execution: Mode = "auto"


@dataclass(frozen=True)
class HypernetworkSettings:
    """A generator of members (see ``hecka.members.hypernetwork``).

    Args:
        latent: size of a member's latent vector.
        code: size of a filter's or layer's code.
        widths: hidden sizes of each layer's generator.
        code_widths: hidden sizes of the generator of codes.
    """

    latent: int = 32
    code: int = 24
    widths: tuple[int, ...] = (64, 32)
    code_widths: tuple[int, ...] = (64, 64)


@dataclass(frozen=True)
class MembersSettings:
    """Many networks.

    Args:
        count: how many.
        hypernetwork: draws them from a generator; each has weights of its own when None.
        density: the tap whose features' density is the score of outliers (DDU), fitted after training; none when None.
    """

    count: int = 5
    hypernetwork: HypernetworkSettings | None = None
    density: str | None = None


@dataclass(frozen=True)
class OptimizerSettings:
    """What steps along a direction, and how fast.

    Args:
        name: of torch's optimizers.
        lr: learning rate at its highest.
        weight_decay: pull towards zero.
        decay_all: whether it acts on biases and norms too.
        momentum: of sgd.
        schedule: of the learning rate after its warm-up.
        warmup: share of the run in which it rises linearly; for cosine.
        milestones: shares of the run after which it is a tenth; for steps.
    """

    name: Literal["adamw", "adam", "sgd"] = "adamw"
    lr: float = 1e-3
    weight_decay: float = 0.01
    decay_all: bool = False
    momentum: float = 0.9
    schedule: Literal["cosine", "constant", "steps"] = "cosine"
    warmup: float = 0.0
    milestones: tuple[float, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a run's outcome.

    Args:
        name: of the recipe that this is, or is an edit of.
        data: the inliers.
        network: one member's network.
        members: how many there are, and where their weights come from.
        method: what moves them.
        optimizer: how.
        outliers: made-up outliers beside each batch; 0 for none.
        outlier_steps: how many steps' outliers are made at once; more take a GPU hardly longer.
        epochs: passes over the training set.
        steps: optimizer steps instead of epochs, where given.
        batch_size: inliers a step.
        clip: bound on the L2 norm of all gradients together; none when None.
        seed: of every random draw but the split of the data, which all seeds share.
        device: cpu, cuda, ...; auto takes cuda where there is one.
        precision: of forward and backward passes.
        compile: whether the method is compiled.
        capture: whether the method's step is recorded as a CUDA graph where there is a GPU; small networks then train
            many times as fast, to the same numbers (see ``fit``).
        start_from: folder of a run whose weights are the first; fresh ones when None.
        continues: recipe whose run start_from has to name; none when empty.
        ood: outlier sets that evaluation takes unless told otherwise.
        budget: share of the recipe's work, once scaled.
        notes: what every result of this recipe has to say of itself.
    """

    name: str
    data: DataSettings
    network: NetworkSettings
    members: MembersSettings = field(default_factory=MembersSettings)
    method: MethodSettings = field(default_factory=RepulsiveSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    outliers: int = 0
    outlier_steps: int = 8
    epochs: int = 1
    steps: int | None = None
    batch_size: int = 128
    clip: float | None = None
    seed: int = 0
    device: str = "auto"
    precision: Precision = "float32"
    compile: bool = False
    capture: bool = True
    start_from: Path | None = None
    continues: str = ""
    ood: tuple[str, ...] = ()
    budget: float = 1.0
    notes: tuple[str, ...] = ()

    def scaled(self, budget: float) -> Recipe:
        """The same recipe for about ``budget`` times the work: the square root of it in epochs, and in data.

        >>> from hecka.experiments.recipes import find
        >>> small = find("dirty-mnist/ensemble-he").scaled(0.04)
        >>> small.epochs, small.data.fraction, small.method.warmup, small.budget
        (10, 0.2, 2, 0.04)
        """
        if not 0 < budget <= 1:
            raise InputError(f"budget: expected a share above 0 and up to 1, got {budget}")
        share = math.sqrt(budget)
        return replace(
            self,
            epochs=max(1, round(self.epochs * share)),
            steps=None if self.steps is None else max(1, round(self.steps * budget)),
            data=replace(self.data, fraction=self.data.fraction * share),
            method=self.method.scaled(budget),
            budget=self.budget * budget,
        )
