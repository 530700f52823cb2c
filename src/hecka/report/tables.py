"""Numbers as text: a mean with its spread over seeds, and rows as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev


def with_spread(values: Sequence[float], digits: int = 3) -> str:
    """The mean and, for more than one value, the standard deviation.

    >>> with_spread([0.5]), with_spread([0.4, 0.6], digits=2)
    ('0.500', '0.50 ± 0.14')
    """
    text = f"{mean(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ± {stdev(values):.{digits}f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right.

    >>> print(markdown(["method", "accuracy"], [["ensemble", "1.000"]]))
    | method   | accuracy |
    | :------- | -------: |
    | ensemble |    1.000 |
    """
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = [":" + "-" * (width - 1) if not column else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    return "\n".join(line(row) for row in (header, rule, *rows))
