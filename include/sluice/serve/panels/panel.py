"""What a panel shows of the newest values of its output, in time that grows as their number does."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.live.values import Value
from sluice.serve.panels.bars import bar_chart
from sluice.serve.panels.lines import line_chart
from sluice.serve.panels.numbers import large_number
from sluice.serve.panels.places import position_chart
from sluice.serve.panels.ranking import ranking
from sluice.serve.panels.rows import row_table
from sluice.serve.panels.selection import SelectedRows, selection, where_words
from sluice.serve.panels.view import PanelView
from sluice.specs.model.pages import BarsPanel, LinePanel, NumberPanel, Panel, PositionsPanel, TablePanel


def panel_view(panel: Panel, rows: Sequence[Value]) -> PanelView:
    """Return what a panel shows.

    Args:
        panel: its spec.
        rows: the newest values of its output, those that changed last first.
    """
    selected = selection(rows, panel.where)
    counts_none = isinstance(panel, NumberPanel) and panel.aggregate == "count"
    if not selected.rows and not selected.left_out and not counts_none:
        if not rows:
            return PanelView(None, "No values now.")
        return PanelView(None, f"None of {len(rows):,} rows fits: {where_words(panel.where)}.")
    return _computed(panel, selected)


def _computed(panel: Panel, selected: SelectedRows) -> PanelView:
    match panel:
        case NumberPanel():
            return large_number(panel, selected)
        case LinePanel():
            return line_chart(panel, selected)
        case BarsPanel():
            return bar_chart(panel, selected)
        case TablePanel():
            return row_table(panel, selected)
        case PositionsPanel():
            return position_chart(panel, selected)
        case _:
            return ranking(panel, selected)
