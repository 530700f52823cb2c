"""One HTML page on any number of runs: it holds all that it shows, and asks nobody for anything.

The page has no script, and a policy of its own forbids every request.  It reads on a phone, on paper, in light
and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from hecka.data.catalogue import spaced
from hecka.report.markup import Markup, element, joined
from hecka.report.page_examples import examples
from hecka.report.page_pictures import entropies, reliabilities, roc_curves, similarities, trainings
from hecka.report.page_tables import detection_table, score_table, settings_tables
from hecka.report.reported_run import ReportedRun

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
LONG = 80  # characters of a note


class Section(NamedTuple):
    """A chapter of the page: how the list of contents calls it, its question, what to see, and what there is."""

    name: str
    question: str
    lead: str
    content: Markup


def page(runs: Sequence[ReportedRun]) -> str:
    """The whole page, as text."""
    title = f"hecka report: {runs[0].name}" if len(runs) == 1 else f"hecka report: {len(runs)} runs"
    chapters = [each for each in sections(runs) if each.content]
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}),
        element("title", None, title),
        element("style", None, Markup(files("hecka.report").joinpath("page.css").read_text(encoding="utf-8"))),
    )
    contents = (element("a", {"href": f"#{_anchor(each.name)}"}, each.name) for each in chapters)
    body = element(
        "body",
        None,
        element(
            "header", None, element("h1", None, title), _summary(runs), _notes(runs), element("nav", None, *contents)
        ),
        element("main", None, *(_chapter(each) for each in chapters)),
        element("footer", None, _footer(runs)),
    )
    return f"<!DOCTYPE html>\n{element('html', {'lang': 'en'}, head, body)}\n"


def sections(runs: Sequence[ReportedRun]) -> list[Section]:
    """All chapters; those without content have nothing to show for these runs."""
    return [
        Section(
            "Scores",
            "How good are its answers?",
            "On the test set of the data that it was trained for. An arrow points to the better side.",
            score_table(runs),
        ),
        Section(
            "Outliers",
            "Does it notice what it has never seen?",
            "Each score ranks all images; a good one puts outliers above the test set.",
            detection_table(runs),
        ),
        Section(
            "Entropy",
            "How unsure is it, and of what?",
            "What it knows should lie on the left, at no doubt; what it has never seen on the right, where it would be "
            "guessing. Heights are on a square-root scale; dotted lines are medians.",
            entropies(runs),
        ),
        Section(
            "Detection",
            "How many outliers are found, at what price?",
            "Each line goes through all thresholds: to the right more false alarms, upwards more outliers found. The "
            "closer to the top left corner, the better.",
            roc_curves(runs),
        ),
        Section(
            "Calibration",
            "Is 80 % confidence right 80 % of the time?",
            "Bars on the dashed line are right; below it, answers are surer than they should be. The outline says "
            "how many of all examples are that confident.",
            reliabilities(runs),
        ),
        Section(
            "Diversity",
            "Do its members see the data differently?",
            "How alike one member's layers (rows) are to another's (columns): linear unbiased CKA, averaged over "
            "pairs. Dark is different, which is what makes members worth having; bright is alike.",
            similarities(runs),
        ),
        Section(
            "Images",
            "What is it sure of, and what puzzles it?",
            "The dozen images with the least and with the most entropy, with the likeliest classes. Sure answers "
            "about outliers are the mistakes to look for.",
            examples(runs),
        ),
        Section("Training", "How did training go?", "By the diary of each run, epoch by epoch.", trainings(runs)),
        Section(
            "Settings", "What exactly was run?", "The configuration that lies beside each run.", settings_tables(runs)
        ),
    ]


def _summary(runs: Sequence[ReportedRun]) -> Markup:
    lines = []
    for run in runs:
        test, found = run.evaluation["inliers"], ", ".join(run.outliers) or "no outliers"
        count, seconds = run.evaluation["members"], run.evaluation["seconds"]["train"]
        took = "" if seconds is None else f" in {_duration(seconds)}"
        how = f"{run.config['device']}; {spaced(run.config['parameters'])} parameters"
        lines.append(
            element(
                "li",
                None,
                element("strong", None, run.name),
                f": {count} {'networks' if count > 1 else 'network'} trained on {run.inliers}{took} ({how}); tested on "
                f"{spaced(test['examples'])} of its images, and on outliers that were never seen: {found}.",
            )
        )
    lead = "A network should be right about what it knows, and unsure of what it does not. This page shows both."
    return joined(element("p", {"class": "lead"}, lead), element("ul", {"class": "runs"}, *lines))


def _notes(runs: Sequence[ReportedRun]) -> Markup | None:
    """What keeps these numbers from being compared with published ones, where everybody sees it; once for all runs.

    Long notes are about single files, and folded away.
    """
    noted: dict[str, list[str]] = {}
    for run in runs:
        for note in run.notes:
            noted.setdefault(note, []).append(run.name)
    if not noted:
        return None
    lines = {note: f"{', '.join(names)}: " if len(names) < len(runs) else "" for note, names in noted.items()}
    items = {note: element("li", None, element("strong", None, of), note) for note, of in lines.items()}
    long = [item for note, item in items.items() if len(note) > LONG]
    short = [item for note, item in items.items() if len(note) <= LONG]
    folded = joined(element("summary", None, f"{len(long)} on the files of the data"), element("ul", None, *long))
    return element(
        "aside",
        {"class": "notes"},
        element("h2", None, "Read these results with care"),
        element("ul", None, *short) if short else None,
        element("details", None, folded) if long else None,
    )


def _chapter(each: Section) -> Markup:
    return element(
        "section",
        {"id": _anchor(each.name)},
        element("h2", None, each.question),
        element("p", {"class": "lead"}, each.lead),
        each.content,
    )


def _footer(runs: Sequence[ReportedRun]) -> str:
    versions = dict.fromkeys(
        ", ".join(f"{name} {version}" for name, version in run.config["versions"].items()) for run in runs
    )
    return f"Written by hecka report from the files of the runs; they were made by {' and by '.join(versions)}."


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _anchor(name: str) -> str:
    return name.lower()
