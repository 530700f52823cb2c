"""A chart as SVG inside a page: two axes, and marks between them.

Colours are classes (``s0``, ``s1``, ... for series) that the page's style fills in, so one chart fits light, dark and
paper; text stays text.  The size is that of a phone's column, in which every letter can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hecka.report.markup import Markup, element, joined

WIDTH, HEIGHT = 340, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 8, 38
SERIES = 8  # colours in the page's style; further series repeat them with dashes

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high``, marked at ``ticks`` by a text each.

    ``root`` spaces values by their square root: a peak of nearly all and a tail of a hundredth both stay visible.
    """

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    root: bool = False

    def share(self, value: float) -> float:
        """Where ``value`` lies along the axis, from 0 to 1.

        >>> Axis("", 0.0, 4.0, (), root=True).share(1.0)
        0.5
        """
        along = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return math.sqrt(along) if self.root else along


SHARES = ((0.0, "0"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %"))


def shares_axis(label: str) -> Axis:
    """From none to all."""
    return Axis(label, 0.0, 1.0, SHARES)


def round_axis(label: str, values: Iterable[float]) -> Axis:
    """An axis over all ``values`` whose ends and ticks are round numbers.

    >>> [text for _, text in round_axis("epoch", [1, 57]).ticks]
    ['0', '20', '40', '60']
    """
    known = list(values)
    low, high = min(known), max(known)
    if low == high:
        low, high = (low - 0.5, high + 0.5) if low else (0.0, 1.0)
    rough = (high - low) / 3
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)  # 0.3 / 0.1 is not quite 3
    ticks = [index * step for index in range(first, last + 1)]
    return Axis(label, min(low, ticks[0]), max(high, ticks[-1]), [(tick, f"{tick:.4g}") for tick in ticks])


@dataclass(frozen=True)
class Frame:
    """The rectangle between two axes; methods give marks in it."""

    x: Axis
    y: Axis

    def at(self, x: float, y: float) -> Point:
        """Values to pixels from the top left corner."""
        return (
            LEFT + self.x.share(x) * (WIDTH - LEFT - RIGHT),
            TOP + (1 - self.y.share(y)) * (HEIGHT - TOP - BOTTOM),
        )

    def line(self, points: Sequence[Point], style: str) -> Markup:
        """A line through ``points``; a single one is a dot."""
        places = [self.at(*point) for point in points]
        if len(places) == 1:
            (x, y) = places[0]
            return element("circle", {"class": f"dot {style}", "cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": 3})
        return element("path", {"class": f"line {style}", "d": path(places)})

    def stairs(self, edges: Sequence[float], heights: Sequence[float], style: str) -> Markup:
        """The outline of bars between neighbouring ``edges``, filled down to the axis."""
        points = [(edges[0], self.y.low)]
        for low, high, height in zip(edges[:-1], edges[1:], heights, strict=True):
            points += [(low, height), (high, height)]
        points.append((edges[-1], self.y.low))
        return element("path", {"class": f"area {style}", "d": path([self.at(*point) for point in points])})

    def bar(self, low: float, high: float, height: float, style: str) -> Markup:
        """One bar from ``low`` to ``high``."""
        (left, top), (right, bottom) = self.at(low, height), self.at(high, self.y.low)
        box = {"x": left + 0.5, "y": top, "width": right - left - 1, "height": bottom - top}
        return element("rect", {"class": f"bar {style}", **{name: f"{value:.1f}" for name, value in box.items()}})

    def chart(self, about: str, marks: Sequence[Markup]) -> Markup:
        """The finished picture, ``marks`` in front of the grid; ``about`` is read out to those who cannot see it."""
        return picture(about, WIDTH, HEIGHT, [*self._grid(), *marks])

    def _grid(self) -> list[Markup]:
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        marks = []
        for value, label in self.x.ticks:
            x, _ = self.at(value, self.y.low)
            end = "end" if x > right - 10 else "middle"
            marks += [rule(x, TOP, x, bottom), text(x, bottom + 14, label, end)]
        for value, label in self.y.ticks:
            _, y = self.at(self.x.low, value)
            marks += [rule(LEFT, y, right, y), text(LEFT - 5, y + 4, label, "end")]
        middle = (TOP + bottom) / 2
        turned = {"class": "name", "x": -middle, "y": 11, "text-anchor": "middle", "transform": "rotate(-90)"}
        named = {"class": "name", "x": (LEFT + right) / 2, "y": HEIGHT - 6, "text-anchor": "middle"}
        if self.y.label:
            marks.append(element("text", turned, self.y.label))
        return [*marks, element("text", named, self.x.label)]


def picture(about: str, width: float, height: float, marks: Sequence[Markup]) -> Markup:
    """Marks as a picture that fills its column and keeps its shape."""
    box = {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-label": about}
    return element("svg", box, joined(*marks))


def text(x: float, y: float, words: str, anchor: str, style: str = "tick") -> Markup:
    """Words at a place."""
    return element("text", {"class": style, "x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}, words)


def rule(x1: float, y1: float, x2: float, y2: float) -> Markup:
    """A line of the grid."""
    return element("path", {"class": "rule", "d": path([(x1, y1), (x2, y2)])})


def path(places: Sequence[Point]) -> str:
    """Pixels as the points of an SVG path.

    >>> path([(0, 1), (2.25, 3)])
    'M0.0 1.0L2.2 3.0'
    """
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def series(index: int) -> str:
    """The classes of the series of that number.

    >>> series(1), series(9)
    ('s1', 's1 dashed')
    """
    return f"s{index % SERIES}" + (" dashed" if index >= SERIES else "")
