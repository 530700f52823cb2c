"""The images of a page: those that each run is surest of and least sure of, set by set, with what it says of them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hecka.report.markup import Markup, element, joined
from hecka.report.reported_run import INLIERS, ReportedRun, outlier_sets

SIDES = {"least": "surest of", "most": "least sure of"}
LARGEST = 128  # pixels a side: twice what is shown, for fine screens
SECOND = 0.01  # a second guess below this share says nothing


def examples(runs: Sequence[ReportedRun]) -> Markup:
    """For every set, and every run: two rows of images."""
    parts = []
    for name in [INLIERS, *outlier_sets(runs)]:
        shown = [run for run in runs if f"{name}/most/images" in run.arrays]
        sets = " and ".join(dict.fromkeys(run.inliers for run in shown))
        title = f"{sets}: its own test set" if name == INLIERS else f"{name}: never seen"
        parts.append(element("h3", None, title))
        parts += [_sheet(run, name, side, words) for run in shown for side, words in SIDES.items()]
    return joined(*parts)


def _sheet(run: ReportedRun, name: str, side: str, words: str) -> Markup:
    images, entropy, probs, labels = (
        run.arrays[f"{name}/{side}/{each}"] for each in ("images", "entropy", "probs", "labels")
    )
    classes = [str(each) for each in run.arrays["classes"]]
    cards = [_card(*row, classes) for row in zip(images, probs, labels, strict=True)]
    low, high = (max(float(each), 0.0) for each in (entropy.min(), entropy.max()))  # rounding gives -0.00
    span = f"entropy {low:.2f} to {high:.2f}"
    return element(
        "div",
        {"class": "sheet"},
        element("p", None, element("strong", None, run.name), f" is {words} these ({span}):"),
        element("div", {"class": "cards"}, joined(*cards)),
    )


def _card(image: NDArray[np.uint8], probs: NDArray[np.floating[Any]], label: int, classes: Sequence[str]) -> Markup:
    """An image, up to two guesses, and the truth where there is one and the first guess misses it."""
    first, second = (int(each) for each in np.argsort(-probs, kind="stable")[:2])
    guesses = [_guess(classes[first], probs[first])]
    if probs[second] >= SECOND:
        guesses.append(_guess(classes[second], probs[second]))
    truth = f"is {classes[label]}" if label >= 0 and label != first else ""
    about = ", ".join(filter(None, [*guesses, truth]))
    lines = [element("span", None, guess) for guess in guesses]
    if truth:
        lines.append(element("span", {"class": "wrong"}, truth))
    return element("div", {"class": "card"}, element("img", {"src": data_uri(image), "alt": about}), *lines)


def _guess(name: str, share: float) -> str:
    return f"{name} {100 * share:.0f}\u202f%"


def data_uri(image: NDArray[np.uint8]) -> str:
    """A PNG of the image (C, H, W) that stands in the page itself.

    Other than three channels are shown as their mean, and photographs at the size at which a page needs them.

    >>> data_uri(np.zeros((1, 8, 8), np.uint8))[:22]
    'data:image/png;base64,'
    """
    pixels = image.transpose(1, 2, 0) if len(image) == 3 else image.mean(0).round().astype(np.uint8)
    picture = Image.fromarray(pixels)
    picture.thumbnail((LARGEST, LARGEST))  # smaller ones stay as they are
    stream = io.BytesIO()
    picture.save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()
