"""One network becomes many: the weights of all members, stacked along a first axis.

``Ensemble(make_net, members=M)`` calls the factory M times and stacks what it made, so that parameter ``w`` of shape
(...) becomes one (M, ...) tensor, and so does every buffer (BatchNorm keeps statistics per member).  The network's own
code then runs with all members' weights at once (``execution``).  The stacked tensors ARE the parameters of this
module: ``parameters()``, ``state_dict()``, ``to()``, ``train()`` and any optimizer work as on any ``nn.Module``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import combinations
from typing import Self

import torch
from torch import Tensor, nn

from hecka.errors import InputError
from hecka.members.evaluation import batches, evaluation_mode
from hecka.members.execution import Execution, Mode, remove_hooks, shared_names
from hecka.members.taps import resolve
from hecka.scores.predictive import Prediction
from hecka.types import NetFactory, Output, Params


class Ensemble(nn.Module):
    """M members of one architecture.

    Args:
        make_net: makes one freshly initialised member; called ``members`` times.
        members: how many, M.
        taps: names or patterns of the modules whose outputs are recorded (see ``hecka.members.taps``); all layers that
            own a weight matrix when None, nothing when empty.
        seed: seeds the factory's random draws; the caller's generator is left as it was.
        execution: ``"vmap"``, ``"loop"`` or ``"auto"``: equal results, different speed.
        channels_last: run images in channels-last memory, which is faster where members run in a loop, and changes
            nothing where they are vmapped; needs a network that does not call ``.view`` on feature maps.  Left out
            where a strided convolution of kernel 1 has fewer than 16 channels: torch would end the process there.

    >>> ensemble = Ensemble(lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)), members=5, taps=["1"])
    >>> logits, features = ensemble(torch.randn(4, 2))
    >>> logits.shape, features["1"].shape
    (torch.Size([5, 4, 3]), torch.Size([5, 4, 8]))
    >>> ensemble.predict(torch.randn(7, 2)).entropy.shape
    torch.Size([7])
    """

    shares_weights: bool = False

    def __init__(
        self,
        make_net: NetFactory,
        members: int,
        *,
        taps: Sequence[str] | None = None,
        seed: int = 0,
        execution: Mode = "auto",
        channels_last: bool = False,
    ) -> None:
        super().__init__()
        if members < 1:
            raise InputError(f"Ensemble: expected at least 1 member, got {members}")
        if isinstance(make_net, nn.Module) or not callable(make_net):
            raise InputError(
                f"Ensemble: expected a function that makes a fresh network at every call, got a "
                f"{type(make_net).__name__}; pass lambda: Net(...), or networks that exist to Ensemble.from_modules"
            )
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(seed)
            nets = [make_net() for _ in range(members)]
        for net in nets:
            if not isinstance(net, nn.Module):
                raise InputError(f"Ensemble: expected make_net to return an nn.Module, got a {type(net).__name__}")
        _check_alike(nets)
        _check_different(nets)
        self.members = members
        self.taps = resolve(nets[0], taps)
        self.net = _stack(nets)
        self._execution = Execution(self.net, self.taps, execution, channels_last)

    @classmethod
    def from_modules(
        cls,
        modules: Sequence[nn.Module],
        *,
        taps: Sequence[str] | None = None,
        execution: Mode = "auto",
        channels_last: bool = False,
    ) -> Self:
        """An ensemble with the weights of networks that exist already; the modules themselves stay as they are.

        >>> nets = [nn.Linear(2, 3) for _ in range(4)]
        >>> bool((Ensemble.from_modules(nets).params()["weight"][2] == nets[2].weight).all())
        True
        """
        return cls(
            iter(modules).__next__,
            len(modules),
            taps=taps,
            execution=execution,
            channels_last=channels_last,
        )

    def params(self, generator: torch.Generator | None = None) -> Params:
        """The stacked trainable parameters, (M, ...) each, by their names in the network."""
        return {name: tensor for name, tensor in self.net.named_parameters() if tensor.requires_grad}

    def run(self, params: Params, inputs: Tensor) -> Output:
        """Every member on the same ``inputs`` (B, ...), with the weights ``params``."""
        constants = {name: tensor for name, tensor in self.net.named_parameters() if name not in params}
        return self._execution(params, constants | dict(self.net.named_buffers()), inputs)

    def forward(self, inputs: Tensor) -> Output:
        """Logits (M, B, ...) and recorded features of every member on the same ``inputs`` (B, ...)."""
        return self.run(self.params(), inputs)

    def pull_back(self, params: Params, direction: Params) -> None:
        """Add ``direction`` to the parameters' ``.grad``."""
        torch.autograd.backward(list(params.values()), [direction[name] for name in params])

    @torch.no_grad()
    def predict(self, inputs: Tensor, batch_size: int = 1024) -> Prediction:
        """What the members say of ``inputs``, in evaluation mode, batch after batch, without gradient."""
        device = next(self.parameters()).device
        with evaluation_mode(self):
            logits = [self(batch.to(device)).logits for batch in batches(inputs, batch_size)]
        return Prediction(torch.cat(logits, dim=1))

    def extra_repr(self) -> str:
        """What ``repr`` says beside the network, whose tensors all hold ``members`` networks' numbers."""
        return f"members={self.members}, taps={list(self.taps)}, execution={self._execution.mode!r}"

    def member(self, index: int) -> nn.Module:
        """Member ``index`` as an ordinary module with weights of its own."""
        if not -self.members <= index < self.members:
            raise InputError(f"Ensemble.member: expected an index below {self.members}, got {index}")
        # deepcopy asks its memo first, so a stacked tensor is never copied whole: it finds the member's slice there.
        memo: dict[int, object] = {}
        for tensor in (*self.net.parameters(), *self.net.buffers()):
            own = tensor.detach()[index].clone()
            memo[id(tensor)] = nn.Parameter(own, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else own
        net = copy.deepcopy(self.net, memo)
        remove_hooks(net)
        return net


def _stack(nets: Sequence[nn.Module]) -> nn.Module:
    """A copy of the first network whose every parameter and buffer holds those of all networks, (M, ...)."""
    net = copy.deepcopy(nets[0])
    stacked: dict[str, Tensor] = {}
    tensors = [dict((*each.named_parameters(), *each.named_buffers())) for each in nets]
    for name, first in tensors[0].items():
        rows = torch.stack([each[name].detach() for each in tensors])
        stacked[name] = nn.Parameter(rows, first.requires_grad) if isinstance(first, nn.Parameter) else rows
    for alias, name in shared_names(net).items():
        path, _, attribute = alias.rpartition(".")
        module = net.get_submodule(path)
        own = module._parameters if attribute in module._parameters else module._buffers
        own[attribute] = stacked[name]  # type: ignore[assignment]
    return net


def _check_alike(nets: Sequence[nn.Module]) -> None:
    """Members must agree in the names and shapes of their tensors, and have some to train."""
    shapes = [
        {name: tuple(tensor.shape) for name, tensor in (*net.named_parameters(), *net.named_buffers())} for net in nets
    ]
    if not any(parameter.requires_grad for parameter in nets[0].parameters()):
        raise InputError(
            f"Ensemble: {type(nets[0]).__name__} has no trainable parameters; there is nothing for members to differ in"
        )
    for index, other in enumerate(shapes):
        odd = sorted(name for name in shapes[0].keys() | other.keys() if shapes[0].get(name) != other.get(name))
        if odd:
            name = odd[0]
            raise InputError(
                f"Ensemble: members need one architecture; {name!r} is {shapes[0].get(name, 'absent')} in member 0 "
                f"and {other.get(name, 'absent')} in member {index}"
            )


def _check_different(nets: Sequence[nn.Module]) -> None:
    """Two equal members would stay equal for ever: any symmetric repulsion between them is zero."""
    weights = [dict(net.named_parameters()) for net in nets]
    for (one, first), (other, second) in combinations(enumerate(weights), 2):
        if all(torch.equal(first[name], second[name]) for name in first):
            names = list(first)
            raise InputError(
                f"Ensemble: members {one} and {other} came out equal in every tensor "
                f"({', '.join(map(repr, names[:4]))}{', ...' if len(names) > 4 else ''}); "
                "make_net must draw new weights at every call (does it seed, or return one and the same module?)"
            )
