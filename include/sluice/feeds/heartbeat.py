"""The heartbeats at the end of a range: they move arrival times and the watermark past the last interval.

When a feed ends, nothing follows that would complete the last intervals, so they would stay open for ever. A heartbeat
does, and because it is the smallest that completes them, the next range's records are still on time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime

from sluice.feeds.record import JsonValue
from sluice.intervals.alignment import interval_of
from sluice.settling.rules import SettlingRules
from sluice.specs.model.model import PipelineSpec, TopicValue
from sluice.topics.declared_time import write_time


def heartbeat_times(last_event: datetime, pipelines: Iterable[PipelineSpec]) -> tuple[datetime, ...]:
    """Return the heartbeats that close the interval of `last_event` in every pipeline; none if none has intervals.

    No two of them lie further apart than `max_advance` allows: a longer gap would settle nothing. The last one is the
    smallest that completes each settled interval whose rows the event may change, and that closes its live windows.
    """
    settled = [pipeline for pipeline in pipelines if pipeline.has_intervals]
    if not settled:
        return ()
    times = [max(_closing_time(last_event, pipeline) for pipeline in settled)]
    step = min(pipeline.time.max_advance for pipeline in settled)
    latest_arrival = last_event + max(pipeline.time.allowed_lateness for pipeline in settled)
    while times[0] - step > latest_arrival:
        times.insert(0, times[0] - step)
    return tuple(times)


def _closing_time(last_event: datetime, pipeline: PipelineSpec) -> datetime:
    rules = SettlingRules.of(pipeline)
    (last,) = deque(rules.touched(last_event), maxlen=1)
    return max(last.end + rules.margin, interval_of(last_event, rules.length).end + pipeline.time.delay)


def heartbeat_value(value: TopicValue, at: datetime) -> Mapping[str, JsonValue]:
    """Return a heartbeat whose event and arrival time are `at`.

    Raises:
        ValueError: the topic declares no heartbeats.
    """
    if value.heartbeat is None:
        raise ValueError("the value declares no heartbeat field")
    times = {value.event_time} | ({value.arrival_time} - {"broker"})
    return {value.heartbeat: True, **{name: write_time(at, value.fields[name]) for name in sorted(times)}}
