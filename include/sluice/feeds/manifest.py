"""The manifest of a feed: what its topic has of it, per range, day and key, and how far that is known for certain.

Invariant: every record of the feed below `known_offsets` is counted here, and nothing else is. What lies beyond is
found out from the topic itself (`sluice.feeds.recovery`), so a manifest may be old, but never wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from sluice.feeds.manifest_file import ManifestFile, TopicManifest
from sluice.feeds.record import FeedRecord
from sluice.topics.records import RecordPosition


class SentRange(BaseModel):
    """What was sent by a command for local days `first` to `last`.

    A record that an earlier range had sent is counted there and not here.

    Attributes:
        records: acknowledged records, without heartbeats; `days` and `keys` split the same number.
        heartbeat: the instant of the heartbeat that ended it (UTC).
        start: end offsets of the topic when it began. `end`: the same when it was finished.
        finished: all records of these days are in the topic.
    """

    model_config = ConfigDict(extra="forbid")

    first: date
    last: date
    records: int = 0
    days: Counter[date] = Field(default_factory=Counter)
    keys: Counter[str] = Field(default_factory=Counter)
    heartbeat: datetime | None = None
    start: dict[int, int] = Field(default_factory=dict)
    end: dict[int, int] = Field(default_factory=dict)
    started_at: datetime
    finished_at: datetime | None = None
    finished: bool = False


class Manifest(TopicManifest):
    """One feed in one topic.

    Attributes:
        sending: a run began and did not end, or not cleanly.
        known_offsets: per partition, the offset up to which this manifest is the truth.
        latest_event: the greatest event time in the topic, heartbeats included (UTC).
        complete: local days whose every record is in the topic.
        partial: identities of the records in the topic of other days.
        ranges: in the order in which they were asked for.
    """

    sending: bool = False
    known_offsets: dict[int, int] = Field(default_factory=dict)
    latest_event: datetime | None = None
    complete: set[date] = Field(default_factory=set)
    partial: dict[date, set[int]] = Field(default_factory=dict)
    ranges: list[SentRange] = Field(default_factory=list)

    @property
    def records(self) -> int:
        """Number of the feed's records in the topic, without heartbeats."""
        return sum(entry.records for entry in self.ranges)

    def days(self) -> Counter[date]:
        """Return the number of records in the topic per local day."""
        return sum((entry.days for entry in self.ranges), Counter[date]())

    def keys(self) -> Counter[str]:
        """Return the number of records in the topic per key."""
        return sum((entry.keys for entry in self.ranges), Counter[str]())

    def entry(self, first: date, last: date) -> SentRange | None:
        """Return the entry of a range that was asked for before."""
        return next((entry for entry in self.ranges if (entry.first, entry.last) == (first, last)), None)

    def begin(self, first: date, last: date, ends: Mapping[int, int], now: datetime) -> SentRange:
        """Return the entry of a range of local days; a new one, with the topic's ends, if it was never requested."""
        entry = self.entry(first, last)
        if entry is None:
            entry = SentRange(first=first, last=last, start=dict(ends), started_at=now)
            self.ranges.append(entry)
        return entry

    def add(self, entry: SentRange, record: FeedRecord, position: RecordPosition, sizes: Mapping[date, int]) -> None:
        """Count an acknowledged record; `sizes` is the number of records per day in the source."""
        entry.records += 1
        entry.days[record.day] += 1
        entry.keys[(record.key or b"").decode()] += 1
        sent = self.partial.setdefault(record.day, set())
        sent.add(record.identity)
        if len(sent) == sizes[record.day]:
            self.complete.add(record.day)
            del self.partial[record.day]
        self.advance(record.event, position)

    def advance(self, event: datetime, position: RecordPosition) -> None:
        """Note an event time, and that everything up to this position is counted."""
        self.latest_event = event if self.latest_event is None else max(self.latest_event, event)
        self.known_offsets[position.partition] = position.offset + 1

    def has(self, record: FeedRecord) -> bool:
        """Tell whether a record is in the topic."""
        return record.day in self.complete or record.identity in self.partial.get(record.day, ())

    def missing(self, first: date, last: date, sizes: Mapping[date, int]) -> int:
        """Return how many records of these local days are not in the topic."""
        return sum(
            size - len(self.partial.get(day, ()))
            for day, size in sizes.items()
            if first <= day <= last and day not in self.complete
        )

    @field_serializer("complete")
    def _sorted_days(self, days: set[date]) -> list[date]:
        return sorted(days)

    @field_serializer("partial")
    def _sorted_identities(self, partial: dict[date, set[int]]) -> dict[date, list[int]]:
        return {day: sorted(partial[day]) for day in sorted(partial)}


class ManifestStore(ManifestFile[Manifest]):
    """Keeps the manifest of a feed that is sent by ranges of days."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            Manifest,
            name="manifest",
            rebuilt="the next `sluice feed send` finds out from the topic what was sent",
        )
