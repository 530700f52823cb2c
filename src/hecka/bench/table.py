"""``hecka bench``: what things cost, as ratios within one interleaved run, and the targets they are held to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from hecka.bench.comparison import Comparison, Measured
from hecka.bench.comparisons import COMPARISONS
from hecka.errors import InputError, nearest
from hecka.report.tables import markdown
from hecka.training.allocator import keep_freed_memory


@dataclass(frozen=True)
class Line:
    """One comparison with what was measured, or the reason why it could not be."""

    comparison: Comparison
    measured: Measured | None = None
    failure: str | None = None

    def cells(self, memory: bool) -> list[str]:
        """The line as text; with peak memory in MiB where the table has it."""
        row, result = self.comparison, self.measured
        if result is None:
            return [row.step, row.against, *["-"] * 2, f"failed: {self.failure}", "-", _digits(row.target), "-"] + (
                ["-"] * 2 if memory else []
            )
        low, high = result.middle_half
        cells = [
            row.step,
            row.against,
            f"{result.ours:.1f} {result.unit}",
            f"{result.theirs:.1f} {result.unit}",
            _digits(result.ratio),
            f"{_digits(low)} to {_digits(high)}",
            _digits(row.target),
            "yes" if result.ratio <= row.target else "no",
        ]
        peaks = result.peaks or (None, None)
        return cells + (["-" if peak is None else f"{peak:.1f}" for peak in peaks] if memory else [])

    def record(self) -> dict[str, object]:
        """The line as plain numbers."""
        row, result = self.comparison, self.measured
        named = {"name": row.name, "step": row.step, "against": row.against, "target": row.target}
        if result is None:
            return named | {"failed": self.failure}
        return named | asdict(result) | {"ratio": result.ratio, "met": result.ratio <= row.target}


HEADER = ["step", "against", "hecka", "other", "ratio", "middle half", "target", "met"]


def bench(
    repeats: int = 15,
    device: str = "cpu",
    only: Sequence[str] = (),
    out: Path | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> str:
    """All comparisons, or those called ``only``, as a Markdown table under a line that names the machine.

    Args:
        repeats: timed rounds; more where a round takes no time.
        device: where to run.
        only: names of comparisons; all when empty, without those that do not run on the device.
        out: file for the same as JSON, with the ratio of every round.
        tell: gets a line as soon as a comparison is done.
    """
    if repeats < 1:
        raise InputError(f"bench: expected at least 1 round, got {repeats}")
    where = torch.device(device)
    chosen = choose(only, where)
    keep_freed_memory()  # as fit does
    start = time.perf_counter()
    lines = []
    for each in chosen:
        lines.append(_measure(each, repeats, where))
        tell(f"{each.name}: {lines[-1].cells(memory=False)[4]} (target {_digits(each.target)})")
    memory = where.type == "cuda"
    machine = ", ".join(
        [
            torch.cuda.get_device_name(where) if memory else f"{device}, {torch.get_num_threads()} threads",
            f"torch {torch.__version__}",
            f"medians of at least {repeats} rounds",
            f"{time.perf_counter() - start:.0f} s in all",
        ]
    )
    if out is not None:
        content = {"format": 1, "machine": machine, "rows": [line.record() for line in lines]}
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    header = HEADER + (["MiB", "MiB of the other"] if memory else [])
    return f"{machine}\n\n{markdown(header, [line.cells(memory) for line in lines])}"


def choose(only: Sequence[str], device: torch.device) -> list[Comparison]:
    """The comparisons with these names, in their order; all that run on ``device`` when there are no names."""
    known = {each.name: each for each in COMPARISONS}
    for name in only:
        if name not in known:
            raise InputError(f"bench: no comparison is called {name!r}; {nearest(name, known)}")
    if only:
        return [known[name] for name in known if name in only]
    places = {None, "host" if device.type == "cpu" else device.type}
    return [each for each in COMPARISONS if each.only_on in places]


def _measure(comparison: Comparison, repeats: int, device: torch.device) -> Line:
    """One line; a comparison that cannot run on this machine must not cost the others their numbers."""
    try:
        return Line(comparison, comparison.measure(repeats, device))
    except Exception as error:
        return Line(comparison, failure=f"{type(error).__name__}: {' '.join(str(error).split())[:80]}")


def _digits(ratio: float) -> str:
    """Two digits after the point, or two that count.

    >>> _digits(1.118), _digits(0.0312)
    ('1.12', '0.031')
    """
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
