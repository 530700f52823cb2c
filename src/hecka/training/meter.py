"""What a method reports, summed on the device; the host looks only now and then.

Reading one number of a step makes the host wait for the whole step, and then the device wait for the host.  So each
step adds its scalars to running sums, and notes for each of them the first step at which it was not finite, without
leaving the device.  ``check`` and ``read`` are the only places that wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hecka.errors import InputError, NonFiniteError
from hecka.types import Info

_NEVER = -1  # no step has this number


class Meter:
    """Running means of a report's parts over an epoch, and when each part was first NaN or infinite.

    >>> meter = Meter()
    >>> meter.add(1, {"loss": torch.tensor(2.0)})
    >>> meter.add(2, {"loss": torch.tensor(4.0)})
    >>> meter.read()
    {'loss': 3.0}
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._sums = torch.zeros(0)
        self._first_bad = torch.zeros(0, dtype=torch.int64)
        self._count = 0

    def add(self, step: int, info: Info) -> None:
        """Take in the report of ``step``; nothing waits for the device."""
        names = tuple(info)
        values = torch.stack([part.detach().reshape(()).float() for part in info.values()])
        if not self._names:
            self._names = names
            self._sums = torch.zeros_like(values)
            self._first_bad = torch.full_like(values, _NEVER, dtype=torch.int64)
        elif names != self._names:
            raise InputError(
                f"fit: expected the parts {list(self._names)} in every step's info, got {list(names)} at step {step}; "
                "a method reports the same parts at each step"
            )
        self._sums = self._sums + values  # not in place: a state that was handed out must stay what it was
        self._count += 1
        newly_bad = ~values.isfinite() & (self._first_bad == _NEVER)
        self._first_bad = torch.where(newly_bad, step, self._first_bad)

    def means(self) -> dict[str, Tensor]:
        """The means so far as scalars on the device, to be read later."""
        return dict(zip(self._names, (self._sums / max(self._count, 1)).unbind(), strict=True))

    def read(self) -> dict[str, float]:
        """The means so far as numbers; waits for the device."""
        return dict(zip(self._names, (self._sums / max(self._count, 1)).tolist(), strict=True))

    def check(self, checkpoint: Path | None = None) -> None:
        """Raise where a part has become NaN or infinite; waits for the device."""
        bad = {name: step for name, step in zip(self._names, self._first_bad.tolist(), strict=True) if step != _NEVER}
        if not bad:
            return
        first = min(bad.values())
        parts = ", ".join(repr(name) for name, step in bad.items() if step == first)
        kept = f"; the last good checkpoint remains at {checkpoint}" if checkpoint and checkpoint.exists() else ""
        raise NonFiniteError(
            f"fit: expected finite numbers, got NaN or infinity in {parts} at step {first}; lower the learning rate, "
            f"clip the gradients (clip=1.0), and see whether the inputs are finite and scaled{kept}"
        )

    def restart(self) -> None:
        """Begin the next epoch's means; what was ever not finite stays noted."""
        self._sums = torch.zeros_like(self._sums)
        self._count = 0

    def state_dict(self) -> dict[str, Any]:
        """Names, sums and count of the epoch so far."""
        return {"names": self._names, "sums": self._sums, "count": self._count}

    def load_state_dict(self, state: dict[str, Any], device: torch.device) -> None:
        """Go on from what ``state_dict`` gave."""
        self._names, self._count = state["names"], state["count"]
        self._sums = state["sums"].to(device)
        self._first_bad = torch.full_like(self._sums, _NEVER, dtype=torch.int64)
