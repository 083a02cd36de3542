"""Newest values for panels, as an output holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from sluice.console.charts.chart import Chart
from sluice.live.values import LiveValues, Value
from sluice.serve.panels.panel import panel_view
from sluice.serve.panels.view import LargeNumber, PanelView, Ranking, RowTable
from sluice.specs.model.pages import Panel

AT = datetime(2013, 1, 21, 12, tzinfo=UTC)
_PANEL: TypeAdapter[Any] = TypeAdapter(Panel)


def values(*rows: Mapping[str, Any]) -> Sequence[Value]:
    """Return rows as newest values, those that came last first; each is a key of its own."""
    held = LiveValues(["n"])
    for number, row in enumerate(rows):
        held.put({"n": number, **row}, AT)
    return held.find({}, len(rows) + 1)[0]


def view_of(rows: Sequence[Value], /, **panel: object) -> PanelView:
    """Return what a panel shows of rows."""
    return panel_view(_PANEL.validate_json(json.dumps({"title": "T", "output": "o", **panel}), strict=True), rows)


def number_of(view: PanelView) -> LargeNumber:
    assert isinstance(view.content, LargeNumber), view
    return view.content


def chart_of(view: PanelView) -> Chart:
    assert isinstance(view.content, Chart), view
    return view.content


def ranking_of(view: PanelView) -> Ranking:
    assert isinstance(view.content, Ranking), view
    return view.content


def table_of(view: PanelView) -> RowTable:
    assert isinstance(view.content, RowTable), view
    return view.content
