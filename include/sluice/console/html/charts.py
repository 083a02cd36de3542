"""Charts of the recent past: shapes in plain numbers, which a template draws as SVG without any script.

Each chart also has its content as a sentence: for screen readers, and for searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10

WIDTH, HEIGHT = 600, 120
_MAX_POINTS = 150
"""A picture is some hundred pixels wide; of more values in one place the greatest is drawn."""
_NOTHING = 1e-9
_WHOLE = 100
"""From here on digits behind the point say nothing."""


@dataclass(frozen=True)
class ChartLine:
    """Values over time: seconds since the epoch, and the value; None interrupts the line."""

    name: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class Shape:
    """One line or layer: its name, its place in the legend (0-7), its SVG path, and its newest value in words."""

    name: str
    place: int
    path: str
    newest: str


@dataclass(frozen=True)
class Chart:
    """A picture.

    Attributes:
        title: what it shows.
        shapes: what is drawn.
        filled: layers, as areas; else lines.
        top: the greatest value of the scale in words; it begins at 0.
        first: when it begins.
        last: when it ends.
        words: what it shows, in one sentence.
    """

    title: str
    shapes: Sequence[Shape]
    filled: bool
    top: str
    first: str
    last: str
    words: str


def lines(title: str, found: Sequence[ChartLine], *, unit: str = "") -> Chart | None:
    """Return a chart of at most eight lines; None with fewer than two moments that have a value."""
    thinned = [ChartLine(line.name, _thinned(line.points)) for line in found]
    at = sorted({moment for line in thinned for moment, value in line.points if value is not None})
    if len(at) <= 1:
        return None
    scale = _Scale(at[0], at[-1], max(value for line in thinned for _, value in line.points if value is not None))
    shapes = [
        Shape(line.name, place, scale.line(line.points), number_text(_newest(line.points), unit))
        for place, line in enumerate(thinned)
    ]
    return _chart(title, shapes, scale, unit, [line.points for line in thinned], filled=False)


def layers(title: str, at: Sequence[float], parts: Sequence[ChartLine], *, unit: str = "") -> Chart | None:
    """Return bars of at most eight layers that add up, one for each moment; None with fewer than two moments."""
    if len(at) <= 1:
        return None
    step = ceil(len(at) / _MAX_POINTS)
    # Of the batches of one place the longest is drawn, with its own parts.
    whole = [sum(line.points[n][1] or 0.0 for line in parts) for n in range(len(at))]
    kept = [max(range(n, min(n + step, len(at))), key=whole.__getitem__) for n in range(0, len(at), step)]
    scale = _Scale(at[kept[0]], at[kept[-1]], max(whole[n] for n in kept))
    base, shapes = [0.0] * len(kept), []
    for place, line in enumerate(parts):
        upper = [low + (line.points[n][1] or 0.0) for low, n in zip(base, kept, strict=True)]
        path = scale.bars([at[n] for n in kept], base, upper)
        shapes.append(Shape(line.name, place, path, number_text(_newest(line.points), unit)))
        base = upper
    return _chart(title, shapes, scale, unit, [[(at[n], whole[n]) for n in kept]], filled=True)


def spark(points: Sequence[tuple[float, float | None]]) -> str:
    """Return a line without scale or words as an SVG path; empty where there is nothing to draw."""
    known = [(moment, value) for moment, value in _thinned(points) if value is not None]
    if len(known) <= 1:
        return ""
    return _Scale(known[0][0], known[-1][0], max(value for _, value in known)).line(known)


def number_text(value: float | None, unit: str = "") -> str:
    """Return a number as a person reads it: three digits that count."""
    if value is None:
        return "unknown"
    size = abs(value)
    for least, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= least:
            return f"{value / (1e3 if letter == 'k' else least):.3g}{letter}{unit}"
    return f"{value:.0f}{unit}" if size >= _WHOLE or value == int(value) else f"{value:.3g}{unit}"


def _chart(
    title: str,
    shapes: Sequence[Shape],
    scale: _Scale,
    unit: str,
    values: Iterable[Sequence[tuple[float, float | None]]],
    *,
    filled: bool,
) -> Chart:
    known = [(value, moment) for points in values for moment, value in points if value is not None]
    highest, when = max(known)
    newest = ", ".join(f"{shape.name} {shape.newest}" for shape in shapes)
    words = f"{title}. Newest: {newest}. Highest: {number_text(highest, unit)} at {_clock(when)} UTC."
    return Chart(title, shapes, filled, number_text(scale.top, unit), _clock(scale.first), _clock(scale.last), words)


def _clock(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%m-%d %H:%M:%S}"


def _newest(points: Sequence[tuple[float, float | None]]) -> float | None:
    return points[-1][1] if points else None


def _thinned(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Return the greatest of every few neighbours; where one of them is unknown there, the line is interrupted."""
    step = ceil(len(points) / _MAX_POINTS)
    if step <= 1:
        return list(points)
    thinned: list[tuple[float, float | None]] = []
    for begin in range(0, len(points), step):
        some = points[begin : begin + step]
        known = [(value, moment) for moment, value in some if value is not None]
        thinned.append((max(known)[1], max(known)[0]) if len(known) == len(some) else (some[0][0], None))
    return thinned


class _Scale:
    def __init__(self, first: float, last: float, highest: float) -> None:
        self.first, self.last = first, last
        self.top = _round_up(highest)

    def x(self, moment: float) -> float:
        return WIDTH * (moment - self.first) / ((self.last - self.first) or 1.0)

    def y(self, value: float) -> float:
        return HEIGHT * (1 - value / self.top)

    def line(self, points: Sequence[tuple[float, float | None]]) -> str:
        parts, pen_is_down = [], False
        for moment, value in points:
            if value is not None:
                parts.append(f"{'L' if pen_is_down else 'M'}{self.x(moment):.1f} {self.y(value):.1f}")
            pen_is_down = value is not None
        return " ".join(parts)

    def bars(self, at: Sequence[float], base: Sequence[float], upper: Sequence[float]) -> str:
        width = WIDTH / len(at)
        return " ".join(
            f"M{place * width:.1f} {self.y(low):.1f}V{self.y(high):.1f}h{0.8 * width:.1f}V{self.y(low):.1f}z"
            for place, (low, high) in enumerate(zip(base, upper, strict=True))
            if high > low
        )


def _round_up(value: float) -> float:
    """Return the least of 1, 2, 5 and their multiples by powers of ten that is no less; of next to nothing, 1."""
    if value < _NOTHING:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))
