"""Charts of values over time: lines, and bars of layers that add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from sluice.console.charts.axis import NumberAxis, Tick, number_axis
from sluice.console.charts.chart import SIZE, UNIT, Chart, ChartDot, ChartTable, Mark, Shape, isolated, printable
from sluice.console.charts.limits import (
    Limits,
    ShadedSpan,
    limit_shapes,
    near_limits,
    path_places,
    span_labels,
    span_shapes,
    span_words,
)
from sluice.console.charts.numbers import exact_text, number_text
from sluice.console.charts.time_axis import TimeAxis, moment_text, time_axis

MAX_POINTS = 150
"""A picture is some hundred pixels wide; of more values in one place the greatest is drawn."""
_MAX_DOTS = 1_000
"""Of more values none gets a point of its own: the lines say it, and the pointer."""
_BAR = 0.8
"""The share of its place that a bar fills."""
_TICKS_OF_LAYERS = 4

Points = Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class ChartLine:
    """Values over time: seconds since the epoch in their order, and the value; None interrupts the line."""

    name: str
    points: Points


def lines(
    title: str,
    found: Sequence[ChartLine],
    *,
    unit: str = "",
    most: int = MAX_POINTS,
    from_zero: bool = False,
    limits: Sequence[Limits] = (),
    spans: Sequence[ShadedSpan] = (),
    more: int = 0,
) -> Chart | None:
    """Return a chart of at most eight lines with finite values; None without a value.

    `most` points of each are drawn, over shaded `spans`; `limits` are in the order of time; `more` lines are left out.
    """
    title, unit = printable(title), printable(unit, UNIT)
    thinned = [ChartLine(printable(line.name), _thinned(line.points, most)) for line in found]
    known = [(value, at) for line in thinned for at, value in line.points if value is not None]
    if not known:
        return None
    values, moments = [value for value, _ in known], sorted({at for _, at in known})
    x = time_axis(moments[0], moments[-1])
    y = number_axis([*values, *near_limits(limits, values)], from_zero=from_zero)
    shapes = [_shape(line, place, (x, y), unit) for place, line in enumerate(thinned)]
    exceeded = {each.at: each.words for each in limits if each.exceeded}
    return Chart(
        kind="line",
        title=title,
        unit=unit,
        words=_words(title, shapes, max(known), unit) + span_words(spans),
        x_ticks=x.ticks,
        y_ticks=y.ticks,
        caption=x.caption,
        shapes=[*span_shapes(spans, x), *limit_shapes(limits, x, y), *shapes],
        labels=span_labels(spans, x),
        marks=_marks(thinned, moments, (x, y), unit, exceeded),
        table=_table(thinned, moments),
        legend=shapes if len(shapes) > 1 or shapes[0].name else (),
        more=more,
    )


def layers(title: str, at: Sequence[float], parts: Sequence[ChartLine], *, unit: str = "") -> Chart | None:
    """Return bars of at most eight layers that add up, one for each moment; None with fewer than two moments.

    Bars stand side by side, whatever the time between them.
    """
    if len(at) <= 1:
        return None
    title, unit = printable(title), printable(unit, UNIT)
    step = ceil(len(at) / MAX_POINTS)
    # Of the batches of one place the longest is drawn, with its own parts.
    whole = [sum(line.points[n][1] or 0.0 for line in parts) for n in range(len(at))]
    kept = [max(range(n, min(n + step, len(at))), key=whole.__getitem__) for n in range(0, len(at), step)]
    drawn = [ChartLine(printable(line.name), [(at[n], line.points[n][1]) for n in kept]) for line in parts]
    y = number_axis([whole[n] for n in kept], from_zero=True)
    shapes, base = [], [0.0] * len(kept)
    for place, line in enumerate(drawn):
        upper = [low + (value or 0.0) for low, (_, value) in zip(base, line.points, strict=True)]
        newest = number_text(_newest(line.points), unit)
        shapes.append(Shape(line.name, place, _columns(base, upper, y), newest, look="layer"))
        base = upper
    width = 100 / len(kept)
    marks = [Mark(place * width, 0, width, 100, _said(at[n], drawn, place, unit)) for place, n in enumerate(kept)]
    moments = [at[n] for n in kept]
    return Chart(
        kind="line",
        title=title,
        unit=unit,
        words=_words(title, shapes, max((whole[n], at[n]) for n in kept), unit),
        x_ticks=_ticks_of_columns(moments),
        y_ticks=y.ticks,
        caption=time_axis(moments[0], moments[-1]).caption,
        shapes=shapes,
        marks=marks,
        table=_table(drawn, moments),
        legend=shapes,
    )


def _words(title: str, shapes: Sequence[Shape], highest: tuple[float, float], unit: str) -> str:
    newest = ", ".join(f"{isolated(shape.name)} {shape.newest}" if shape.name else shape.newest for shape in shapes)
    value, at = highest
    return f"{title}. Newest: {newest}. Highest: {number_text(value, unit)} at {moment_text(at)} UTC."


def _newest(points: Points) -> float | None:
    return points[-1][1] if points else None


def _thinned(points: Points, most: int) -> list[tuple[float, float | None]]:
    """Return the greatest of every few neighbours; where one of them is unknown there, the line is interrupted."""
    step = ceil(len(points) / most)
    if step <= 1:
        return list(points)
    thinned: list[tuple[float, float | None]] = []
    for begin in range(0, len(points), step):
        some = points[begin : begin + step]
        known = [(value, moment) for moment, value in some if value is not None]
        thinned.append((max(known)[1], max(known)[0]) if len(known) == len(some) else (some[0][0], None))
    return thinned


def _shape(line: ChartLine, place: int, axes: tuple[TimeAxis, NumberAxis], unit: str) -> Shape:
    """Return a line, interrupted where a value is unknown, and its values between two unknown ones as points."""
    x, y = axes
    runs: list[list[str]] = [[]]
    for moment, value in line.points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append(path_places(x.place(moment), 100 - y.place(value)))
    path = " ".join(f"M{' L'.join(run)}" for run in runs if len(run) > 1)
    points = " ".join(f"M{run[0]}h0" for run in runs if len(run) == 1)
    return Shape(line.name, place, path, number_text(_newest(line.points), unit), points=points)


def _columns(base: Sequence[float], upper: Sequence[float], y: NumberAxis) -> str:
    width = SIZE / len(base)
    return " ".join(
        f"M{path_places(100 * place / len(base), 100 - y.place(low))}"
        f"V{(100 - y.place(high)) * SIZE / 100:.1f}h{_BAR * width:.1f}V{(100 - y.place(low)) * SIZE / 100:.1f}z"
        for place, (low, high) in enumerate(zip(base, upper, strict=True))
        if high > low
    )


def _ticks_of_columns(moments: Sequence[float]) -> list[Tick]:
    """Return when some of the columns were, in the middle of each."""
    step = ceil(len(moments) / _TICKS_OF_LAYERS)
    return [
        Tick(100 * (n + _BAR / 2) / len(moments), moment_text(round(moments[n])).partition(" ")[2])
        for n in range(step // 2, len(moments), step)
    ]


def _marks(
    found: Sequence[ChartLine],
    moments: Sequence[float],
    axes: tuple[TimeAxis, NumberAxis],
    unit: str,
    exceeded: Mapping[float, str],
) -> list[Mark]:
    """Return one mark for each moment, as wide as it is nearest; `exceeded` says by moment what fails."""
    x, y = axes
    places = [x.place(moment) for moment in moments]
    edges = [0.0, *((left + right) / 2 for left, right in pairwise(places)), 100.0]
    values = [dict(line.points) for line in found]
    with_dots = len(moments) * len(found) <= _MAX_DOTS
    marks = []
    for n, (moment, place) in enumerate(zip(moments, places, strict=True)):
        known = [(line.name, each.get(moment)) for line, each in zip(found, values, strict=True)]
        dots = [
            ChartDot(place, 100 - y.place(value), number, moment in exceeded)
            for number, (_, value) in enumerate(known)
            if value is not None and with_dots
        ]
        words = _sentence(moment, known, unit) + (f", {exceeded[moment]}" if moment in exceeded else "")
        marks.append(Mark(edges[n], 0, edges[n + 1] - edges[n], 100, words, dots))
    return marks


def _said(moment: float, found: Sequence[ChartLine], place: int, unit: str) -> str:
    return _sentence(moment, [(line.name, line.points[place][1]) for line in found], unit)


def _sentence(moment: float, known: Iterable[tuple[str, float | None]], unit: str) -> str:
    said = ((name, exact_text(value, unit)) for name, value in known if value is not None)
    parts = [f"{isolated(name)} {value}" if name else value for name, value in said]
    return f"{moment_text(moment)} UTC: {', '.join(parts)}"


def _table(found: Sequence[ChartLine], moments: Sequence[float]) -> ChartTable:
    values = [dict(line.points) for line in found]
    rows = [
        [moment_text(moment), *("" if (value := each.get(moment)) is None else exact_text(value) for each in values)]
        for moment in reversed(moments)
    ]
    return ChartTable(["time (UTC)", *(line.name or "value" for line in found)], rows, len(found))
