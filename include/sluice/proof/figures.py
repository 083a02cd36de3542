"""What the pictures of a proof show: counts over time, latency by minute, and counts by partition. Pure, and bounded.

The checker decides without them: they only show where it looked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sluice.proof.findings import ProofFault
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.proof.observations import (
    Observations,
    ObservedLatest,
    ObservedRecord,
    ObservedRecords,
    ObservedRows,
    RowsPromise,
)
from sluice.proof.rows import check_rows, contents_by_key

STEPS = 120
"""Moments of the counts over time: a picture is some hundred pixels wide."""
MINUTE = 60.0
Moment = Annotated[float, Field(ge=0, le=253_402_214_400)]
"""Seconds since 1970 that have a date."""
Count = Annotated[int, Field(ge=0, lt=2**63)]


class ProofFact(BaseModel):
    """What a report holds; what a later version has added is kept."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class ProofTimeline(ProofFact):
    """How many records there were at some moments, at most `STEPS` + 1.

    Attributes:
        at: the moments, in seconds since 1970.
        sent: how many had been sent.
        acknowledged: how many of these the broker has acknowledged, then or later.
        read: per output, how many of the sent ones a reader could see.
        waiting: per output, how many of the acknowledged ones that belong into it a reader could not see yet.
    """

    at: tuple[Moment, ...] = ()
    sent: tuple[Count, ...] = ()
    acknowledged: tuple[Count, ...] = ()
    read: dict[str, tuple[Count, ...]] = Field(default_factory=dict)
    waiting: dict[str, tuple[Count, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_a_picture(self) -> Self:
        counts = (self.sent, self.acknowledged, *self.read.values(), *self.waiting.values())
        if any(len(each) != len(self.at) for each in counts):
            raise ValueError("there are other moments than counts")
        if any(later < earlier for earlier, later in pairwise(self.at)):
            raise ValueError("the moments are not in their order")
        return self


class FaultSpan(ProofFact):
    """When a fault was felt.

    Attributes:
        name: of the fault.
        at: when it struck, in seconds since 1970.
        until: when the first record could be read that was sent after it; None if there was none.
    """

    name: str = ""
    at: Moment
    until: Moment | None = None


class MinuteLatency(ProofFact):
    """The records that were sent in one minute, in seconds: when it began, and how long they took."""

    at: Moment
    records: Count
    mean: float
    slowest: float


class PartitionCount(ProofFact):
    """What an output has of one partition.

    Attributes:
        partition: its number; None: of records about whose partition nothing is known, or of keys.
        sent: records that were acknowledged and belong into the output.
        found: different records in the output that were sent and belong there.
        lost: of `sent` those that are not found; None if the output was not read to its end.
        twice: records that are there more than once.
        phantom: records that are there and should not be.
    """

    partition: Count | None
    sent: Count = 0
    found: Count = 0
    lost: Count | None = 0
    twice: Count = 0
    phantom: Count = 0


class IntervalCount(ProofFact):
    """How many intervals of a table were equal to those of the batch, different from them, and not compared."""

    equal: Count = 0
    different: Count = 0
    not_compared: Count = 0


class ProofFigures(ProofFact):
    """All that is drawn, and counted for tables.

    Attributes:
        timeline: counts over time; None if nothing was sent.
        spans: of faults, in their order.
        minutes: per output that says when its records could be read.
        partitions: per output.
        intervals: per interval table.
    """

    timeline: ProofTimeline | None = None
    spans: tuple[FaultSpan, ...] = ()
    minutes: dict[str, tuple[MinuteLatency, ...]] = Field(default_factory=dict)
    partitions: dict[str, tuple[PartitionCount, ...]] = Field(default_factory=dict)
    intervals: dict[str, IntervalCount] = Field(default_factory=dict)


def figures_of(journal: SendJournal, seen: Observations) -> ProofFigures:
    """Return what the pictures of a proof show."""
    readable = {output.name: _readable(journal, output) for output in seen.outputs}
    timed = {name: times for name, times in readable.items() if times}
    return ProofFigures(
        timeline=_timeline(journal, seen, timed),
        spans=tuple(_spans(journal, seen, timed)),
        minutes={name: tuple(_minutes(journal, times)) for name, times in timed.items()},
        partitions={
            **{output.name: _partitions(journal, output) for output in seen.outputs},
            **{output.name: (_keys(journal, output),) for output in seen.latest},
            **{output.name: (_rows(output),) for output in seen.rows},
        },
        intervals=_intervals(seen),
    )


def _readable(journal: SendJournal, output: ObservedRecords) -> dict[str, float]:
    """Return when each sent record of an output could first be read, where that is known."""
    times: dict[str, float] = {}
    for record in output.records:
        if record.readable_at is not None and record.id in journal.by_id:
            times[record.id] = min(record.readable_at, times.get(record.id, record.readable_at))
    return times


def _timeline(journal: SendJournal, seen: Observations, timed: dict[str, dict[str, float]]) -> ProofTimeline | None:
    sent = sorted(record.sent_at for record in journal)
    if not sent:
        return None
    acknowledged = sorted(record.sent_at for record in journal.acknowledged)
    last = max([sent[-1], *(max(times.values()) for times in timed.values())])
    at = [sent[0] + (last - sent[0]) * step / STEPS for step in range(STEPS)] + [last]
    read, waiting = {}, {}
    for output in seen.outputs:
        if times := timed.get(output.name):
            found = {record.id for record in output.records if record.id in journal.by_id}
            due = {record.id: record.sent_at for record in journal.acknowledged if _belongs(record, output)}
            read[output.name] = _read(found, times, at)
            seen_of_due = _read(found & due.keys(), times, at)
            sent_of_due = _until(sorted(due.values()), at)
            waiting[output.name] = tuple(max(0, n - m) for n, m in zip(sent_of_due, seen_of_due, strict=True))
    return ProofTimeline(
        at=tuple(round(moment, 3) for moment in at),
        sent=_until(sent, at),
        acknowledged=_until(acknowledged, at),
        read=read,
        waiting=waiting,
    )


def _read(found: set[str], times: Mapping[str, float], at: Sequence[float]) -> tuple[int, ...]:
    """Return how many of the found records could be read; one without a time was there before anybody looked."""
    known = sorted(times[identity] for identity in found if identity in times)
    return _until(known, at, first=len(found) - len(known))


def _until(moments: Sequence[float], at: Sequence[float], first: int = 0) -> tuple[int, ...]:
    return tuple(first + bisect_right(moments, moment) for moment in at)


def _spans(journal: SendJournal, seen: Observations, timed: dict[str, dict[str, float]]) -> Iterator[FaultSpan]:
    for fault in seen.faults:
        after = [
            readable
            for times in timed.values()
            for identity, readable in times.items()
            if journal.by_id[identity].sent_at > fault.at
        ]
        until = min(after, default=None) if fault.healed else None
        yield FaultSpan(name=fault.name, at=fault.at, until=until)


def _minutes(journal: SendJournal, times: dict[str, float]) -> Iterator[MinuteLatency]:
    """Yield the minutes as the checker counts them: from the first record that has a time."""
    sent = {identity: journal.by_id[identity].sent_at for identity in times}
    begin = min(sent.values())
    waits: dict[int, list[float]] = defaultdict(list)
    for identity, readable in times.items():
        waits[int((sent[identity] - begin) // MINUTE)].append(readable - sent[identity])
    for minute, each in sorted(waits.items()):
        yield MinuteLatency(
            at=begin + minute * MINUTE, records=len(each), mean=round(fmean(each), 3), slowest=round(max(each), 3)
        )


def _partitions(journal: SendJournal, output: ObservedRecords) -> tuple[PartitionCount, ...]:
    counts: dict[int | None, Counter[str]] = defaultdict(Counter)
    times = Counter(record.id for record in output.records)
    for sent in journal.acknowledged:
        if _belongs(sent, output):
            counts[_partition(sent, None)].update(("sent", *([] if sent.id in times else ["lost"])))
    for record in {record.id: record for record in output.records}.values():
        known = journal.by_id.get(record.id)
        count = counts[_partition(known, record)]
        is_phantom = known is None or known.outcome is SendOutcome.FAILED or not _belongs(known, output)
        count["phantom" if is_phantom else "found"] += 1
        count["twice"] += times[record.id] > 1
    unread = {} if output.is_complete else {"lost": None}
    return tuple(
        PartitionCount(partition=partition, **{**counts[partition], **unread})
        for partition in sorted(counts, key=lambda each: (each is None, each or 0))
    )


def _belongs(sent: SentRecord, output: ObservedRecords) -> bool:
    is_of_topic = not output.topic or sent.topic == output.topic
    return is_of_topic and (output.expected is None or sent.id in output.expected)


def _partition(sent: SentRecord | None, record: ObservedRecord | None) -> int | None:
    """Return where a record is in the topic, as the broker has said, else as the output says."""
    places = (sent and sent.position, record and record.position)
    return next((place.partition for place in places if place), None)


def _keys(journal: SendJournal, output: ObservedLatest) -> PartitionCount:
    """Return what an output has of the keys whose newest record it keeps."""
    due = {record.key for record in journal.acknowledged}
    sent = {(record.key, record.sequence) for record in journal if record.outcome is not SendOutcome.FAILED}
    found = sum((key, sequence) in sent for key, (sequence, _) in output.rows.items())
    phantom = len(output.rows) - found
    return PartitionCount(
        partition=None, sent=len(due), found=found, lost=len(due - output.rows.keys()), phantom=phantom
    )


def _rows(output: ObservedRows) -> PartitionCount:
    """Return what the checker has counted in an output of rows; `sent` are those that are due."""
    cases = {finding.fault: finding.count for finding in check_rows(output)}
    due, found = _found(output)
    return PartitionCount(
        partition=None,
        sent=due,
        found=found,
        lost=cases.get(ProofFault.LOST, 0) if output.is_complete else None,
        twice=cases.get(ProofFault.TWICE, 0),
        phantom=cases.get(ProofFault.PHANTOM, 0),
    )


def _found(output: ObservedRows) -> tuple[int, int]:
    """Return how many rows are due, and how many of them are there: keys, where an output keeps the newest of each."""
    if output.promise is RowsPromise.NEWEST:
        newest, allowed = {row.key: row.content for row in output.seen}, contents_by_key(output.allowed)
        wanted = {key: each | allowed.get(key, set()) for key, each in contents_by_key(output.expected).items()}
        return len(wanted), sum(newest.get(key) in each for key, each in wanted.items())
    due, there = (Counter(row.content for row in rows) for rows in (output.expected, output.seen))
    return due.total(), (due & there).total()


def _intervals(seen: Observations) -> dict[str, IntervalCount]:
    words = {True: "equal", False: "different", None: "not_compared"}
    counts: dict[str, Counter[str]] = {table: Counter() for table in sorted(seen.interval_tables)}
    for interval in seen.intervals:
        counts.setdefault(interval.table, Counter())[words[interval.is_equal]] += 1
    return {table: IntervalCount(**found) for table, found in counts.items()}
