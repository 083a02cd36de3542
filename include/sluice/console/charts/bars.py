"""Charts of one bar for each category, from left to right, the names beside them."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.console.charts.axis import Tick, number_axis
from sluice.console.charts.chart import SIZE, UNIT, Chart, ChartTable, Label, Mark, Shape, isolated, printable
from sluice.console.charts.numbers import exact_text, number_text

_ROW_PIXELS = 26
_BAR = 0.68
_PARTS = 2
_NAME = 13
"""Characters of a name that fit beside the bars; the whole name is in the words and the table."""


def bars(title: str, found: Sequence[tuple[str, float]], *, unit: str = "", more: int = 0) -> Chart | None:
    """Return a chart of finite values by category, from the top down; None without a value.

    Args:
        title: what it shows.
        found: the names and values.
        unit: of the values.
        more: how many categories are left out.
    """
    if not found:
        return None
    title, unit, found = printable(title), printable(unit, UNIT), [(printable(name), value) for name, value in found]
    axis = number_axis([value for _, value in found], from_zero=True, parts=_PARTS)
    height = 100 / len(found)
    zero = axis.place(0)
    paths, marks, labels = [], [], []
    for n, (name, value) in enumerate(found):
        left, right = sorted((zero, axis.place(value)))
        top = n * height + height * (1 - _BAR) / 2
        paths.append(_rectangle(left, top, right, top + height * _BAR))
        marks.append(Mark(0, n * height, 100, height, f"{isolated(name)}: {exact_text(value, unit)}"))
        labels.append(Label(right, (n + 0.5) * height, number_text(value)))
    return Chart(
        kind="bars",
        title=title,
        unit=unit,
        words=_words(title, found, unit),
        x_ticks=axis.ticks,
        y_ticks=[Tick((n + 0.5) * height, printable(name, _NAME)) for n, (name, _) in enumerate(found)],
        caption="",
        shapes=[Shape("", 0, " ".join(paths), look="layer")],
        marks=marks,
        table=ChartTable(["category", "value"], [[name, exact_text(value)] for name, value in found], 1),
        labels=labels,
        more=more,
        height=_ROW_PIXELS * len(found),
    )


def _rectangle(left: float, top: float, right: float, bottom: float) -> str:
    left, top, right, bottom = (each * SIZE / 100 for each in (left, top, right, bottom))
    return f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}z"


def _words(title: str, found: Sequence[tuple[str, float]], unit: str) -> str:
    name, value = max(found, key=lambda each: each[1])
    words = f"{title}, {len(found)} categor{'y' if len(found) == 1 else 'ies'}."
    return f"{words} Highest: {isolated(name)} {number_text(value, unit)}."
