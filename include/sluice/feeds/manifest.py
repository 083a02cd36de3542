"""The manifest of a feed: what its topic has of it, per range, day and key, and how far that is known for certain.

Invariant: every record of the feed below `known_offsets` is counted here, and nothing else is. What lies beyond is
found out from the topic itself (`sluice.feeds.recovery`), so a manifest may be old, but never wrong.
"""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer

from sluice.disk import sync_folder, write_text
from sluice.errors import CorruptionError, NotReadyError, RefusedError
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


class Manifest(BaseModel):
    """One feed in one topic.

    Attributes:
        topic_id: the cluster's UUID: a topic that was created again has another one, and another manifest.
        sending: a run began and did not end, or not cleanly.
        known_offsets: per partition, the offset up to which this manifest is the truth.
        latest_event: the greatest event time in the topic, heartbeats included (UTC).
        complete: local days whose every record is in the topic.
        partial: identities of the records in the topic of other days.
        ranges: in the order in which they were asked for.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    feed: str
    topic: str
    topic_id: str
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


class ManifestStore:
    """Keeps one feed's manifest in a folder, and lets one process at a time send."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "manifest.json"

    def load(self) -> Manifest | None:
        """Return the manifest, or None if nothing was ever sent.

        Raises:
            CorruptionError: the file is no manifest.
        """
        try:
            return Manifest.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise CorruptionError(
                f"{self.path} is no manifest of a feed: {error.errors()[0]['msg']}.",
                fix="move it away; the next `sluice feed send` finds out from the topic what was sent.",
            ) from error

    def save(self, manifest: Manifest) -> None:
        """Replace the manifest: whoever reads it sees the old one or the new one, also after a power cut.

        Raises:
            NotReadyError: the disk does not take it.
        """
        try:
            write_text(self.path, manifest.model_dump_json(indent=1))
            sync_folder(self.folder)
        except OSError as error:
            raise NotReadyError(
                f"{self.path} cannot be written: {error.strerror}.",
                fix="free some space, then run the command again: it resumes where it stopped.",
            ) from error

    def retire(self, manifest: Manifest) -> None:
        """Put aside the manifest of a topic that no longer exists."""
        self.path.replace(self.folder / f"manifest-{manifest.topic_id}.json")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the feed's lock; the operating system releases it with the process, however that ends.

        Raises:
            RefusedError: another process is sending this feed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RefusedError(
                    f"Another process is sending this feed (it holds {lock.name}).",
                    fix="wait until it is done, or stop it; then run the command again.",
                ) from None
            yield
