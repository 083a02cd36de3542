"""A topic, what is appended to it, and the raw table that holds what its stream has read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sluice.intervals.reach import Hole, RawPosition, Reach
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


class Index:
    """Which records the rows of each interval are made of: those on time in its read range."""

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

    def rows(self, start: datetime, below: Reach) -> list[RecordId]:
        return sorted(record for record in self._by_interval.get(start, ()) if is_below(record, below))


class RawStore:
    """The raw table: every record that its stream has read, topic after topic."""

    def __init__(self, topic: Topic, rules: SettlingRules) -> None:
        self._topic = topic
        self.index = Index(rules)
        self.version = 0
        self.topics: tuple[str, ...] = (topic.id,)
        self.ends: dict[str, int] = {}
        self.stored: list[Record] = []
        self.lost: list[Record] = []
        self.holes: tuple[Hole, ...] = ()

    def lose(self, partition: int, most: int) -> None:
        """Let retention delete records of a partition before they are read, and somebody acknowledge that."""
        self._meet_topic()
        first = self.ends.get(name(partition), 0)
        end = min(first + most, self._topic.readable(partition))
        if end > first and self.ends:  # the first commit of a topic begins where it begins
            self.lost += self._topic.logs[partition][first:end]
            self.holes = (*self.holes, Hole(self._topic.id, name(partition), first, end))
            self.ends[name(partition)] = end
            self.version += 1

    def around(self, hole: Hole, below: Reach) -> tuple[datetime | None, datetime | None]:
        """Return the arrival times right before and behind a hole, of what lies below a reach."""
        own = [r for r in self.stored if r.id[0] == hole.topic and name(r.id[1]) == hole.partition]
        known = [(r.id[2], r.arrival) for r in own if r.arrival is not None and is_below(r.id, below)]
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
        first = self.ends.get(name(partition), 0)
        end = min(first + most, self._topic.readable(partition))
        if end > first:
            self.stored += self._topic.logs[partition][first:end]
            for record in self._topic.logs[partition][first:end]:
                self.index.add(record)
            self.ends[name(partition)] = end
            self.version += 1

    def position(self) -> RawPosition:
        """Return how far it goes; before its first commit that is nowhere."""
        if not self.version:
            return RawPosition()
        return RawPosition(self.version, Reach(dict(self.ends), self.topics), self.holes)


def name(partition: int) -> str:
    return f"flights/{partition}"


def is_below(record: RecordId, reach: Reach) -> bool:
    topic, partition, offset = record
    if not reach.topics:
        return False
    if topic == reach.topics[-1]:
        return offset < reach.offsets.get(name(partition), 0)
    return topic in reach.topics


def times(record: Record, newest: str) -> RecordTimes:
    event = record.event if record.taken else None
    topic, partition, offset = record.id
    return RecordTimes(name(partition), offset, event, record.arrival, record.witnessed, topic != newest)
