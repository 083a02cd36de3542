"""The charts of a stream: its batches, as its driver has logged them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sluice.console.charts.chart import Chart
from sluice.console.charts.lines import ChartLine, layers, lines
from sluice.streams.health.batch_log import BatchFigures

PHASES = ("latestOffset", "queryPlanning", "walCommit", "addBatch", "commitBatch", "commitOffsets")
"""Spark's parts of a batch, in their order. `addBatch` is the transform and the write."""
_WHOLE = "triggerExecution"
_BREAK_SECONDS = 600
"""Longer than any batch of a stream that works: a line is interrupted where values are unknown."""

_OPTIONAL: Sequence[tuple[str, str, Callable[[BatchFigures], float | None]]] = (
    ("Rows in state", "rows", lambda b: b.state_rows),
    ("Rows dropped, their window was closed", "late", lambda b: b.late_rows),
    ("Records quarantined", "quarantined", lambda b: None if b.quarantined is None else sum(b.quarantined.values())),
)
"""Charts that are drawn only if they have a value other than 0: title, name of the line, and value."""


def charts_of(batches: Sequence[BatchFigures]) -> list[Chart]:
    """Return the charts that have values, from batches in the order of time; none of fewer than two batches."""
    if len(batches) <= 1:
        return []
    at = [each.at.timestamp() for each in batches]
    charts = [
        lines(
            "Records per second",
            [_line("input", batches, lambda b: b.input_rate), _line("processed", batches, lambda b: b.process_rate)],
            unit="/s",
            from_zero=True,
        ),
        layers("Duration of a batch by phase", at, _phases(batches), unit="s"),
        lines(
            "Lag when a batch was planned",
            [_line("lag", batches, lambda b: b.lag_records)],
            unit="records",
            from_zero=True,
        ),
        lines("Watermark delay behind the batch", [_line("gap", batches, _watermark_gap)], unit="s", from_zero=True),
        *(
            lines(title, [_line(name, batches, value)], from_zero=True)
            for title, name, value in _OPTIONAL
            if any(value(each) for each in batches)
        ),
    ]
    return [chart for chart in charts if chart is not None]


def _line(name: str, batches: Sequence[BatchFigures], value: Callable[[BatchFigures], float | None]) -> ChartLine:
    points: list[tuple[float, float | None]] = []
    before: BatchFigures | None = None
    for each in batches:
        at = each.at.timestamp()
        if before is not None and at - before.at.timestamp() > _BREAK_SECONDS:
            points.append((at, None))
        points.append((at, value(each)))
        before = each
    return ChartLine(name, points)


def _phases(batches: Sequence[BatchFigures]) -> list[ChartLine]:
    named = [
        ChartLine(phase, [(each.at.timestamp(), each.phases.get(phase, 0.0) / 1000) for each in batches])
        for phase in PHASES
    ]
    rest = []
    for each in batches:
        unnamed = each.phases.get(_WHOLE, 0.0) - sum(each.phases.get(phase, 0.0) for phase in PHASES)
        rest.append((each.at.timestamp(), max(0.0, unnamed) / 1000))
    return [*named, ChartLine("rest", rest)]


def _watermark_gap(batch: BatchFigures) -> float | None:
    """Return how far the watermark is behind the batch's time; None of one that has none yet."""
    if batch.watermark is None or batch.watermark.timestamp() <= 0:
        return None
    return max(0.0, (batch.at - batch.watermark).total_seconds())
