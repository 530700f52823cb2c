"""Taps: which layers' outputs to record, by module name or pattern, and the hooks that record them.

A pattern is a dotted module name in which ``*`` stands for anything between two dots and ``**`` for anything at
all: ``"layers.*"`` is every direct child of ``layers``, ``"**.conv2"`` every ``conv2`` at any depth.

As with any forward hook, what the next module does in place shows in the record: a convolution before a
``ReLU(inplace=True)`` is recorded after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch import Tensor, nn

from hecka.errors import InputError, nearest


def resolve(net: nn.Module, patterns: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the modules of ``net`` that ``patterns`` stand for, in the order of the patterns, then of the modules.

    ``None`` stands for every layer that owns a matrix of weights: all of a network's linear maps and convolutions,
    none of its norms; not those whose output is no tensor (recurrent layers, attention).

    >>> net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3))
    >>> resolve(net, ["1", "2"]), resolve(net, None)
    (('1', '2'), ('0', '2'))
    """
    names = [name for name, _ in net.named_modules() if name]
    if patterns is None:
        return tuple(name for name in names if _is_plain_layer(net, name))
    if isinstance(patterns, str):
        raise InputError(f"taps: expected a sequence of module names, got the string {patterns!r}; use [{patterns!r}]")
    found: dict[str, None] = {}
    for pattern in patterns:
        matches = [name for name in names if re.fullmatch(_regex(pattern), name)]
        if not matches:
            raise InputError(f"taps: {pattern!r} matches no module of {type(net).__name__}; {nearest(pattern, names)}")
        found.update(dict.fromkeys(matches))
    return tuple(found)


def _is_plain_layer(net: nn.Module, name: str) -> bool:
    module, parent = net.get_submodule(name), net.get_submodule(name.rpartition(".")[0])
    # Attention reads the weights of its own sub-modules without calling them; both kinds return tuples.
    if isinstance(module, nn.MultiheadAttention | nn.RNNBase) or isinstance(parent, nn.MultiheadAttention):
        return False
    return any(parameter.dim() >= 2 for parameter in module.parameters(recurse=False))


def _regex(pattern: str) -> str:
    wildcards = {"**": ".*", "*": "[^.]*"}
    return "".join(wildcards.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", pattern))


class Recorder:
    """Keeps what the tapped modules of one network put out during one forward pass.

    A module that runs more than once in a pass (shared weights) is recorded each time: as ``name``, ``name#2``, ...
    """

    def __init__(self, net: nn.Module, taps: tuple[str, ...]) -> None:
        self.taps = taps
        self._seen: dict[str, Tensor] = {}
        for name in taps:
            net.get_submodule(name).register_forward_hook(RecordingHook(self, name))

    def note(self, name: str, output: object) -> None:
        """Record ``output`` of the module ``name``."""
        if not isinstance(output, Tensor):
            raise InputError(
                f"taps: expected module {name!r} to put out a tensor, got {type(output).__name__}; "
                "tap a module inside or after it"
            )
        runs = 1
        key = name
        while key in self._seen:
            runs += 1
            key = f"{name}#{runs}"
        self._seen[key] = output

    def take(self) -> dict[str, Tensor]:
        """What was recorded since the last call, in the order of the taps; empties the record."""
        seen, self._seen = self._seen, {}
        silent = [name for name in self.taps if name not in seen]
        if silent:
            raise InputError(
                f"taps: {', '.join(map(repr, silent))} did not run in this forward pass; "
                "tap modules that the network's forward calls"
            )
        order = {name: position for position, name in enumerate(self.taps)}
        return dict(sorted(seen.items(), key=lambda item: order[item[0].partition("#")[0]]))

    def clear(self) -> None:
        """Forget an unfinished pass."""
        self._seen = {}


class RecordingHook:
    """A forward hook that survives ``copy.deepcopy`` (a closure would go on writing to the old recorder)."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.recorder = recorder
        self.name = name

    def __call__(self, module: nn.Module, args: tuple[object, ...], output: object) -> None:
        """Pass ``output`` on."""
        self.recorder.note(self.name, output)
