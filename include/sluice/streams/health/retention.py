"""How long until a topic's retention overtakes a stream, and what it has overtaken already."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from sluice.streams.health.observation import Observation
from sluice.streams.health.window import LogBounds, Window

HORIZON = timedelta(hours=2)
"""A loss that is further off than this, or than half of the retention, is none to wake an operator for."""
MIN_SPAN_SECONDS = 300.0


def lost(observation: Observation) -> Mapping[str, int]:
    """Return the records per `topic/partition` that the broker has no more, and that were never read."""
    committed = observation.committed or {}
    gone = {
        p: start - committed[p] for p, start in (observation.starts or {}).items() if committed.get(p, start) < start
    }
    return dict(sorted(gone.items()))


def seconds_to_loss(observation: Observation, window: Window, age: float | None, aging: float) -> float | None:
    """Return in how many seconds the first unread record is deleted, if it goes on like this; None: not in sight.

    Two estimates, the nearer one counts: by the age of the first unread record against the retention that the spec
    declares, and by the speeds at which the log's first offset and the stream's position have moved.

    Args:
        observation: the newest observation.
        window: the observations before, and this one.
        age: how many seconds the first unread record waits, at least; None if that is not known.
        aging: by how many seconds per second the age grows; 1 for a stream that stands still.
    """
    estimates = [_by_offsets(observation, window)]
    if observation.rhythm.retention is not None and age is not None and aging > 0:
        estimates.append(max(0.0, observation.rhythm.retention.total_seconds() - age) / aging)
    known = [estimate for estimate in estimates if estimate is not None]
    return min(known, default=None)


def horizon_seconds(observation: Observation) -> float:
    """Return how near a loss must be to be called a risk."""
    retention = observation.rhythm.retention
    return min(HORIZON, HORIZON if retention is None else retention / 2).total_seconds()


def _by_offsets(observation: Observation, window: Window) -> float | None:
    now = observation.at.timestamp()
    if not window.edges or observation.starts is None or observation.committed is None:
        return None
    past, span = window.edges[0], now - window.edges[0].at
    if span < MIN_SPAN_SECONDS:
        return None
    unread = observation.unread or {}
    times = [_until(observation, past, span, partition) for partition, records in unread.items() if records]
    return min((time for time in times if time is not None), default=None)


def _until(observation: Observation, past: LogBounds, span: float, partition: str) -> float | None:
    start, position = (observation.starts or {}).get(partition), (observation.committed or {}).get(partition)
    if start is None or position is None or partition not in past.starts or partition not in past.positions:
        return None
    closing = (start - past.starts[partition]) / span - (position - past.positions[partition]) / span
    return max(0, position - start) / closing if closing > 0 else None
