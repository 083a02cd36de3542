"""What the values of a chart shall be within: a band between two limits, an edge where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.console.charts.axis import NumberAxis
from sluice.console.charts.chart import SIZE, Shape
from sluice.console.charts.time_axis import TimeAxis

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
