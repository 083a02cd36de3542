"""The charts of an expectation about intervals: what was measured, and what it shall be within."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.console.charts.chart import Chart
from sluice.console.charts.limits import Limits
from sluice.console.charts.lines import ChartLine, lines
from sluice.console.charts.time_axis import seconds_of
from sluice.quality.intervals import ExpectationResult, IntervalCheckResult


def expectation_chart(title: str, results: Sequence[IntervalCheckResult]) -> Chart | None:
    """Return the chart of results in the order of time; None if fewer than two intervals have a number."""
    if sum(each.value is not None for each in results) <= 1:
        return None
    points = [(seconds_of(each.start), each.value) for each in results]
    limits = [
        Limits(
            seconds_of(each.start),
            each.low,
            each.high,
            exceeded=each.verdict is ExpectationResult.FAILS,
            words=f"{each.verdict}: {each.checked.observed}",
        )
        for each in results
    ]
    return lines(title, [ChartLine("", points)], most=len(points), limits=limits)
