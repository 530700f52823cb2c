"""From settings to objects: members, outliers, optimizer, schedule."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hecka.data.images import Whitening
from hecka.errors import InputError, nearest
from hecka.experiments.recipe import MembersSettings, NetworkSettings, OptimizerSettings, Recipe
from hecka.members.ensemble import Ensemble
from hecka.members.execution import Mode
from hecka.members.hypernetwork import Hypernetwork
from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.resnet import ResNet18
from hecka.networks.resnet32 import ResNet32
from hecka.networks.spectral import spectral_bound
from hecka.networks.wide_resnet import WideResNet
from hecka.outliers.images import Images
from hecka.training.optimizers import decay_groups
from hecka.training.schedules import Constant, Milestones, Schedule, WarmupCosine

MLP_WIDTH = 64


@dataclass(frozen=True)
class Shape:
    """What a network has to fit: images (channels, height, width), and how many classes."""

    image: tuple[int, int, int]
    classes: int


def lenet5(shape: Shape, width: int | None) -> nn.Module:
    """LeNet5, which comes in one width."""
    _expect_one_width("lenet5", width)
    return LeNet5(shape.classes, channels=shape.image[0])


def mlp(shape: Shape, width: int | None) -> nn.Module:
    """Two hidden layers over all pixels."""
    pixels = shape.image[0] * shape.image[1] * shape.image[2]
    return nn.Sequential(nn.Flatten(), MLP(pixels, width or MLP_WIDTH, width or MLP_WIDTH, shape.classes))


def resnet18(shape: Shape, width: int | None) -> nn.Module:
    """ResNet18 for small images."""
    _expect_colour("resnet18", shape)
    return ResNet18(shape.classes, width or 64)


def resnet32(shape: Shape, width: int | None) -> nn.Module:
    """ResNet32 without normalisation, which comes in one width."""
    _expect_one_width("resnet32", width)
    _expect_colour("resnet32", shape)
    return ResNet32(shape.classes)


def wide_resnet(shape: Shape, width: int | None) -> nn.Module:
    """WideResNet-28, ten times as wide as its kin unless told otherwise."""
    _expect_colour("wide-resnet", shape)
    return WideResNet(widen=width or 10, classes=shape.classes)


# Name -> what makes the network, and its taps.
NETWORKS: dict[str, tuple[Callable[[Shape, int | None], nn.Module], tuple[str, ...]]] = {
    "lenet5": (lenet5, LeNet5.taps),
    "mlp": (mlp, ("1.layers.*",)),
    "resnet18": (resnet18, ResNet18.taps),
    "resnet32": (resnet32, ResNet32.taps),
    "wide-resnet": (wide_resnet, WideResNet.taps),
}


def make_members(recipe: Recipe, shape: Shape) -> Ensemble | Hypernetwork:
    """Members as they are before the first step."""
    make_net, own_taps = net_factory(recipe.network, shape)
    taps = recipe.network.taps or own_taps
    density = recipe.members.density
    if taps is not None and density is not None and density not in taps:
        taps = (*taps, density)
    execution = _execution(recipe)
    return _members(recipe.members, recipe.network, make_net, taps, execution, recipe.seed)


def _execution(recipe: Recipe) -> Mode:
    """In a loop over members convolutions are ordinary ones: a gain where they are wide and launches cost nothing."""
    network = recipe.network
    wide = network.factory == "wide-resnet" or (network.factory == "resnet18" and (network.width or 64) >= 32)
    return "loop" if network.execution == "auto" and recipe.capture and wide else network.execution


def net_factory(settings: NetworkSettings, shape: Shape) -> tuple[Callable[[], nn.Module], tuple[str, ...] | None]:
    """What makes one fresh network, and its own choice of taps; None for all its layers."""
    if ":" in settings.factory:
        _expect_one_width(settings.factory, settings.width)
        make, taps = own_factory(settings.factory), None
    elif settings.factory in NETWORKS:
        named, taps = NETWORKS[settings.factory]

        def make() -> nn.Module:
            return named(shape, settings.width)
    else:
        raise InputError(
            f"network.factory: nothing is called {settings.factory!r}; {nearest(settings.factory, NETWORKS)}; "
            "or name a function of your own, package.module:function"
        )
    bound = settings.spectral_bound
    return (make if bound is None else lambda: bounded(make(), bound, shape)), taps


def own_factory(name: str) -> Callable[[], nn.Module]:
    """The function that "package.module:function" names, from the current directory too.

    >>> own_factory("torch.nn:Identity")()
    Identity()
    """
    module, _, function = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"network.factory: expected a module {module!r}, got {error}; look at its spelling, or run from the folder "
            "that holds it"
        ) from error
    make: Callable[[], nn.Module] | None = getattr(found, function, None)
    if not callable(make):
        known = [each for each, value in vars(found).items() if callable(value) and not each.startswith("_")]
        raise InputError(f"network.factory: {module} has no function {function!r}; {nearest(function, known)}")
    return make


def bounded(net: nn.Module, bound: float, shape: Shape) -> nn.Module:
    """``net``, whose layers but the last stretch no input by more than ``bound``.

    The layers run one after another in all networks that have a name here, so that those before the last can be called
    as one.
    """
    *layers, last = net.children()
    if isinstance(last, MLP):
        layers += list(last.layers)[:-1]
    spectral_bound(nn.Sequential(*layers), bound, torch.zeros(2, *shape.image))
    return net


def check_outputs(members: Ensemble | Hypernetwork, shape: Shape, factory: str) -> None:
    """Refuse networks that do not answer with one logit a class; on a GPU the loss would end the process."""
    logits = members.predict(torch.zeros(2, *shape.image)).logits
    if logits.shape[1:] != (2, shape.classes):
        raise InputError(
            f"network.factory: expected {factory} to turn images (B, {', '.join(map(str, shape.image))}) into logits "
            f"(B, {shape.classes}), one for each class of the data, got {('B', *logits.shape[2:])}; change its last "
            "layer"
        )


def make_outliers(count: int, whitening: Whitening) -> Images | None:
    """Made-up outliers between the black and the white of whitened images."""
    if count == 0:
        return None
    black, white = (
        tuple((end - mean) / std for mean, std in zip(whitening.mean, whitening.std, strict=True)) for end in (0.0, 1.0)
    )
    return Images(black, white, count)


def make_optimizer(settings: OptimizerSettings, members: nn.Module) -> torch.optim.Optimizer:
    """The optimizer over all trainable parameters."""
    trainable = [parameter for parameter in members.parameters() if parameter.requires_grad]
    groups: list[Any] = (
        [{"params": trainable, "weight_decay": settings.weight_decay}]
        if settings.decay_all
        else decay_groups(members, settings.weight_decay)
    )
    fused = trainable[0].device.type in ("cpu", "cuda")  # one kernel for all tensors; not everywhere there
    if settings.name == "sgd":
        return torch.optim.SGD(groups, lr=settings.lr, momentum=settings.momentum, fused=fused)
    kind = torch.optim.AdamW if settings.name == "adamw" else torch.optim.Adam
    return kind(groups, lr=settings.lr, fused=fused)


def make_schedule(settings: OptimizerSettings, steps: int) -> Schedule:
    """The learning rate over a run of ``steps``.

    >>> make_schedule(OptimizerSettings(warmup=0.1), 50)
    WarmupCosine(warmup=5, total=50, final=0.0)
    """
    if settings.schedule == "cosine":
        return WarmupCosine(min(round(settings.warmup * steps), steps - 1), steps)
    if settings.schedule == "steps":
        return Milestones(tuple(round(share * steps) for share in settings.milestones))
    return Constant()


def pick_device(name: str) -> torch.device:
    """The device of that name; for "auto" a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device: expected auto, cpu, cuda, cuda:1, ..., got {name!r}") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device: expected one that is there, got {name!r}; torch sees no GPU, use cpu")
    return device


def _members(
    settings: MembersSettings,
    network: NetworkSettings,
    make_net: Callable[[], nn.Module],
    taps: tuple[str, ...] | None,
    execution: Mode,
    seed: int,
) -> Ensemble | Hypernetwork:
    generator = settings.hypernetwork
    if generator is None:
        return Ensemble(
            make_net,
            settings.count,
            taps=taps,
            seed=seed,
            execution=execution,
            channels_last=network.channels_last,
        )
    return Hypernetwork(
        make_net,
        generator.latent,
        generator.code,
        members=settings.count,
        taps=taps,
        seed=seed,
        widths=generator.widths,
        code_widths=generator.code_widths,
    )


def _expect_one_width(name: str, width: int | None) -> None:
    if width is not None:
        raise InputError(f"network.width: {name} comes in one width, got {width}; leave it out")


def _expect_colour(name: str, shape: Shape) -> None:
    if shape.image[0] != 3:
        raise InputError(
            f"network.factory: expected images of 3 channels for {name}, got {shape.image[0]}; use lenet5 or mlp"
        )
