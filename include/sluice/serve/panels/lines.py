"""Values over time: one line for each column, or for each value of one."""

from __future__ import annotations

import heapq
from collections import defaultdict

from sluice.console.charts.lines import ChartLine, lines
from sluice.live.values import Value
from sluice.serve.panels.cells import number_in, seconds_in, text_in
from sluice.serve.panels.selection import Combined, SelectedRows
from sluice.serve.panels.view import PanelView
from sluice.specs.model.pages import MAX_SERIES, LinePanel

_Lines = dict[str, dict[float, Combined]]


def line_chart(panel: LinePanel, selected: SelectedRows) -> PanelView:
    """Return the lines of a panel: the newest times, and of more lines than a reader can tell apart the greatest."""
    found: _Lines = defaultdict(lambda: defaultdict(Combined))
    for _, (at, name, numbers) in selected.read(lambda row: _read(panel, row)):
        for each, number in numbers.items():
            found[each if panel.by is None else name][at].add(number)
    times = heapq.nlargest(panel.newest, {at for line in found.values() for at in line})
    drawn = {name: _points(line, times, panel.aggregate) for name, line in found.items()}
    known = {name: points for name, points in drawn.items() if any(value is not None for _, value in points)}
    greatest = heapq.nlargest(MAX_SERIES, known, key=lambda name: (_size(known[name]), name))
    names = [name for name in panel.y if name in greatest] if panel.by is None else sorted(greatest)
    chart = lines(
        panel.title,
        [ChartLine(name if panel.by or len(panel.y) > 1 else "", known[name]) for name in names or greatest],
        unit=panel.unit,
        most=panel.newest,
        more=len(known) - len(greatest),
    )
    return selected.view(chart, lacking=f"{', '.join(panel.y)} has no value.")


def _read(panel: LinePanel, row: Value) -> tuple[float, str, dict[str, float | None]]:
    """Return the time of a row, the line that it belongs to if it is one by name, and its numbers by column."""
    numbers = {column: number_in(row, column) for column in panel.y} or {"rows": None}
    return seconds_in(row, panel.x), "" if panel.by is None else text_in(row, panel.by), numbers


def _points(line: dict[float, Combined], times: list[float], aggregate: str) -> list[tuple[float, float | None]]:
    return [(at, line[at].result(aggregate)) for at in reversed(times) if at in line]


def _size(points: list[tuple[float, float | None]]) -> float:
    return sum(abs(value) for _, value in points if value is not None)
