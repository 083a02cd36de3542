"""The heartbeats at the end of a range: they move arrival times and the watermark past the last interval.

When a feed ends, nothing follows that would complete the last intervals, so they would stay open for ever. A heartbeat
does, and because it is the smallest that completes them, the next range's records are still on time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime

from sluice.intervals.alignment import interval_of
from sluice.settling.rules import SettlingRules
from sluice.specs.model.model import PipelineSpec, TopicValue
from sluice.topics.declared_time import next_written, write_time
from sluice.values.paths import put_at


def heartbeat_times(last_event: datetime, topic: str, pipelines: Iterable[PipelineSpec]) -> tuple[datetime, ...]:
    """Return the heartbeats that close the interval of `last_event` in every pipeline; none if none has intervals.

    No two of them lie further apart than `max_advance` allows: a longer gap would settle nothing. The last one is the
    smallest that completes each settled interval whose rows the event may change, and that closes its live windows.
    A pipeline that reads further topics waits for these as well: their own feeds send what they need.

    Args:
        last_event: when the last record of a range happened (UTC).
        topic: the topic to which they are sent; of the pipelines only the rules of this topic count.
        pipelines: those that read it.
    """
    settled = [pipeline for pipeline in pipelines if pipeline.has_intervals]
    if not settled:
        return ()
    times = [max(_closing_time(last_event, topic, pipeline) for pipeline in settled)]
    rules = [pipeline.time_of(topic) for pipeline in settled]
    step = min(each.max_advance for each in rules)
    latest_arrival = last_event + max(each.allowed_lateness for each in rules)
    while times[0] - step > latest_arrival:
        times.insert(0, times[0] - step)
    return tuple(times)


def _closing_time(last_event: datetime, topic: str, pipeline: PipelineSpec) -> datetime:
    rules = SettlingRules.of(pipeline, topic)
    (last,) = deque(rules.touched(last_event), maxlen=1)
    return max(last.end + rules.margin, interval_of(last_event, rules.length).end + pipeline.time_of(topic).delay)


def written_from(value: TopicValue, at: datetime) -> datetime:
    """Return the first time from `at` on that a heartbeat can bear: a coarse form would leave its interval open."""
    fields = [value.fields[name] for name in _times(value)]
    for _ in fields:  # what is whole in the coarser form is whole in the finer one
        at = max(next_written(at, field) for field in fields)
    return at


def heartbeat_value(value: TopicValue, at: datetime) -> Mapping[str, object]:
    """Return a heartbeat whose event and arrival time are `at`.

    Raises:
        ValueError: the topic declares no heartbeats.
    """
    if value.heartbeat is None:
        raise ValueError("the value declares no heartbeat field")
    written: dict[str, object] = {}
    put_at(written, value.fields[value.heartbeat].keys(value.heartbeat), True)
    for name in _times(value):
        put_at(written, value.fields[name].keys(name), write_time(at, value.fields[name]))
    return written


def _times(value: TopicValue) -> list[str]:
    """Return the fields with the times of a heartbeat."""
    return sorted({value.event_time} | ({value.arrival_time} - {"broker"}))
