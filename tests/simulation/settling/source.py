"""A topic, what is appended to it, and the raw table that holds what its stream has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sluice.intervals.reach import RawPosition, Reach
from sluice.settling.examination import RecordTimes
from sluice.settling.rules import SettlingRules

EPOCH = datetime(2013, 1, 7, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

RecordId = tuple[str, int, int]
"""Topic id, partition, offset."""


@dataclass(frozen=True)
class Record:
    """One record of the topic.

    Attributes:
        id: which.
        event: when it happened.
        arrival: when it became known; None if it does not decode.
        taken: whether the pipeline takes it into rows, if it is on time.
        witnessed: the broker's clock bears its arrival time out.
    """

    id: RecordId
    event: datetime
    arrival: datetime | None
    taken: bool = True
    witnessed: bool = False

    def is_on_time(self, rules: SettlingRules) -> bool:
        return self.taken and self.arrival is not None and self.arrival - self.event <= rules.allowed_lateness


class Topic:
    """The topic, in its present life.

    Attributes:
        number: of its life: one that is created again counts its offsets from zero.
        logs: the records of each partition.
        open_since: by partition, the offset at which a transaction that is not committed begins.
    """

    def __init__(self, partitions: int) -> None:
        self.number = 0
        self.logs: list[list[Record]] = [[] for _ in range(partitions)]
        self.open_since: dict[int, int] = {}

    @property
    def id(self) -> str:
        return f"topic{self.number}"

    def append(
        self, partition: int, event: datetime, arrival: datetime | None, *, taken: bool, witnessed: bool
    ) -> None:
        log = self.logs[partition]
        log.append(Record((self.id, partition, len(log)), event, arrival, taken, witnessed))

    def ends(self) -> Reach:
        """Return the ends of the log, open transactions included."""
        return Reach({name(p): len(log) for p, log in enumerate(self.logs)}, (self.id,))

    def readable(self, partition: int) -> int:
        """Return the last stable offset: up to there a reader of committed records comes."""
        return min(self.open_since.get(partition, len(self.logs[partition])), len(self.logs[partition]))

    def create_again(self) -> None:
        self.number += 1
        self.logs = [[] for _ in self.logs]
        self.open_since = {}


class RawStore:
    """The raw table: every record that its stream has read, topic after topic."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self.version = 0
        self.topics: tuple[str, ...] = (topic.id,)
        self.ends: dict[str, int] = {}
        self.stored: list[Record] = []

    def read(self, partition: int, most: int) -> None:
        """Read up to so many records of one partition, in one commit."""
        if self.topics[-1] != self._topic.id:
            self.topics, self.ends = (*self.topics, self._topic.id), {}
        first = self.ends.get(name(partition), 0)
        end = min(first + most, self._topic.readable(partition))
        if end > first:
            self.stored += self._topic.logs[partition][first:end]
            self.ends[name(partition)] = end
            self.version += 1

    def position(self) -> RawPosition:
        return RawPosition(self.version, Reach(dict(self.ends), self.topics))

    def below(self, reach: Reach) -> Iterator[Record]:
        """Yield the stored records below a reach."""
        return (record for record in self.stored if is_below(record.id, reach))


def name(partition: int) -> str:
    return f"flights/{partition}"


def is_below(record: RecordId, reach: Reach) -> bool:
    topic, partition, offset = record
    if not reach.topics:
        return False
    if topic == reach.topics[-1]:
        return offset < reach.offsets.get(name(partition), 0)
    return topic in reach.topics


def times(record: Record) -> RecordTimes:
    event = record.event if record.taken else None
    return RecordTimes(name(record.id[1]), record.id[2], event, record.arrival, record.witnessed)


def rows_of(records: Iterator[Record], start: datetime, rules: SettlingRules) -> list[RecordId]:
    """Return what the interval that starts then is made of: the records on time in its read range."""
    first, end = start - rules.lookback, start + rules.length + rules.lookahead
    return sorted(record.id for record in records if first <= record.event < end and record.is_on_time(rules))
