"""Rows as they are, in an order."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from sluice.live.values import Value
from sluice.serve.panels.cells import cell_of, sort_key, text_of
from sluice.serve.panels.selection import SelectedRows
from sluice.serve.panels.view import PanelView, RowTable
from sluice.specs.model.pages import TablePanel


def row_table(panel: TablePanel, selected: SelectedRows) -> PanelView:
    """Return the table of a panel; what is null comes last, whatever the order."""
    read = list(selected.read(lambda row: [cell_of(row, column) for column in panel.columns]))
    cells = [found for _, found in (read[: panel.rows] if panel.order is None else _ordered(panel, selected, read))]
    figures = frozenset(
        place
        for place in range(len(panel.columns))
        if all(isinstance(row[place], int | float | None) and not isinstance(row[place], bool) for row in cells)
    )
    content = RowTable(panel.columns, [["" if c is None else text_of(c) for c in row] for row in cells], figures)
    return selected.view(content if cells else None, lacking="No values now.", more=len(read) - len(cells))


_Read = tuple[Value, list[object]]


def _ordered(panel: TablePanel, selected: SelectedRows, read: Sequence[_Read]) -> list[_Read]:
    column, reverse = str(panel.order).removeprefix("-"), str(panel.order).startswith("-")
    cells = {row.key: found for row, found in read}
    keys = SelectedRows([row for row, _ in read])
    ordered = [(key, row) for row, key in keys.read(lambda row: sort_key(cell_of(row, column)))]
    if keys.left_out:
        selected.left_out, selected.reason = selected.left_out + keys.left_out, selected.reason or keys.reason
    known = [each for each in ordered if each[0][0]]
    best = (heapq.nlargest if reverse else heapq.nsmallest)(panel.rows, known, key=lambda each: each[0])
    nothing = [each for each in ordered if not each[0][0]][: panel.rows - len(best)]
    return [(row, cells[row.key]) for _, row in (*best, *nothing)]
