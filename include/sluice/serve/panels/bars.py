"""One bar for each value of a column."""

from __future__ import annotations

from collections import defaultdict

from sluice.console.charts.bars import bars
from sluice.live.values import Value
from sluice.serve.panels.cells import SortKey, cell_of, number_in, sort_key, text_of
from sluice.serve.panels.selection import Combined, SelectedRows
from sluice.serve.panels.view import PanelView
from sluice.specs.model.pages import BarsPanel


def bar_chart(panel: BarsPanel, selected: SelectedRows) -> PanelView:
    """Return the bars of a panel: the greatest, or the first categories in their order."""
    combined: dict[str, Combined] = defaultdict(Combined)
    order: dict[str, SortKey] = {}
    for _, (cell, number) in selected.read(lambda row: _read(panel, row)):
        name = text_of(cell)
        combined[name].add(number)
        order.setdefault(name, sort_key(cell))
    results = {name: each.result(panel.aggregate) for name, each in combined.items()}
    known = [(name, value) for name, value in results.items() if value is not None]
    by_category = panel.order == "category"
    known.sort(key=lambda each: (0.0 if by_category else -each[1], order[each[0]]))
    shown = known[: panel.rows]
    chart = bars(panel.title, shown, unit=panel.unit, more=len(known) - len(shown))
    return selected.view(chart, lacking=f"{panel.y} has no value.")


def _read(panel: BarsPanel, row: Value) -> tuple[object, float | None]:
    return cell_of(row, panel.x), None if panel.y is None else number_in(row, panel.y)
