"""Whole tensors on one device, handed out in batches: no workers, no copies that nobody needs.

A data set that fits in memory needs no loader processes.  One permutation an epoch, drawn from a generator of the
object's own, and one ``index_select`` a batch are all there is; a batch that holds the whole set is the set itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch import Tensor

from hecka.errors import InputError
from hecka.types import Batch

Transform: TypeAlias = Callable[[Tensor, torch.Generator], Tensor]
"""Inputs (B, ...) as the networks are to see them; chance comes from the generator alone."""


class Batches:
    """Iterates over ``inputs`` (N, ...) and ``targets`` (N, ...) in batches; every pass is one epoch.

    Both are checked once, here: one target an example, at least one example, nothing infinite or NaN.

    Args:
        inputs: (N, ...).
        targets: (N,) class indices or (N, ...) values.
        batch_size: examples a batch; the whole set when None.
        seed: of the order; or a generator to draw it from.  ``generator`` is the only thing that changes from epoch to
            epoch: its state is all that a resumed run has to restore.
        shuffle: a new order every epoch.  A batch of the whole set is left in order: no mean over it would differ.
        drop_last: leave out a last batch that is smaller than the others.
        device: where the tensors live; where ``inputs`` are when None.
        transform: applied to the inputs of every batch, with ``generator`` to draw from: augmentation, whitening.

    >>> batches = Batches(torch.arange(10.0)[:, None], torch.arange(10), batch_size=4)
    >>> [len(batch.inputs) for batch in batches], len(batches)
    ([4, 4, 2], 3)
    """

    def __init__(
        self,
        inputs: Tensor,
        targets: Tensor,
        batch_size: int | None = None,
        *,
        seed: int | torch.Generator = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        device: torch.device | str | None = None,
        transform: Transform | None = None,
    ) -> None:
        if inputs.dim() == 0 or targets.dim() == 0 or len(inputs) != len(targets) or len(inputs) == 0:
            raise InputError(
                "Batches: expected one target for each of at least 1 example, "
                f"got inputs {tuple(inputs.shape)} and targets {tuple(targets.shape)}"
            )
        if batch_size is not None and batch_size < 1:
            raise InputError(f"Batches: expected a batch_size of at least 1, got {batch_size}; None takes all")
        if drop_last and batch_size is not None and batch_size > len(inputs):
            raise InputError(
                f"Batches: expected at most {len(inputs)} examples a batch, all there are, got batch_size={batch_size} "
                "with drop_last=True, which leaves nothing; use a smaller batch"
            )
        check_finite("Batches: inputs", inputs)
        check_finite("Batches: targets", targets)
        device = inputs.device if device is None else torch.device(device)
        self.inputs = inputs.to(device)
        self.targets = targets.to(device)
        self.batch_size = len(inputs) if batch_size is None else min(batch_size, len(inputs))
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.transform = transform
        self.generator = seed if isinstance(seed, torch.Generator) else torch.Generator(device).manual_seed(seed)

    def __len__(self) -> int:
        """Batches an epoch."""
        full, rest = divmod(len(self.inputs), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Batch]:
        total, size = len(self.inputs), self.batch_size
        if size == total:
            yield self._batch(self.inputs, self.targets)
            return
        starts = range(0, len(self) * size, size)
        if not self.shuffle:
            for start in starts:
                yield self._batch(self.inputs[start : start + size], self.targets[start : start + size])
            return
        order = torch.randperm(total, generator=self.generator, device=self.generator.device)
        order = order.to(self.inputs.device)
        for start in starts:
            rows = order[start : start + size]
            yield self._batch(self.inputs.index_select(0, rows), self.targets.index_select(0, rows))

    def _batch(self, inputs: Tensor, targets: Tensor) -> Batch:
        return Batch(inputs if self.transform is None else self.transform(inputs, self.generator), targets)

    def __repr__(self) -> str:
        return (
            f"Batches({len(self.inputs)} x {tuple(self.inputs.shape[1:])}, batch_size={self.batch_size}, "
            f"seed={self.generator.initial_seed()}, shuffle={self.shuffle}, drop_last={self.drop_last}"
            + ("" if self.transform is None else f", transform={self.transform!r}")
            + ")"
        )


def check_finite(what: str, values: Tensor) -> None:
    """Refuse NaN and infinities, and say how many there are and where the first one is.

    >>> check_finite("x", torch.tensor([[1.0, 2.0], [3.0, float("nan")]]))
    Traceback (most recent call last):
    ...
    hecka.errors.InputError: x: expected finite numbers, 1 of 4 are not (the first at [1, 1]); mend or drop that example
    """
    if not (values.is_floating_point() or values.is_complex()):
        return
    finite = values.isfinite()
    if bool(finite.all()):
        return
    where = (~finite).nonzero()
    some = "that example" if len(where) == 1 else "those examples"
    raise InputError(
        f"{what}: expected finite numbers, {len(where)} of {values.numel()} are not "
        f"(the first at {where[0].tolist()}); mend or drop {some}"
    )
