"""What one record has to do with the intervals of a table that may be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sluice.intervals.alignment import Interval
from sluice.intervals.ledger import Ledger, LedgerRow, State, Written
from sluice.intervals.reach import Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.settling.rules import SettlingRules
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.sources import table_input
from sluice.tracing.judgement import FoundRecord, Judgement
from sluice.wording import ExplainedEnum


class Part(ExplainedEnum):
    """What part a record has in an interval."""

    TAKEN = "taken", "its rows were computed with the record"
    REPLAYED = "replayed", "its rows were computed with the record, which did not decode when it came"
    OPEN = "open", "it is not settled yet, and the record will be among its records"
    MISSED = "missed", "it was written before the record was read", "a repair of the dirty interval takes it"
    LATE = "late", "its rows are made without the record, which came too late", "a backfill in mode correct adds it"
    REFUSED = "refused", "its rows are made without the record, which no transform is given"
    UNWRITTEN = "unwritten", "nobody has settled it, and later ones are settled", "a recompute gives it its rows"


@dataclass(frozen=True)
class TracedInterval:
    """An interval whose rows a record may have become part of.

    Attributes:
        interval: its bounds.
        part: the record's.
        state: as today's code sees it.
        row: what the ledger knows of it.
    """

    interval: Interval
    part: Part
    state: State
    row: LedgerRow

    @property
    def holds(self) -> bool:
        """Whether readers see rows that were computed with the record."""
        return self.part in (Part.TAKEN, Part.REPLAYED)


def traced_intervals(
    record: FoundRecord, judgement: Judgement, ledger: Ledger, code: str, touched: Iterable[Interval]
) -> tuple[TracedInterval, ...]:
    """Return the intervals that a record has a part in, in order.

    A record without a time has none, but where a replay has read it again.

    Args:
        record: as the raw table holds it.
        judgement: what the pipeline's rules make of it.
        ledger: of the pipeline's table.
        code: the hash of today's code.
        touched: the intervals whose rows a record of its time may change.
    """
    own = {each.start: each for each in touched}
    again = {row.interval.start: row.interval for row in ledger.spans if _is_replayed(row, record)}
    found = []
    for _, interval in sorted({**own, **again}.items()):
        row = ledger.rows.get(interval.start) or LedgerRow(interval)
        found.append(TracedInterval(interval, part_of(row, record, judgement, ledger), row.state(code), row))
    return tuple(found)


def part_of(row: LedgerRow, record: FoundRecord, judgement: Judgement, ledger: Ledger) -> Part:
    """Return what part a record has in one interval.

    Args:
        row: what the ledger knows of the interval.
        record: the record.
        judgement: what the pipeline's rules make of it.
        ledger: of the table.
    """
    written = row.current
    if _is_replayed(row, record):
        return Part.REPLAYED
    if judgement.is_refused:
        return Part.REFUSED
    if judgement.is_late and (written is None or not written.late):
        return Part.LATE
    if written is None:
        closed = ledger.closed_until is not None and row.interval.end <= ledger.closed_until
        return Part.UNWRITTEN if closed else Part.OPEN
    return Part.TAKEN if has_read(written, record) else Part.MISSED


def has_read(written: Written, record: FoundRecord) -> bool:
    """Whether who wrote an interval had read a record."""
    topic = record.row.topic_id
    below = Reach({record.address.key: record.address.offset + 1}, (topic,) if topic else ())
    return written.reach.of(record.address.topic).covers(below)


def _is_replayed(row: LedgerRow, record: FoundRecord) -> bool:
    """Whether an interval was computed with a record that did not decode when it came."""
    return row.current is not None and record.place in RecordPositions.joined(row.current.replayed)


@dataclass(frozen=True)
class RestingInterval:
    """An interval of another pipeline, which is made of rows of a settled table.

    Attributes:
        pipeline: the other one.
        table: that it reads.
        interval: its bounds.
        state: as its today's code sees it.
        row: what its ledger knows of it.
        current: whether it was computed from the rows that the table holds now; None: it is not settled yet.
    """

    pipeline: str
    table: str
    interval: Interval
    state: State
    row: LedgerRow
    current: bool | None


def resting_intervals(
    pipeline: PipelineSpec, table: str, ledger: Ledger, code: str, below: Mapping[Interval, int | None]
) -> tuple[RestingInterval, ...]:
    """Return the intervals of a pipeline that are made of rows of some intervals of a table, in order.

    Args:
        pipeline: its spec.
        table: the table's name.
        ledger: of the pipeline's own table.
        code: the hash of its today's code.
        below: the intervals of the table that it reads, each with the version that wrote it; None: none did.
    """
    found, rules = dict[Interval, bool](), SettlingRules.of(pipeline, table_input(table))
    for interval, version in below.items():
        for own in rules.touched_by_any_of(interval):
            row = ledger.rows.get(own.start)
            read = -1 if row is None or row.current is None else _version_read(row.current, table)
            found[own] = found.get(own, True) and version is not None and read >= version
    rows = ((each, ledger.rows.get(each.start) or LedgerRow(each), up_to_date) for each, up_to_date in found.items())
    return tuple(
        RestingInterval(pipeline.name, table, each, row.state(code), row, None if row.current is None else up_to_date)
        for each, row, up_to_date in sorted(rows, key=lambda found: found[0])
    )


def _version_read(written: Written, table: str) -> int:
    """Return the version of a table that an interval was computed from; -1 if its log does not say so."""
    own = table_input(table)
    return written.reach.of(own).offsets.get(f"{own}/0", 0) - 1
