"""Whatever a user brings as data, as checked batches on one device.

Tensors become ``Batches``; a ``Batches`` stays; any other iterable, such as a DataLoader, has to give pairs
(inputs, targets) or ``Batch``, and to start anew at every ``iter``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

from hecka.data.batches import Batches, check_finite
from hecka.errors import InputError
from hecka.types import Batch

Data: TypeAlias = tuple[Tensor, Tensor] | Batches | Iterable[Any]


class Feed:
    """One epoch of ``Batch`` on ``device`` at every iteration.

    >>> feed = Feed([(torch.zeros(4, 2), torch.zeros(4))], "cpu")
    >>> len(feed), next(iter(feed)).inputs.shape
    (1, torch.Size([4, 2]))
    """

    def __init__(
        self,
        data: Data,
        device: torch.device | str,
        batch_size: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        if isinstance(data, tuple | list) and len(data) == 2 and all(isinstance(each, Tensor) for each in data):
            data = Batches(data[0], data[1], batch_size, seed=seed, shuffle=shuffle, device=device)
        elif batch_size is not None:
            raise InputError(
                f"fit: expected batch_size only with data=(inputs, targets), got it with a {type(data).__name__}, "
                "which makes its own batches; set the size there"
            )
        elif isinstance(data, Iterator) or not isinstance(data, Iterable):
            remedy = (
                "an iterator lasts one epoch, pass a list" if isinstance(data, Iterator) else "wrap a Dataset in one"
            )
            raise InputError(
                "fit: expected data that can be iterated over once an epoch: (inputs, targets), Batches or a "
                f"DataLoader, got a {type(data).__name__}; {remedy}"
            )
        self.data = data
        self.device = device

    def __iter__(self) -> Iterator[Batch]:
        for item in self.data:
            batch = item if isinstance(self.data, Batches) and isinstance(item, Batch) else _checked(item)
            yield batch.to(self.device)

    def __len__(self) -> int:
        """Batches an epoch; 0 where nobody knows."""
        try:
            return len(self.data)  # type: ignore[arg-type]
        except TypeError:  # an iterable without a length
            return 0

    def __repr__(self) -> str:
        if isinstance(self.data, Batches):
            return repr(self.data)
        size = getattr(self.data, "batch_size", None)
        return f"{type(self.data).__name__}({len(self)} batches, batch_size={size})"

    def generators(self) -> dict[str, torch.Generator]:
        """The generators that the order comes from: those of the data, and of a DataLoader's samplers.

        A loader without any draws from torch's global one.
        """
        owners = {
            "data": self.data,
            "sampler": getattr(self.data, "sampler", None),
            "batch_sampler": getattr(getattr(self.data, "batch_sampler", None), "sampler", None),
        }
        found = {name: getattr(owner, "generator", None) for name, owner in owners.items()}
        return {name: each for name, each in found.items() if isinstance(each, torch.Generator)}


def _checked(item: Any) -> Batch:
    """A ``Batch`` whose tensors, while they are still on the host, are finite and of one length."""
    if isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(each, Tensor) for each in item):
        item = Batch(*item)
    if not isinstance(item, Batch):
        raise InputError(
            f"fit: expected data to give pairs of tensors (inputs, targets) or Batch, got {_kind(item)}; "
            "wrap a Dataset in a DataLoader, and arrays in torch.as_tensor"
        )
    if len(item.inputs) != len(item.targets):
        raise InputError(
            f"fit: expected one target an example, got inputs {tuple(item.inputs.shape)} "
            f"and targets {tuple(item.targets.shape)}"
        )
    for name in ("inputs", "targets", "outliers"):
        values = getattr(item, name)
        if values is not None and values.device.type == "cpu":  # a look at another device would make it wait
            check_finite(f"fit: {name} of a batch", values)
    return item


def _kind(item: object) -> str:
    if isinstance(item, tuple | list):
        return f"{type(item).__name__} of ({', '.join(type(each).__name__ for each in item)})"
    return type(item).__name__
