"""Nested state as JSON and named tensors, without pickle.

State dicts are trees of dicts, lists, tuples, plain values and tensors.  ``pack`` takes the tensors out, each under its
path, and leaves a skeleton that is plain JSON; ``unpack`` is its exact inverse.  Containers are marked by their type,
since JSON knows neither tuples nor keys that are numbers::

    {"step": 3, "betas": (.9, x)}  ->  {"dict": [["step", 3], ["betas", {"tuple": [.9, {"tensor": "betas/1"}]}]]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from hecka.errors import InputError


def pack(tree: Any, path: str = "") -> tuple[Any, dict[str, Tensor]]:
    """The skeleton and the tensors by path.

    >>> import torch
    >>> skeleton, tensors = pack({"a": [1, torch.ones(2)]})
    >>> skeleton, tensors
    ({'dict': [['a', {'list': [1, {'tensor': 'a/1'}]}]]}, {'a/1': tensor([1., 1.])})
    """
    if isinstance(tree, Tensor):
        return {"tensor": path}, {path: tree.detach()}
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree, {}
    if not isinstance(tree, Mapping | list | tuple):
        raise InputError(
            f"checkpoint: expected tensors, numbers, strings and containers of them, got a {type(tree).__name__} "
            f"at {path!r}; whatever is saved has to be made of those"
        )
    items = list(tree.items()) if isinstance(tree, Mapping) else list(enumerate(tree))
    packed: list[Any] = []
    tensors: dict[str, Tensor] = {}
    for key, value in items:
        if not isinstance(key, str | int):
            raise InputError(f"checkpoint: expected keys that are strings or integers, got {key!r} at {path!r}")
        node, found = pack(value, f"{path}/{key}" if path else str(key))
        packed.append([key, node] if isinstance(tree, Mapping) else node)
        if clash := sorted(found.keys() & tensors.keys()):
            raise InputError(
                f"checkpoint: expected keys that give every tensor a path of its own, got {clash[0]!r} twice"
            )
        tensors |= found
    kind = "dict" if isinstance(tree, Mapping) else "list" if isinstance(tree, list) else "tuple"
    return {kind: packed}, tensors


def unpack(skeleton: Any, tensor: Callable[[str], Tensor]) -> Any:
    """The tree again; ``tensor`` gives the tensor of a path.

    >>> import torch
    >>> state = {0: (1.5, "b"), "weights": torch.zeros(1)}
    >>> unpack(*(lambda skeleton, tensors: (skeleton, tensors.__getitem__))(*pack(state)))
    {0: (1.5, 'b'), 'weights': tensor([0.])}
    """
    if not isinstance(skeleton, dict):
        return skeleton
    ((kind, content),) = skeleton.items()
    if kind == "tensor":
        return tensor(content)
    if kind == "dict":
        return {key: unpack(node, tensor) for key, node in content}
    nodes = [unpack(node, tensor) for node in content]
    return tuple(nodes) if kind == "tuple" else nodes
