"""A topic, what is appended to it, and the raw table that holds what its stream has read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.settling.examination import RecordTimes
from sluice.settling.rules import SettlingRules

EPOCH = datetime(2013, 1, 7, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

RecordId = tuple[str, int, int]
"""Topic id, partition, offset. The id is the name of the topic and the number of its life."""

Below = Mapping[str, Mapping[int, int] | None]
"""By topic id: the next offset of each partition; None: all of it."""


@dataclass(frozen=True)
class Record:
    """One record of the topic.

    Attributes:
        id: which.
        event: when it happened.
        arrival: when it became known; None if it does not decode.
        taken: whether the pipeline takes it into rows, if it is on time.
    """

    id: RecordId
    event: datetime
    arrival: datetime | None
    taken: bool = True

    def is_on_time(self, rules: SettlingRules) -> bool:
        return self.taken and self.arrival is not None and self.arrival - self.event <= rules.allowed_lateness


class Topic:
    """A topic, in its present life.

    Attributes:
        name: of the topic.
        number: of its life: one that is created again counts its offsets from zero.
        logs: the records of each partition.
        open_since: by partition, the offset at which a transaction that is not committed begins.
    """

    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        self.number = 0
        self.logs: list[list[Record]] = [[] for _ in range(partitions)]
        self.open_since: dict[int, int] = {}

    @property
    def id(self) -> str:
        return f"{self.name}{self.number}"

    def append(self, partition: int, event: datetime, arrival: datetime | None, *, taken: bool) -> None:
        log = self.logs[partition]
        log.append(Record((self.id, partition, len(log)), event, arrival, taken))

    def ends(self) -> Reach:
        """Return the ends of the log, open transactions included."""
        return Reach({f"{self.name}/{p}": len(log) for p, log in enumerate(self.logs)}, (self.id,))

    def readable(self, partition: int) -> int:
        """Return the last stable offset: up to there a reader of committed records comes."""
        return min(self.open_since.get(partition, len(self.logs[partition])), len(self.logs[partition]))

    def create_again(self) -> None:
        self.number += 1
        self.logs = [[] for _ in self.logs]
        self.open_since = {}


class Index:
    """Which records of a topic the rows of each interval are made of: those on time in its read range."""

    def __init__(self, rules: SettlingRules) -> None:
        self._rules = rules
        self._by_interval: dict[datetime, dict[RecordId, None]] = defaultdict(dict)

    def add(self, record: Record) -> None:
        if record.is_on_time(self._rules):
            for start in self.intervals(record):
                self._by_interval[start][record.id] = None

    def intervals(self, record: Record) -> Iterator[datetime]:
        """Yield the starts of the intervals in whose read range a record lies."""
        rules = self._rules
        start = EPOCH + (record.event - rules.lookahead - EPOCH) // rules.length * rules.length
        while start - rules.lookback <= record.event:
            if record.event < start + rules.length + rules.lookahead:
                yield start
            start += rules.length

    def rows(self, start: datetime, below: Below) -> list[RecordId]:
        return sorted(record for record in self._by_interval.get(start, ()) if is_below(record, below))


class RawStore:
    """The raw table of a topic: every record that its stream has read, life after life."""

    def __init__(self, topic: Topic, rules: SettlingRules) -> None:
        self._topic = topic
        self.index = Index(rules)
        self.version = 0
        self.topics: tuple[str, ...] = (topic.id,)
        self.ends: dict[str, int] = {}
        self.stored: list[Record] = []
        self.lost: list[Record] = []
        self.holes: tuple[Hole, ...] = ()

    def end(self, partition: int) -> int:
        """Return the next offset of a partition."""
        return self.ends.get(f"{self._topic.name}/{partition}", 0)

    def lose(self, partition: int, most: int) -> None:
        """Let retention delete records of a partition before they are read, and somebody acknowledge that."""
        self._meet_topic()
        first = self.end(partition)
        end = min(first + most, self._topic.readable(partition))
        if end > first and self.ends:  # the first commit of a topic begins where it begins
            self.lost += self._topic.logs[partition][first:end]
            self.holes = (*self.holes, Hole(self._topic.id, f"{self._topic.name}/{partition}", first, end))
            self._reach(partition, end)

    def around(self, hole: Hole, below: Reach) -> tuple[datetime | None, datetime | None]:
        """Return the arrival times right before and behind a hole, of what lies below a reach."""
        bounds = bounds_of(below)
        own = [r for r in self.stored if r.id[0] == hole.topic and partition_of(r.id) == hole.partition]
        known = [(r.id[2], r.arrival) for r in own if r.arrival is not None and is_below(r.id, bounds)]
        last = min((arrival for offset, arrival in known if offset >= hole.end), default=None)
        later = below.topics[below.topics.index(hole.topic) + 1 :]
        if last is None:
            last = min((r.arrival for r in self.stored if r.arrival and r.id[0] in later), default=None)
        ahead = (a for offset, a in known if offset < hole.first and (last is None or a <= last))
        return max(ahead, default=None), last

    def _meet_topic(self) -> None:
        if self.topics[-1] != self._topic.id:
            self.topics, self.ends = (*self.topics, self._topic.id), {}

    def read(self, partition: int, most: int) -> None:
        """Read up to so many records of one partition, in one commit."""
        self._meet_topic()
        first = self.end(partition)
        end = min(first + most, self._topic.readable(partition))
        if end > first:
            self.stored += self._topic.logs[partition][first:end]
            for record in self._topic.logs[partition][first:end]:
                self.index.add(record)
            self._reach(partition, end)

    def read_all(self) -> None:
        for partition in range(len(self._topic.logs)):
            self.read(partition, 10_000)

    def _reach(self, partition: int, end: int) -> None:
        self.ends[f"{self._topic.name}/{partition}"] = end
        self.version += 1

    def position(self) -> RawPosition:
        """Return how far it goes; before its first commit that is nowhere."""
        if not self.version:
            return RawPosition()
        return RawPosition(self.version, Reach(dict(self.ends), self.topics), self.holes)


def partition_of(record: RecordId) -> str:
    return f"{_name_of(record[0])}/{record[1]}"


def bounds_of(reach: Reach) -> Below:
    """Return what lies below a reach, of one topic or of several, by a reading of its own."""
    ids = [each.rpartition("/")[2] for each in reach.topics]
    newest = {_name_of(topic): topic for topic in ids}
    result: dict[str, Mapping[int, int] | None] = dict.fromkeys(ids)
    for name, topic in newest.items():
        split = ((partition.split("/"), end) for partition, end in reach.offsets.items())
        result[topic] = {int(number): end for (own, number), end in split if own == name}
    return result


def is_below(record: RecordId, bounds: Below) -> bool:
    topic, partition, offset = record
    ends = bounds.get(topic, {})
    return ends is None or offset < ends.get(partition, 0)


def times(record: Record, newest: str) -> RecordTimes:
    event = record.event if record.taken else None
    earlier = record.id[0] != newest
    return RecordTimes(partition_of(record.id), record.id[2], event, record.arrival, earlier)


def _name_of(topic: str) -> str:
    return topic.rstrip("0123456789")
