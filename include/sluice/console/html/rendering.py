"""The console's templates: their navigation, and their filters for numbers and times."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from markupsafe import Markup, escape

from sluice.clock import Clock
from sluice.console.charts.chart import printable
from sluice.console.charts.drawing import drawn
from sluice.console.charts.numbers import number_text
from sluice.console.html.site import Site
from sluice.objectives.budget import BudgetStanding, Burning, ratio_text
from sluice.specs.model.deadlines import format_share
from sluice.specs.model.duration import format_duration
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.health.health import FINE, Health
from sluice.streams.life.timeline import duration_text

NAVIGATION = (
    ("", "Fleet"),
    ("graph", "Graph"),
    ("topics", "Topics"),
    ("intervals", "Intervals"),
    ("quality", "Quality"),
    ("objectives", "Objectives"),
    ("proofs", "Proofs"),
    ("alerts", "Alerts"),
    ("cost", "Cost"),
)

STATIC = dict.fromkeys(("console.css", "charts.css", "console.js", "charts.js", "icon.svg"), "sluice.console")
"""The files that pages load, with their package."""

_LONGEST_TEXT = 1_000
_SHORT = 10
"""Seconds below which a tenth of a second counts."""


def console_site(clock: Clock) -> Site:
    """Return the pages of the console."""
    filters = {
        "number": number_text,
        "whole": _whole,
        "seconds": _seconds,
        "ago": _ago,
        "tone": tone_of,
        "verdict": verdict_of,
        "prose": prose,
        "share": format_share,
        "window": format_duration,
        "ratio": ratio_text,
        "burning": burning_of,
        "shown": shown,
    }
    variables = {"navigation": NAVIGATION, "drawn": drawn}
    return Site("sluice.console", STATIC, clock, filters=filters, variables=variables)


HALTED = "HALTED"
"""The verdict of a stream that nothing starts until a person resumes its unit."""


def tone_of(health: Health) -> str:
    """Return the class of a verdict's colour. Its word is always written beside it."""
    if health in FINE:
        return "good"
    return "warning" if health in {Health.LAGGING, Health.STOPPED} else "bad"


def verdict_of(status: StreamStatus) -> tuple[str, str]:
    """Return a stream's verdict in one word, and the class of its colour: no alarm where it shall not run."""
    if status.halted:
        return HALTED, "bad"
    health = status.verdict.health
    at_rest = health is Health.STOPPED and not status.needs_attention
    return health.value, "quiet" if at_rest else tone_of(health)


def burning_of(standing: BudgetStanding) -> tuple[str, str]:
    """Return how an error budget does in a word or two, and the class of its colour."""
    if standing.fast is Burning.YES:
        return "burns fast", "bad"
    if standing.remaining_ratio is not None and standing.remaining_ratio < 0:
        return "overspent", "bad"
    if standing.slow is Burning.YES:
        return "burns", "warning"
    return ("unknown", "quiet") if standing.window.ratio is None else ("kept", "good")


def shown(text: str) -> str:
    """Return a text of a record as a page can show it: bounded, and without what would turn the text around it."""
    return printable(text, _LONGEST_TEXT)


def prose(text: str) -> Markup:
    """Return a sentence as HTML: what stands between backticks is code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  it is escaped


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    """Return a duration in words, with tenths of a second if it is short."""
    if value is None:
        return ""
    if value < _SHORT:
        return f"{value:.1f} s"
    return duration_text(timedelta(seconds=round(value)))


def _ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return ""
    return f"{duration_text(max(timedelta(0), now - at))} ago"
