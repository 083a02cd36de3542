"""Charts as HTML: a figure with one SVG, its legend, and its values as a table."""

from __future__ import annotations

from markupsafe import Markup

from sluice.console.charts.chart import Chart
from sluice.reports.page import templates

SYMBOLS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-4-4h8v8h-8z",
    "M0-5l5 9h-10z",
    "M0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "M0 5l5-9h-10z",
    "M-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    "M-5-2.5h10v5h-10z",
    "M-2.5-5h5v10h-5z",
)
"""By place, around its middle, in pixels: who sees no colours sees these."""


def drawn(chart: Chart, *, titled: bool = True) -> Markup:
    """Return a chart as HTML; all texts in it are escaped.

    Args:
        chart: to be drawn.
        titled: whether the figure has the title and the unit above it.
    """
    site = templates("sluice.console.charts")
    site.filters["percent"] = _percent
    return Markup(  # noqa: S704  the template escapes
        site.get_template("chart.html").render(chart=chart, titled=titled, symbols=SYMBOLS)
    )


def _percent(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{'0' if text == '-0' else text}%"
