"""One panel as HTML: the same for all who may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sluice.console.charts.chart import printable
from sluice.console.charts.drawing import drawn
from sluice.reports.page import templates
from sluice.serve.panels.view import LargeNumber, PanelView, Ranking, RowTable
from sluice.specs.model.pages import Panel

_FAILED = PanelView(None, "This panel could not be drawn; the log of the service says why.")


@dataclass(frozen=True)
class PanelSource:
    """How reading the output of a panel goes.

    Attributes:
        trouble: why nothing is read; empty while all is well.
        since: since when that is so (UTC); None before the first read.
        has_values: whether there are values all the same.
        forgotten: how many values are not held, because there are too many.
    """

    trouble: str = ""
    since: datetime | None = None
    has_values: bool = False
    forgotten: int = 0


def panel_html(place: int, panel: Panel, view: PanelView | None, pipeline: str, source: PanelSource) -> str:
    """Return a panel as HTML; all texts in it are escaped.

    Args:
        place: where it stands on its page, from 0.
        panel: its spec.
        view: what it shows; None if that could not be computed.
        pipeline: whose page it is on.
        source: how reading its output goes.
    """
    site = templates("sluice.serve")
    site.filters["printable"] = printable
    shown = _FAILED if view is None else view
    if source.trouble and not source.has_values:
        shown = PanelView(None, _unread(source))
    return site.get_template("panel.html").render(
        place=place,
        panel=panel,
        pipeline=pipeline,
        view=shown,
        form=_form(shown),
        trouble=_trouble(source) if source.has_values else "",
        forgotten=source.forgotten,
        drawn=drawn,
    )


def _form(view: PanelView) -> str:
    match view.content:
        case None:
            return "sentence"
        case LargeNumber():
            return "number"
        case Ranking():
            return "ranking"
        case RowTable():
            return "rows"
        case _:
            return "chart"


def _unread(source: PanelSource) -> str:
    if source.since is None:
        return f"Nothing can be shown yet: {source.trouble}."
    return f"The output cannot be read since {_clock(source.since)}: {source.trouble}"


def _trouble(source: PanelSource) -> str:
    if not source.trouble:
        return ""
    since = "" if source.since is None else f" since {_clock(source.since)}"
    return f"The output is not read{since}, and these values are of then: {source.trouble}"


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
