"""What a proof observes beside its producers' journal, as plain data: outputs, readers, faults and alerts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sluice.topics.records import RecordPosition


class ObservedKind(StrEnum):
    """What an output keeps of a record, which decides what is checked of it."""

    RAW = "raw"
    ROWS = "rows"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class ObservedRecord:
    """A record as a reader of an output found it.

    Attributes:
        id: the one that it was sent with.
        checksum: of what the output shows of it.
        position: where the output says it was in the topic; None if it does not say.
        readable_at: when it could first be read, in seconds since 1970; None if nobody knows.
    """

    id: str
    checksum: str
    position: RecordPosition | None = None
    readable_at: float | None = None


@dataclass(frozen=True)
class ObservedRecords:
    """An output of one row per record.

    Attributes:
        name: of the output.
        kind: what it keeps.
        records: in the order in which a reader gets them, which counts per key for a topic and for raw records.
        expected: ids that belong into it; None: all that were sent. What is late or left out is not among them.
        is_complete: whether it was read to its end.
        topic: whose records they are; empty: those of all topics.
    """

    name: str
    kind: ObservedKind
    records: tuple[ObservedRecord, ...]
    expected: frozenset[str] | None = None
    is_complete: bool = True
    topic: str = ""

    @property
    def is_ordered(self) -> bool:
        """Whether the order of a key's records means something."""
        return self.kind is not ObservedKind.ROWS


@dataclass(frozen=True)
class ObservedLatest:
    """An output that keeps the newest record of each key: its sequence, and the checksum of what is shown of it."""

    name: str
    rows: Mapping[str, tuple[int, str]]


class RowsPromise(StrEnum):
    """How often the rows of an output are there."""

    EACH = "each"  # each row once
    AT_MOST = "at_most"  # each row once or not at all, because a crash may lose the rest of a batch
    NEWEST = "newest"  # of each key its newest row, or as the last one


@dataclass(frozen=True, slots=True)
class ObservedRow:
    """A row of an output.

    Attributes:
        key: the values that name it, in words; empty where nothing does.
        content: all its values, in words.
        made_of: the record that it is made of; None where that is not known, or where several have made it.
        topic: of that record; empty where there is only one.
    """

    key: str
    content: str
    made_of: RecordPosition | None = None
    topic: str = ""


@dataclass(frozen=True)
class ObservedRows:
    """An output of rows that a transform makes, beside those that it must hold.

    Attributes:
        name: of the output.
        promise: how often they are there.
        expected: what a batch makes of the good records in the topic; of NEWEST the newest row of each key. Where they
            say what they are made of, those of a key come in the order of its records.
        seen: what is there, in the order in which a reader gets it.
        older: rows of NEWEST that newer ones have replaced.
        allowed: rows that may be there or not.
        is_complete: whether it was read to its end.
        why: why not.
        is_ordered: whether the order of a key's rows means something: not in a table.
    """

    name: str
    promise: RowsPromise
    expected: tuple[ObservedRow, ...]
    seen: tuple[ObservedRow, ...]
    older: tuple[ObservedRow, ...] = ()
    allowed: tuple[ObservedRow, ...] = ()
    is_complete: bool = True
    why: str = ""
    is_ordered: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing had to be there, and nothing was."""
        return not (self.expected or self.seen)


@dataclass(frozen=True)
class ComparedInterval:
    """An interval of a table, compared with one that was computed from the records.

    Attributes:
        table: the table.
        start: of the interval, in words.
        is_equal: whether both have the same rows; None: it was not compared.
        why: what differs, or why nothing was compared.
    """

    table: str
    start: str
    is_equal: bool | None
    why: str = ""


@dataclass(frozen=True)
class ReaderLook:
    """What a reader saw of an output at one moment, while faults came: ids, and how many rows were there twice."""

    output: str
    at: float
    ids: frozenset[str]
    twice: int = 0


@dataclass(frozen=True)
class FiredFault:
    """A fault that was requested.

    Attributes:
        name: of the fault.
        at: when it struck, in seconds since 1970.
        evidence: what shows that it struck; empty: nothing does.
        healed: whether the pipeline was at work again afterwards; None: nobody knows, for nothing was sent after it.
    """

    name: str
    at: float
    evidence: str
    healed: bool | None = True


@dataclass(frozen=True)
class LatencyBounds:
    """What the outputs have promised, in seconds; None: nothing.

    Attributes:
        worst_minute: the average of any minute is at most this.
        p999: of a thousand records at most one takes longer.
        fresh: a reader sees what was acknowledged so long ago.
    """

    worst_minute: float | None = None
    p999: float | None = None
    fresh: float | None = None


NO_BOUNDS = LatencyBounds()


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """What validation makes of a record.

    Attributes:
        position: of the record in the topic.
        outcome: in words, such as `quarantined`.
        reason: why it is quarantined, in words; empty if it is not.
        topic: of the record; empty where there is only one.
    """

    position: RecordPosition
    outcome: str
    reason: str = ""
    topic: str = ""


@dataclass(frozen=True)
class Observations:
    """All that was seen.

    Attributes:
        outputs: of one row per record.
        latest: that keep the newest one.
        rows: of the rows that a transform makes.
        judged: what validation makes of the records in the topic; None: it was not asked.
        intervals: all of them, compared.
        interval_tables: whose intervals must be among them.
        ends: of each topic, per partition its first offset, and the one after its last.
        looks: of readers, in the order of time.
        faults: that were requested.
        alerts: that came, by name.
        expected_alerts: that had to come.
        bounds: of latencies.
        ended: how the driver ended though nobody asked it to; empty if it did not.
    """

    outputs: tuple[ObservedRecords, ...] = ()
    latest: tuple[ObservedLatest, ...] = ()
    rows: tuple[ObservedRows, ...] = ()
    judged: tuple[JudgedRecord, ...] | None = None
    intervals: tuple[ComparedInterval, ...] = ()
    interval_tables: frozenset[str] = frozenset()
    ends: Mapping[str, Mapping[int, tuple[int, int]]] = field(default_factory=dict)
    looks: tuple[ReaderLook, ...] = ()
    faults: tuple[FiredFault, ...] = ()
    alerts: frozenset[str] = frozenset()
    expected_alerts: frozenset[str] = frozenset()
    bounds: LatencyBounds = NO_BOUNDS
    ended: str = ""
