"""What a shorter retention deletes: which records, and which streams have not read them.

A broker deletes whole segments, oldest first, and stops at the first that has a record young enough to stay. So by time
no record goes at or after the first one that is young enough, and everything before it goes sooner or later: that is a
bound, exact up to one segment. By size the records that go can only be estimated, since no broker says where in a log
its bytes are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sluice.topics.administration import KafkaAdministration, TopicExtent
from sluice.wording import counted, listed

Position = Mapping[str, int] | None
"""The next offset that a stream reads, per `topic/partition` (`Observation.committed`); None: it could not be read.
Ask for it before the cluster: an end that is asked later is no earlier than what was read."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLEANUP, _DELETE = "cleanup.policy", "delete"
LARGEST_BYTES = 1_048_588
"""Kafka's default of `max.message.bytes`, the size of the largest batch of records."""


@dataclass(frozen=True)
class PartitionCut:
    """What a shorter retention deletes of one partition.

    Attributes:
        first: the first offset that the broker still has.
        end: the offset after its last record.
        stays: what is before this offset goes, at most or about.
        safe: no record from this offset on goes, for certain.
    """

    first: int
    end: int
    stays: int
    safe: int

    @property
    def held(self) -> int:
        """Records that it holds, at most: offsets that compaction has left out count."""
        return self.end - self.first

    @property
    def going(self) -> int:
        """Records that go, at most or about."""
        return self.stays - self.first


@dataclass(frozen=True)
class Unread:
    """What a stream has yet to read of the records that go.

    Attributes:
        stream: its name.
        records: how many; None: not known, so it may be any number.
        estimated: whether that is an estimate, which may be too small; otherwise it is a bound.
    """

    stream: str
    records: int | None
    estimated: bool = False

    def __str__(self) -> str:
        """Return it as a clause."""
        if self.records is None:
            return f"whether {self.stream} has yet to read some of them is not known"
        if not self.estimated:
            return f"{self.stream} has yet to read {counted(self.records, 'record')} of them, and never will"
        count = f"about {counted(self.records, 'record')}" if self.records else "some"
        return f"{self.stream} may have yet to read {count} of them, and never will"


@dataclass(frozen=True)
class Cut:
    """What a shorter retention deletes.

    Attributes:
        topic: its name.
        partitions: by number; empty if it is unknown, or if nothing goes.
        unread: the streams that lose records, or may; by name.
        estimated: whether the numbers are estimates, which may be too small; otherwise they are bounds.
        unknown: why the cut is not known, as a clause; empty if it is.
    """

    topic: str
    partitions: Mapping[int, PartitionCut]
    unread: tuple[Unread, ...] = ()
    estimated: bool = False
    unknown: str = ""

    @property
    def held(self) -> int:
        """Records that it holds, at most."""
        return sum(each.held for each in self.partitions.values())

    @property
    def going(self) -> int:
        """Records that go."""
        return sum(each.going for each in self.partitions.values())

    @property
    def share(self) -> float:
        """Which share of the topic goes."""
        return self.going / self.held if self.held else 0.0

    def clauses(self) -> tuple[str, ...]:
        """Return it as clauses, for people: what goes, and which streams lose it."""
        losses = tuple(map(str, self.unread))
        if self.unknown:
            return (f"how many records go is unknown: {self.unknown}", *losses)
        if not self.going:
            return ("no record goes at once", *losses)
        most = "about" if self.estimated else "at most"
        whole = "" if self.estimated else ", as the broker deletes whole segments"
        cut = f"{most} {counted(self.going, 'record')} go, {self.share:.1%} of {self.held:,}{whole}"
        return (f"{cut} ({_by_partition(self.topic, self.partitions)})", *losses)


def cutoff(now: datetime, retention_ms: int) -> datetime:
    """Return the time before which records go; the epoch where nothing goes, as with -1."""
    if retention_ms < 0 or retention_ms >= (now - _EPOCH) / timedelta(milliseconds=1):
        return _EPOCH
    return now - timedelta(milliseconds=retention_ms)


def cut_by_time(topic: str, extent: TopicExtent, stays: Mapping[int, int]) -> Cut:
    """Return what goes of a topic of which each partition keeps what `stays` names as its first young record."""
    firsts, ends = extent.beginnings, extent.ends
    bounded = {p: min(max(stays.get(p, end), firsts[p]), end) for p, end in ends.items()}
    return Cut(topic, {p: PartitionCut(firsts[p], end, bounded[p], bounded[p]) for p, end in sorted(ends.items())})


def cut_by_size(
    topic: str,
    extent: TopicExtent,
    keep_bytes: int,
    sizes: Mapping[int, int] | None,
    *,
    largest_bytes: int = LARGEST_BYTES,
) -> Cut:
    """Estimate what goes of a topic, as if all records of a partition had the same size.

    Certain is only that as many of the newest records stay as would fit if each were as large as the topic allows.

    Args:
        topic: its name.
        extent: what it holds.
        keep_bytes: how much of each partition is kept.
        sizes: bytes of each partition's log; None: not known.
        largest_bytes: the topic's `max.message.bytes`.
    """
    missing = sorted(p for p in extent.ends if p not in (sizes or {}))
    if sizes is None or missing:
        which = f" of partition {', '.join(map(str, missing))}" if sizes else ""
        why = f"the size of its logs{which} is not known; the newest {keep_bytes:,} bytes of each partition stay"
        return Cut(topic, {}, unknown=why)
    parts = {}
    for p, end in sorted(extent.ends.items()):
        held, size = end - extent.beginnings[p], sizes[p]
        first, excess = extent.beginnings[p], max(0, size - keep_bytes)
        stays = first + (-(-held * excess // size) if excess else 0)  # rounded up
        safe = max(stays, end - keep_bytes // largest_bytes) if excess else first
        parts[p] = PartitionCut(first, end, stays, safe)
    return Cut(topic, parts, estimated=True)


def deletes(cleanup_policy: str | None) -> bool:
    """Whether a retention counts at all for a topic with this policy; None: the broker's default, which deletes."""
    return cleanup_policy is None or _DELETE in cleanup_policy.split(",")


def unread_of(cut: Cut, committed: Mapping[str, Position]) -> tuple[Unread, ...]:
    """Return which streams lose records that they have yet to read, or may: all of a partition that was never read."""
    unread = [_unread(cut, stream, position) for stream, position in sorted(committed.items())]
    return tuple(each for each in unread if each is not None)


def observe_cut(
    cluster: KafkaAdministration, topic: str, retention_ms: int, committed: Mapping[str, Position], *, now: datetime
) -> Cut:
    """Ask the cluster what goes if records are kept for a shorter time, and which streams lose it, by their positions.

    Raises:
        RefusedError: there is no such topic.
        UnreachableError: the cluster did not answer.
    """
    extent = cluster.extent(topic)
    cut = cut_by_time(topic, extent, stays_at(cluster, topic, extent, retention_ms, now=now))
    return replace(cut, unread=unread_of(cut, committed))


def observe_cut_by_size(
    cluster: KafkaAdministration,
    topic: str,
    keep_bytes: int,
    committed: Mapping[str, Position],
    *,
    largest_bytes: int = LARGEST_BYTES,
) -> Cut:
    """Ask the cluster what goes, by estimate, if so many bytes of each partition are kept, and which streams lose it.

    Args:
        cluster: of the deployment.
        topic: its name.
        keep_bytes: how much of each partition is kept; negative: all of it.
        committed: the position of every stream that reads the topic, asked before this.
        largest_bytes: the topic's `max.message.bytes`.

    Raises:
        RefusedError: there is no such topic.
        UnreachableError: the cluster did not answer.
    """
    extent = cluster.extent(topic)
    if keep_bytes < 0:
        return cut_by_time(topic, extent, extent.beginnings)
    replicas = cluster.sizes([topic])
    sizes = {partition: max(of.values()) for (name, partition), of in replicas.items() if name == topic and of}
    cut = cut_by_size(topic, extent, keep_bytes, sizes, largest_bytes=largest_bytes)
    return replace(cut, unread=unread_of(cut, committed))


def stays_at(
    cluster: KafkaAdministration, topic: str, extent: TopicExtent, retention_ms: int, *, now: datetime
) -> Mapping[int, int]:
    """Return the first offset of each partition that is young enough; without one, the end."""
    at = cutoff(now, retention_ms)
    return extent.beginnings if at == _EPOCH else cluster.offsets_at(topic, at)


def kept_at(cluster: KafkaAdministration, topic: str, *, now: datetime) -> Callable[[int], int]:
    """Return how many records a retention of so many milliseconds keeps; each is asked for once."""
    extent, known = cluster.extent(topic), dict[int, int]()

    def kept(retention_ms: int) -> int:
        if retention_ms not in known:
            stays = stays_at(cluster, topic, extent, retention_ms, now=now)
            cut = cut_by_time(topic, extent, stays)
            known[retention_ms] = cut.held - cut.going
        return known[retention_ms]

    return kept


def _unread(cut: Cut, stream: str, position: Position) -> Unread | None:
    if position is None or cut.unknown:
        return Unread(stream, None)
    reached = {p: max(each.first, position.get(f"{cut.topic}/{p}", each.first)) for p, each in cut.partitions.items()}
    if any(reached[p] > each.end for p, each in cut.partitions.items()):  # it counts in another topic of this name
        return Unread(stream, None)
    if all(reached[p] >= each.safe for p, each in cut.partitions.items()):
        return None
    records = sum(max(0, each.stays - reached[p]) for p, each in cut.partitions.items())
    return Unread(stream, records, estimated=cut.estimated)


def _by_partition(topic: str, partitions: Mapping[int, PartitionCut]) -> str:
    losing = [f"{topic}/{p}: {each.going:,}" for p, each in partitions.items() if each.going]
    return listed(losing, noun="partitions")
