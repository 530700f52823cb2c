"""Numbers as text: a mean with its spread over seeds, and rows as a table in Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import sqrt
from statistics import mean, stdev

# What LaTeX would take for a command, and the few other signs that its text fonts lack.
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "\u2212": "$-$",
}


def with_spread(values: Sequence[float], digits: int = 3) -> str:
    """The mean and, for more than one value, the standard deviation.

    >>> with_spread([0.5]), with_spread([0.4, 0.6], digits=2)
    ('0.500', '0.50 ± 0.14')
    """
    text = f"{mean(values):.{digits}f}"
    return text if len(values) == 1 else f"{text} ± {stdev(values):.{digits}f}"


def with_error(values: Sequence[float], digits: int = 3) -> str:
    """The mean and, for more than one value, its standard error.

    >>> with_error([0.5]), with_error([0.4, 0.6], digits=2)
    ('0.500', '0.50 ± 0.10')
    """
    error = standard_error(values)
    text = f"{mean(values):.{digits}f}"
    return text if error is None else f"{text} ± {error:.{digits}f}"


def standard_error(values: Sequence[float]) -> float | None:
    """Standard deviation of the mean of ``values``; one value says nothing about it.

    >>> round(standard_error([1.0, 2.0, 3.0]), 4), standard_error([1.0])
    (0.5774, None)
    """
    return None if len(values) < 2 else stdev(values) / sqrt(len(values))


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


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A CSV table as spreadsheets and pandas read it.

    >>> print(comma_separated(["method", "accuracy"], [["HE, 5 members", 0.9]]), end="")
    method,accuracy
    "HE, 5 members",0.9
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def latex(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    r"""A LaTeX table in the style of booktabs.

    >>> print(latex(["method", "error"], [["A & B", "1 ± 0.5"]], "Two."))
    \begin{table}
    \caption{Two.}
    \begin{tabular}{lr}
    \toprule
    method & error \\
    \midrule
    A \& B & 1 $\pm$ 0.5 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    head, *body = (rf"{' & '.join(map(escape, row))} \\" for row in (header, *rows))
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape(caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def escape(text: str) -> str:
    r"""Plain text as LaTeX prints it.

    >>> escape("budget_0.1 at 5 %")
    'budget\\_0.1 at 5 \\%'
    """
    return "".join(_LATEX.get(sign, sign) for sign in text)
