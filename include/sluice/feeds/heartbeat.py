"""The heartbeat at the end of a range: it moves arrival times and the watermark past the last interval.

When a feed ends, nothing follows that would complete the last intervals, so they would stay open for ever. A heartbeat
does, and because it is the smallest that moves the watermark past them, the next range's records are still on time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from sluice.feeds.record import JsonValue
from sluice.intervals.alignment import interval_of
from sluice.specs.model.model import PipelineSpec, TopicValue
from sluice.topics.declared_time import write_time


def heartbeat_time(last_event: datetime, interval_length: timedelta, delay: timedelta) -> datetime:
    """Return the smallest event time that moves the watermark past the interval of `last_event`.

    The watermark is the greatest event time - delay.
    """
    return interval_of(last_event, interval_length).end + delay


def closing_time(last_event: datetime, pipelines: Iterable[PipelineSpec]) -> datetime | None:
    """Return the heartbeat that closes the interval of `last_event` in every pipeline; None if none has any."""
    return max(
        (
            heartbeat_time(last_event, pipeline.intervals.interval_length, pipeline.time.delay)
            for pipeline in pipelines
            if pipeline.has_intervals
        ),
        default=None,
    )


def heartbeat_value(value: TopicValue, at: datetime) -> Mapping[str, JsonValue]:
    """Return a heartbeat whose event and arrival time are `at`.

    Raises:
        ValueError: the topic declares no heartbeats.
    """
    if value.heartbeat is None:
        raise ValueError("the value declares no heartbeat field")
    times = {value.event_time} | ({value.arrival_time} - {"broker"})
    return {value.heartbeat: True, **{name: write_time(at, value.fields[name]) for name in sorted(times)}}
