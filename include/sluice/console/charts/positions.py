"""Charts of places on a plain grid of degrees: one degree is as long from south to north as from west to east."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import cos, radians

from sluice.console.charts.axis import PARTS, Tick, place_between, step_of, steps_between
from sluice.console.charts.chart import Chart, ChartDot, ChartTable, Label, Mark, Shape, isolated, printable

MAX_LON, MAX_LAT = 180.0, 90.0
_RATIO = 4 / 3
"""Width to height of the frame; the style sheet has it, too."""
_LEAST_DEGREES = 0.02
"""Some two kilometres: what a single place is shown within."""
_MARGIN = 0.08
"""The share of the frame around the outermost places."""
_FLATTEST = 0.1
"""Near the poles a degree of longitude counts as so much of one of latitude, or the frame would be a line."""
_MOST_LABELS, _LABEL = 30, 18
_CHARACTER, _LINE, _BESIDE = 2.8, 8.0, 3.6
"""Percent of the frame, on a narrow screen: the width of a character, the height of a line, from a point to its name.
"""
_REACH = 1.6
"""Percent of the frame around a point that counts as the point."""


@dataclass(frozen=True)
class GeoPosition:
    """A place: degrees east (-180 to 180) and north (-90 to 90), its name, and its state, empty for none."""

    lon: float
    lat: float
    name: str
    state: str = ""


def positions(title: str, found: Sequence[GeoPosition], *, more: int = 0) -> Chart | None:
    """Return a chart of places, of which the eight most frequent states have a look of their own; None of no place."""
    if not found:
        return None
    title = printable(title)
    found = [replace(each, name=printable(each.name), state=printable(each.state)) for each in found]
    west, east, south, north = _frame(found)
    counted = Counter(each.state for each in found)
    states = sorted(state for state, _ in counted.most_common(7 if len(counted) > 8 else 8))  # noqa: PLR2004 - PLACES
    dots = [
        ChartDot(
            place_between(each.lon, west, east),
            100 - place_between(each.lat, south, north),
            states.index(each.state) if each.state in states else 7,
        )
        for each in found
    ]
    marks = [
        Mark(dot.x - _REACH, dot.y - _REACH, 2 * _REACH, 2 * _REACH, _said(each), [dot])
        for each, dot in zip(found, dots, strict=True)
    ]
    return Chart(
        kind="positions",
        title=title,
        unit="",
        words=_words(title, found, counted),
        x_ticks=_ticks(west, east, "WE"),
        y_ticks=_ticks(south, north, "SN"),
        caption="",
        shapes=(),
        marks=marks,
        table=ChartTable(*_table(found)),
        labels=list(_labels(found, dots)),
        legend=_legend(states, counted),
        more=more,
    )


def degrees_text(value: float, letters: str) -> str:
    """Return degrees with the letter of their side: 12.5 of `WE` is 12.5° E."""
    return _degrees(Decimal(str(round(value, 5))), letters)


def _degrees(value: Decimal, letters: str) -> str:
    number = f"{abs(value).normalize():f}"
    return f"{number}°" if not value else f"{number}° {letters[value > 0]}"


def _frame(found: Sequence[GeoPosition]) -> tuple[float, float, float, float]:
    """Return west, east, south and north of a frame that holds all places and has the ratio of the picture."""
    lons, lats = [each.lon for each in found], [each.lat for each in found]
    middle_lon, middle_lat = (min(lons) + max(lons)) / 2, (min(lats) + max(lats)) / 2
    flattening = max(cos(radians(middle_lat)), _FLATTEST)
    within = 1 - 2 * _MARGIN
    height = max((max(lats) - min(lats)) / within, (max(lons) - min(lons)) / within * flattening / _RATIO)
    height = max(height, _LEAST_DEGREES)
    width = height * _RATIO / flattening
    return middle_lon - width / 2, middle_lon + width / 2, middle_lat - height / 2, middle_lat + height / 2


def _ticks(low: float, high: float, letters: str) -> list[Tick]:
    step = step_of((high - low) / PARTS)
    most = Decimal(MAX_LON if letters == "WE" else MAX_LAT)
    inside = (each for each in steps_between(low, high, step) if low <= each <= high and abs(each) <= most)
    return [Tick(place_between(float(each), low, high), _degrees(each, letters)) for each in inside]


def _said(each: GeoPosition) -> str:
    state = f", {isolated(each.state)}" if each.state else ""
    return f"{isolated(each.name)}{state}: {degrees_text(each.lat, 'SN')}, {degrees_text(each.lon, 'WE')}"


def _words(title: str, found: Sequence[GeoPosition], counted: Counter[str]) -> str:
    many = f"{len(found)} place{'' if len(found) == 1 else 's'}"
    states = ", ".join(f"{isolated(state)} {count}" for state, count in counted.most_common(8) if state)
    return f"{title}. {many}{f': {states}' if states else ''}."


def _table(found: Sequence[GeoPosition]) -> tuple[list[str], list[list[str]], int]:
    stated = any(each.state for each in found)
    rows = [
        [each.name, *([each.state] if stated else []), degrees_text(each.lat, "SN"), degrees_text(each.lon, "WE")]
        for each in found
    ]
    return ["place", *(["state"] if stated else []), "latitude", "longitude"], rows, 2


def _legend(states: Sequence[str], counted: Counter[str]) -> list[Shape]:
    named = [Shape(state, place, "", f"{counted[state]}") for place, state in enumerate(states) if state]
    others = sum(counted.values()) - sum(counted[state] for state in states)
    return [*named, Shape("others", 7, "", f"{others}")] if others else named


def _labels(found: Sequence[GeoPosition], dots: Sequence[ChartDot]) -> Iterator[Label]:
    """Yield the names that lie over no point and no other name, the first places first."""
    taken = [(dot.x, dot.x, dot.y) for dot in dots]
    for each, dot in list(zip(found, dots, strict=True))[:_MOST_LABELS]:
        text = printable(each.name, _LABEL)
        width, before = _CHARACTER * len(text), dot.x > 60  # noqa: PLR2004 - percent: there is no room to the right
        left = dot.x - _BESIDE - width if before else dot.x + _BESIDE
        right = left + width
        over = any(begin <= right and left <= end and abs(y - dot.y) < _LINE for begin, end, y in taken)
        if left >= 0 and not over:
            taken.append((left, right, dot.y))
            yield Label(dot.x, dot.y, text, before)
