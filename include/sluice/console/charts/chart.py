"""What a chart consists of, in percent of its frame and in words: a template draws it at any width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.console.charts.axis import Tick

SIZE = 1000
"""Paths are written in thousandths of the frame, from its top left."""
PLACES = 8
"""Colours, each with a dash and a symbol of its own: lines or states that a reader can tell apart."""
LONGEST, UNIT = 200, 20
"""Characters of a name, and of a unit."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")


@dataclass(frozen=True)
class Shape:
    """What is drawn without an own text.

    Attributes:
        name: what it is, for the legend; empty where there is nothing to tell apart.
        place: its colour, 0 to 7.
        path: SVG's, in thousandths of the frame.
        newest: its newest value in words; empty where it has none.
        look: the class of what is drawn: `line`, `layer` (an area), `band` or `edge` (of what values shall be within),
            `span` (of time).
        points: a path of lines without a length, which are drawn as points: values with no neighbour.
    """

    name: str
    place: int
    path: str
    newest: str = ""
    look: str = "line"
    points: str = ""


@dataclass(frozen=True)
class ChartDot:
    """A point, in percent of the frame from its top left.

    Attributes:
        x: from the left.
        y: from the top.
        place: its colour and symbol, 0 to 7.
        fails: whether it is not what it shall be.
    """

    x: float
    y: float
    place: int
    fails: bool = False


@dataclass(frozen=True)
class Mark:
    """An area that says a value when it is pointed at, in percent of the frame.

    Attributes:
        x: its left side.
        y: its upper side.
        width: of it.
        height: of it.
        words: what it says.
        dots: the points that it is about.
    """

    x: float
    y: float
    width: float
    height: float
    words: str
    dots: Sequence[ChartDot] = ()


@dataclass(frozen=True)
class Label:
    """A text in the frame, in percent; it ends at its place if `before`, else begins there."""

    x: float
    y: float
    text: str
    before: bool = False


@dataclass(frozen=True)
class ChartTable:
    """The values of a chart as rows of texts; `figures` says how many of the last columns are numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: int


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        kind: the class of its look: `line`, `bars` or `positions`.
        title: what it shows.
        unit: of its values.
        words: what it shows, in sentences.
        x_ticks: from left to right.
        y_ticks: from the bottom up; of bars from the top down.
        caption: what the x axis is about.
        shapes: what is drawn, from below.
        marks: areas that say their values, in the order in which keys lead through them.
        table: the same values.
        labels: texts in the frame.
        legend: names by place; empty where there is one without a name.
        more: how many lines, bars or points are not drawn.
        height: in pixels; None: that of its kind.
    """

    kind: str
    title: str
    unit: str
    words: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    caption: str
    shapes: Sequence[Shape]
    marks: Sequence[Mark]
    table: ChartTable
    labels: Sequence[Label] = ()
    legend: Sequence[Shape] = ()
    more: int = 0
    height: int | None = None


def printable(text: str, most: int = LONGEST) -> str:
    """Return a text that XML can hold, that turns no text around it, and that is not longer than `most` characters."""
    clean = _DIRECTIONS.sub("", _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text[: 2 * most]))
    return clean if len(clean) <= most else f"{clean[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def isolated(text: str) -> str:
    """Return a text between marks that keep its direction of writing to itself."""
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"
