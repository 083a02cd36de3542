"""What lies behind the values of a chart: limits that they shall be within, and spans of time that are shaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.console.charts.axis import NumberAxis
from sluice.console.charts.chart import SIZE, Label, Shape, isolated, printable
from sluice.console.charts.time_axis import TimeAxis, moment_text

_NEAR = 4
"""Limits further away than so many times the values differ would press them into a line."""


@dataclass(frozen=True)
class Limits:
    """What a value shall be within.

    Attributes:
        at: of which moment, in seconds since the epoch.
        low: the least that it may be; None is no limit.
        high: the greatest.
        exceeded: whether it is beyond them.
        words: what is said of it then.
    """

    at: float
    low: float | None
    high: float | None
    exceeded: bool = False
    words: str = ""


@dataclass(frozen=True)
class ShadedSpan:
    """A time that is shaded.

    Attributes:
        at: its begin, in seconds since the epoch.
        until: its end.
        name: what was then.
        is_calm: whether it is no trouble: it has no red, and no name in the picture.
    """

    at: float
    until: float
    name: str
    is_calm: bool = False


_THINNEST = 0.4
"""Percent of the frame that a span has at least: it is to be seen."""
_ROWS, _ROW = 5, 11
"""Names of spans stand below each other, in so many rows of so many percent."""
_NAME = 24
"""Characters of a name in the picture."""
_LEFT = 55
"""Percent from where on a name stands before its span: there is no room behind it."""


def span_shapes(spans: Sequence[ShadedSpan], x: TimeAxis) -> Iterator[Shape]:
    """Yield an area for each span, over the whole height."""
    for each in spans:
        left, right = x.place(each.at), x.place(each.until)
        left, right = (each * SIZE / 100 for each in (min(left, 100 - _THINNEST), max(right, left + _THINNEST)))
        yield Shape(
            "", 0, f"M{left:.1f} 0H{right:.1f}V{SIZE}H{left:.1f}z", look="span calm" if each.is_calm else "span"
        )


def span_labels(spans: Sequence[ShadedSpan], x: TimeAxis) -> list[Label]:
    """Return the names of spans that are some trouble, each at its begin."""
    named = [(x.place(each.at), printable(each.name, _NAME)) for each in spans if not each.is_calm]
    return [
        Label(place, 5 + _ROW * (number % _ROWS), name, place > _LEFT) for number, (place, name) in enumerate(named)
    ]


def span_words(spans: Sequence[ShadedSpan]) -> str:
    """Return the spans in words, as a sentence with a blank before it; empty without one."""
    said = ", ".join(
        f"{isolated(printable(each.name))} from {moment_text(each.at)} to {moment_text(each.until)} UTC"
        for each in spans
    )
    return f" Shaded: {said}." if said else ""


def near_limits(limits: Sequence[Limits], values: Sequence[float]) -> list[float]:
    """Return the limits that an axis of values has to hold."""
    spread = max(values) - min(values)
    each = (limit for at in limits for limit in (at.low, at.high) if limit is not None)
    return [limit for limit in each if spread == 0 or abs(limit - values[0]) <= _NEAR * spread]


def limit_shapes(limits: Sequence[Limits], x: TimeAxis, y: NumberAxis) -> Iterator[Shape]:
    """Yield a band for the moments with two limits, and edges for those with one."""
    runs: list[list[Limits]] = [[]]
    for each in limits:
        if each.low is None or each.high is None:
            runs.append([])
        else:
            runs[-1].append(each)
    bands = [_outline(run, x, y) for run in runs if run]
    if bands:
        yield Shape("", 0, " ".join(bands), look="band")
    for low in (True, False):
        places = [
            None
            if edge is None or None not in (each.low, each.high)
            else path_places(x.place(each.at), 100 - y.place(edge))
            for each in limits
            for edge in [each.low if low else each.high]
        ]
        path = " ".join(
            f"{'L' if number and places[number - 1] else 'M'}{place}" for number, place in enumerate(places) if place
        )
        if path:
            yield Shape("", 0, path, look="edge")


def path_places(x: float, y: float) -> str:
    """Return a place in percent of the frame as a path has it."""
    return f"{x * SIZE / 100:.1f} {y * SIZE / 100:.1f}"


def _outline(run: Sequence[Limits], x: TimeAxis, y: NumberAxis) -> str:
    upper = [path_places(x.place(each.at), 100 - y.place(each.high or 0.0)) for each in run]
    lower = [path_places(x.place(each.at), 100 - y.place(each.low or 0.0)) for each in reversed(run)]
    return f"M{' L'.join([*upper, *lower])}z"
