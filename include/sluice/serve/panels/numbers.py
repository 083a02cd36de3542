"""One number: of the newest row, or made of all."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.console.charts.numbers import exact_text, number_text
from sluice.live.values import Value
from sluice.serve.panels.cells import cell_of, number_in, sort_key
from sluice.serve.panels.selection import Combined, SelectedRows
from sluice.serve.panels.view import LargeNumber, PanelView
from sluice.specs.model.pages import NumberPanel


def large_number(panel: NumberPanel, selected: SelectedRows) -> PanelView:
    """Return the number of a panel."""
    if panel.aggregate == "newest":
        return _newest(panel, selected)
    combined = Combined()
    if panel.value is None:
        combined.count = len(selected.rows)
    else:
        column = panel.value
        for _, number in selected.read(lambda row: number_in(row, column)):
            combined.add(number)
    about = f"{_WORDS[panel.aggregate]} {combined.count:,} row{'' if combined.count == 1 else 's'}"
    return _view(panel, selected, combined.result(panel.aggregate), about)


_WORDS = {
    "sum": "the sum of",
    "min": "the least of",
    "max": "the greatest of",
    "mean": "the mean of",
    "count": "the count of",
}


def _newest(panel: NumberPanel, selected: SelectedRows) -> PanelView:
    column, by = str(panel.value), panel.newest_by
    if by is None:  # rows come in the order of their changes, the newest first
        found: Sequence[tuple[Value, object]] = [(row, None) for row in selected.rows[:1]]
    else:
        ordered = list(selected.read(lambda row: sort_key(cell_of(row, by))))
        found = [max(ordered, key=lambda each: each[1])] if ordered else []
    newest = SelectedRows([row for row, _ in found], selected.left_out, selected.reason)
    row, number = next(newest.read(lambda row: number_in(row, column)), (None, None))
    return _view(panel, newest, number, "" if row is None else f"of {', '.join(row.key)}")


def _view(panel: NumberPanel, selected: SelectedRows, number: float | None, about: str) -> PanelView:
    content = None
    if number is not None:
        content = LargeNumber(number_text(number), exact_text(number, panel.unit), about)
    return selected.view(content, lacking=f"{panel.value} has no value.")
