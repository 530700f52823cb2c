"""What steps along a method's direction: any ``torch.optim`` optimizer over the members' parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, ReduceLROnPlateau

from hecka.errors import InputError
from hecka.members.ensemble import Ensemble
from hecka.training.schedules import Constant, Schedule

OptimizerChoice: TypeAlias = Optimizer | Callable[[list[nn.Parameter]], Optimizer] | None
"""An optimizer, or what makes one from the trainable parameters; AdamW with rate .001 when None."""


def decay_groups(members: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups for an optimizer: ``weight_decay`` on matrices and filters, none on biases and norms.

    Biases and norms are vectors of one member: (M, C) where members are stacked, (C,) in a hypernetwork's generator.

    >>> ensemble = Ensemble(lambda: nn.Linear(2, 3), members=5)
    >>> [(len(group["params"]), group["weight_decay"]) for group in decay_groups(ensemble, 0.01)]
    [(1, 0.01), (1, 0.0)]
    """
    vector = 2 if isinstance(members, Ensemble) else 1
    trainable = [parameter for parameter in members.parameters() if parameter.requires_grad]
    return [
        {"params": [each for each in trainable if each.dim() > vector], "weight_decay": weight_decay},
        {"params": [each for each in trainable if each.dim() <= vector], "weight_decay": 0.0},
    ]


def make_optimizer(choice: OptimizerChoice, members: nn.Module) -> Optimizer:
    """The optimizer itself, which must own parameters of ``members``."""
    trainable = [parameter for parameter in members.parameters() if parameter.requires_grad]
    if not trainable:
        raise InputError(f"fit: expected trainable parameters, got none in {type(members).__name__}")
    if choice is None:
        fused = trainable[0].device.type in ("cpu", "cuda")  # one kernel for all tensors; not everywhere there
        return torch.optim.AdamW(trainable, lr=1e-3, fused=fused)
    optimizer = choice(trainable) if callable(choice) else choice
    if not isinstance(optimizer, Optimizer):
        raise InputError(
            f"fit: expected optimizer= to be or to make a torch.optim.Optimizer, got {type(optimizer).__name__}; "
            "pass for example functools.partial(torch.optim.AdamW, lr=0.01)"
        )
    known = {id(parameter) for parameter in trainable}
    if not any(id(parameter) in known for parameter in owned(optimizer)):
        raise InputError(
            f"fit: expected an optimizer over the members' parameters, got a {type(optimizer).__name__} that owns none "
            "of them; make it from members.parameters()"
        )
    return optimizer


def make_scheduler(choice: Schedule | LRScheduler | None, optimizer: Optimizer) -> LRScheduler:
    """A function of the step as a torch scheduler; a torch scheduler as it is, if it belongs to ``optimizer``."""
    if isinstance(choice, ReduceLROnPlateau):
        raise InputError(
            "fit: expected a schedule that depends on the step alone, got ReduceLROnPlateau; "
            "use a function of the step, for example WarmupCosine"
        )
    if isinstance(choice, LRScheduler):
        if choice.optimizer is not optimizer:
            raise InputError(
                f"fit: expected the schedule of this run's optimizer, got a {type(choice).__name__} of another one; "
                "pass both: optimizer=optimizer, schedule=scheduler"
            )
        return choice
    schedule = choice or Constant()
    # A lambda, because torch would copy a callable object's attributes into the state; a pure function has none.
    return LambdaLR(optimizer, lambda step: schedule(step))


def clip_gradients(optimizer: Optimizer, clip: float | None) -> Tensor:
    """The L2 norm of all gradients together; where it exceeds ``clip``, they are scaled to it.  Nothing waits."""
    parameters = [parameter for parameter in owned(optimizer) if parameter.grad is not None]
    norm = nn.utils.get_total_norm([each.grad for each in parameters if each.grad is not None])
    if clip is not None:
        nn.utils.clip_grads_with_norm_(parameters, clip, norm)
    return norm


def owned(optimizer: Optimizer) -> list[Tensor]:
    """Every parameter of every group."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def describe(optimizer: Optimizer) -> str:
    """Class, settings, and each group's size, base rate and weight decay, in one readable line.

    >>> describe(torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=0.5))[:20]
    'SGD(lr=0.5, momentum'
    """
    settings = ", ".join(f"{name}={value!r}" for name, value in optimizer.defaults.items())
    groups = [
        (len(group["params"]), group.get("initial_lr", group["lr"]), group.get("weight_decay"))
        for group in optimizer.param_groups
    ]
    return f"{type(optimizer).__name__}({settings}) over groups (size, lr, weight_decay) {groups}"


def restore(optimizer: Optimizer, state: dict[str, Any]) -> None:
    """Load ``state``, and give each moment the memory layout of its parameter.

    Files hold contiguous tensors.  Fused optimizers walk through memory without a look at strides, so a moment that
    lies otherwise than its (channels-last, say) parameter would be added to the wrong weights, silently.
    """
    optimizer.load_state_dict(state)
    for parameter, moments in optimizer.state.items():
        for name, value in moments.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape and value.stride() != parameter.stride():
                moments[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
