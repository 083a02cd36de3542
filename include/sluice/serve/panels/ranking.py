"""The rows with the greatest values."""

from __future__ import annotations

import heapq

from sluice.console.charts.numbers import change_text, exact_text
from sluice.live.values import Value
from sluice.serve.panels.cells import number_in, text_in
from sluice.serve.panels.selection import SelectedRows
from sluice.serve.panels.view import PanelView, RankedRow, Ranking
from sluice.specs.model.pages import TopPanel

_Read = tuple[str, float | None, float | None]


def ranking(panel: TopPanel, selected: SelectedRows) -> PanelView:
    """Return the ranking of a panel."""
    read = [found for _, found in selected.read(lambda row: _read(panel, row))]
    found = [(name, value, change) for name, value, change in read if value is not None]
    best = heapq.nsmallest(panel.rows, found, key=lambda each: (-each[1], each[0]))
    rows = [
        RankedRow(
            name=name,
            value=exact_text(value),
            share=_share(value, best[0][1]),
            change="" if change is None else change_text(change),
            direction="" if not change else "up" if change > 0 else "down",
        )
        for name, value, change in best
    ]
    content = Ranking(rows, panel.change is not None) if rows else None
    return selected.view(content, lacking=f"{panel.value} has no value.", more=len(found) - len(rows))


def _read(panel: TopPanel, row: Value) -> _Read:
    change = None if panel.change is None else number_in(row, panel.change)
    return text_in(row, panel.name), number_in(row, panel.value), change


def _share(value: float, greatest: float) -> float:
    """Return how long a bar is, in percent; none of a value that is not positive."""
    return 100 * (value / greatest) if greatest > 0 and value > 0 else 0.0
