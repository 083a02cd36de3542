"""How long until a topic's retention overtakes a stream, and what it has overtaken already."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from sluice.streams.health.observation import Evidence
from sluice.streams.health.window import LogBounds, Window

HORIZON = timedelta(hours=2)
"""A loss that is further off than this, or than half of the retention, is none to wake anybody for."""
LEAST_SPAN_SECONDS = 300.0


def lost(seen: Evidence) -> Mapping[str, int]:
    """Return the records per `topic/partition` that the broker has no more, and that were never read."""
    committed = seen.committed or {}
    gone = {p: start - committed[p] for p, start in (seen.starts or {}).items() if committed.get(p, start) < start}
    return dict(sorted(gone.items()))


def seconds_to_loss(seen: Evidence, window: Window, age: float | None, aging: float) -> float | None:
    """Return in how many seconds the first unread record is deleted, if it goes on like this; None: not in sight.

    Two estimates, the nearer one counts: by the age of the first unread record against the retention that the spec
    declares, and by the speeds at which the log's first offset and the stream's position have moved.

    Args:
        seen: the newest look.
        window: the looks before, and this one.
        age: how many seconds the first unread record waits, at least; None if that is not known.
        aging: by how many seconds per second the age grows; 1 for a stream that stands still.
    """
    estimates = [_by_offsets(seen, window)]
    if seen.rhythm.retention is not None and age is not None and aging > 0:
        estimates.append(max(0.0, seen.rhythm.retention.total_seconds() - age) / aging)
    known = [estimate for estimate in estimates if estimate is not None]
    return min(known, default=None)


def horizon_seconds(seen: Evidence) -> float:
    """Return how near a loss must be to be called a risk."""
    retention = seen.rhythm.retention
    return min(HORIZON, HORIZON if retention is None else retention / 2).total_seconds()


def _by_offsets(seen: Evidence, window: Window) -> float | None:
    now = seen.at.timestamp()
    if not window.edges or seen.starts is None or seen.committed is None:
        return None
    past, span = window.edges[0], now - window.edges[0].at
    if span < LEAST_SPAN_SECONDS:
        return None
    unread = seen.unread or {}
    times = [_until(seen, past, span, partition) for partition, records in unread.items() if records]
    return min((time for time in times if time is not None), default=None)


def _until(seen: Evidence, past: LogBounds, span: float, partition: str) -> float | None:
    start, position = (seen.starts or {}).get(partition), (seen.committed or {}).get(partition)
    if start is None or position is None or partition not in past.starts or partition not in past.positions:
        return None
    closing = (start - past.starts[partition]) / span - (position - past.positions[partition]) / span
    return max(0, position - start) / closing if closing > 0 else None
