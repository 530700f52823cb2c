"""A table as files: Markdown and LaTeX to read, CSV and JSON to compute with, the paper's numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hecka.experiments.published import Number
from hecka.experiments.table_numbers import Column, RowResult, columns
from hecka.experiments.table_order import Agreement, agreements
from hecka.experiments.table_rows import TableSpec
from hecka.report.tables import comma_separated, latex, markdown, standard_error, with_error

PAPER = "· paper"
NONE = "-"
INLINE = 32  # characters up to which a note stands in its row; a longer one stands below, under a number
STAR = "*: outliers found by the density of features instead of the entropy."
SEEDS = f'Means ± standard errors over seeds; "{PAPER}": what the paper printed.'
AUROC = "AUROC with the larger score for outliers: PE is the entropy of the mean answer, MI the mutual information."


def write(out: Path, spec: TableSpec, results: Sequence[RowResult], facts: dict[str, Any]) -> str:
    """Write table.md, .csv, .tex and .json into ``out`` and return the Markdown; ``facts`` go into the JSON."""
    out.mkdir(parents=True, exist_ok=True)
    order = agreements(columns(spec), results, spec.published)
    text = as_markdown(spec, results, order)
    content = {"format": 1, "table": spec.name, "title": spec.title, **facts, "rows": as_rows(spec, results)}
    (out / "table.md").write_text(text + "\n", encoding="utf-8")
    (out / "table.csv").write_text(as_csv(spec, results), encoding="utf-8")
    (out / "table.tex").write_text(as_latex(spec, results) + "\n", encoding="utf-8")
    (out / "table.json").write_text(
        json.dumps({**content, "order": [asdict(each) for each in order]}, indent=2) + "\n", encoding="utf-8"
    )
    return text


def as_markdown(spec: TableSpec, results: Sequence[RowResult], order: Sequence[Agreement]) -> str:
    """Title, table, what its marks mean, what failed, and how far its order is the paper's."""
    header = ["method", *(column.heading for column in columns(spec)), "notes"]
    notes = Footnotes()
    rows = _lines(spec, results, notes)
    paragraphs = [f"# {spec.title}", markdown(header, rows), "\n".join(_explanations(spec))]
    if any("*" in cell for row in rows for cell in row):
        paragraphs.append(STAR)
    failures = [f"- {result.row.name}: {error}" for result in results for error in result.errors]
    if failures:
        paragraphs.append("\n".join(["Failed:", "", *failures]))
    paragraphs += [
        "\n".join(f"- {line}" for line in lines)
        for lines in (notes.legend(), [each.sentence for each in order])
        if lines
    ]
    return "\n\n".join(paragraphs)


def as_latex(spec: TableSpec, results: Sequence[RowResult]) -> str:
    """The same table for a paper; its caption holds the notes."""
    notes = Footnotes()
    header = ["Method", *(column.heading for column in columns(spec)), "Notes"]
    rows = _lines(spec, results, notes)
    return latex(header, rows, " ".join([f"{spec.title}.", *_explanations(spec), STAR, *notes.legend()]))


def as_csv(spec: TableSpec, results: Sequence[RowResult]) -> str:
    """One line a method with mean, standard error and the paper's number of every column, empty where there is none."""
    header = ["method", "recipe", "seeds"]
    for column in columns(spec):
        header += [column.key, f"{column.key} error", f"{column.key} paper", f"{column.key} paper error"]
    lines: list[list[object]] = []
    for result in results:
        line: list[object] = [result.row.name, result.row.recipe, len(result.evaluations)]
        for column in columns(spec):
            line += [result.mean(column.key), standard_error(result.values(column.key)), *_paper(spec, result, column)]
        lines.append(["" if cell is None else cell for cell in [*line, "; ".join(_notes(result))]])
    return comma_separated([*header, "notes"], lines)


def as_rows(spec: TableSpec, results: Sequence[RowResult]) -> list[dict[str, Any]]:
    """Rows for JSON: every seed's number, mean, standard error and the paper's."""
    return [
        {
            "name": result.row.name,
            "recipe": result.row.recipe,
            "seeds": [evaluation["seed"] for evaluation in result.evaluations],
            "by_density": result.by_density,
            "columns": {
                column.key: {
                    "values": result.values(column.key),
                    "mean": result.mean(column.key),
                    "standard_error": standard_error(result.values(column.key)),
                    **dict(zip(("paper", "paper_error"), _paper(spec, result, column), strict=True)),
                }
                for column in columns(spec)
            },
            "notes": list(result.notes),
            "errors": list(result.errors),
        }
        for result in results
    ]


class Footnotes:
    """Long notes, numbered in the order in which they come up.

    >>> notes = Footnotes()
    >>> notes.cell(["budget 0.1", "a note that is far too long to stand in a row"])
    'budget 0.1; [1]'
    >>> notes.legend()
    ['[1] a note that is far too long to stand in a row']
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def cell(self, notes: Sequence[str]) -> str:
        """What stands in a row."""
        return "; ".join(note if len(note) <= INLINE else f"[{self._number(note)}]" for note in notes)

    def legend(self) -> list[str]:
        """What the numbers mean."""
        return [f"[{number}] {note}" for note, number in self._numbers.items()]

    def _number(self, note: str) -> int:
        return self._numbers.setdefault(note, len(self._numbers) + 1)


def _explanations(spec: TableSpec) -> list[str]:
    return [SEEDS, *([AUROC] if any("/" in column.key for column in columns(spec)) else []), *spec.notes]


def _lines(spec: TableSpec, results: Sequence[RowResult], notes: Footnotes) -> list[list[str]]:
    lines = []
    for result in results:
        ours = [_cell(result, column) for column in columns(spec)]
        lines.append([result.row.name, *ours, notes.cell(_notes(result))])
        if result.row.name in spec.published:
            printed = spec.published[result.row.name]
            theirs = [printed[column.key].text if column.key in printed else NONE for column in columns(spec)]
            lines.append([PAPER, *theirs, ""])
    return lines


def _notes(result: RowResult) -> list[str]:
    return [*result.notes, *(["failed"] if result.errors else []), *([] if result.evaluations else ["no result"])]


def _cell(result: RowResult, column: Column) -> str:
    values = result.values(column.key)
    if not values:
        return NONE
    star = "*" if result.by_density and column.key.endswith("/entropy") else ""
    return with_error(values, column.digits) + star


def _paper(spec: TableSpec, result: RowResult, column: Column) -> tuple[float | None, float | None]:
    number: Number | None = spec.published.get(result.row.name, {}).get(column.key)
    return (None, None) if number is None else (number.value, number.error)
