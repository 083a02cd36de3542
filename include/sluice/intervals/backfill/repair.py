"""Which repair backfill a ledger needs, and whether it is started now.

A repair recomputes intervals that are known to be incomplete, without being asked. What it would work on has a
fingerprint: the same dirty intervals, written by the same code, are tried once a day, so that a repair that cannot
succeed is not repeated for ever, and one that failed for a passing reason is not forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import Backfill
from sluice.intervals.backfill.claiming import overlap
from sluice.intervals.backfill.selection import MAX_INTERVALS
from sluice.intervals.ledger import Ledger, LedgerRow
from sluice.intervals.rows import REOPENED


@dataclass(frozen=True)
class Repair:
    """A repair that a ledger needs.

    Attributes:
        range: from the first to the last dirty interval; a recompute of only the dirty ones takes them out of it.
        rows: the dirty intervals that are closed, in order; alike and without rows, several are one.
        fingerprint: names what it would work on; another one once anything about these intervals or the code changes.
    """

    range: Interval
    rows: tuple[LedgerRow, ...]
    fingerprint: str

    @property
    def count(self) -> int:
        """How many intervals are dirty."""
        return sum(row.count for row in self.rows)

    @property
    def why(self) -> str:
        """The reason that goes on record."""
        first = self.rows[0]
        more = f" and {self.count - 1:,} more" if self.count > 1 else ""
        return f"repair of {first.interval.start:%FT%RZ}{more}: {first.dirty[0]}"


@dataclass(frozen=True)
class Decision:
    """Whether a repair is started, and why."""

    start: bool
    why: str


def needed_repair(ledger: Ledger, code: str) -> Repair | None:
    """Return the repair of closed intervals that are dirty and can be made good; None if there are none.

    What lies further from the first one than a backfill checks is left for the next repair. What is open again waits
    until it is settled.

    Args:
        ledger: of the pipeline's output.
        code: today's hash.
    """
    dirty = (row for row in ledger.spans if row.dirty and row.interval.start not in ledger.ahead)
    rows = tuple(row for row in dirty if ledger.closes(row) and not _is_settled_again(row, ledger))
    if not rows:
        return None
    until = rows[0].interval.start + MAX_INTERVALS * rows[0].length
    rows = tuple(near for row in rows if (near := row.within(None, until)) is not None)
    return Repair(Interval(rows[0].interval.start, rows[-1].interval.end), rows, _fingerprint(rows, code))


def run_id(repair: Repair, now: datetime) -> str:
    """Return the id of the one run that tries this repair today (UTC)."""
    return f"repair__{now:%Y-%m-%d}__{repair.fingerprint}"


def decide(
    repair: Repair | None, *, wanted: bool, most: int, active_runs: int, at_work: Iterable[Backfill], tried: bool
) -> Decision:
    """Decide whether to start a repair.

    Args:
        repair: what the ledger needs.
        wanted: whether the spec asks for repairs.
        most: how many intervals are repaired without being asked.
        active_runs: how many runs of the pipeline's backfill DAG are running or queued.
        at_work: backfills of the pipeline whose processes live.
        tried: whether this very repair was started today.
    """
    if repair is None:
        return Decision(start=False, why="no closed interval is dirty whose records are all in the raw table")
    found = f"dirty closed intervals: {repair.count}, the first at {repair.range.start:%FT%RZ}"
    other = next((backfill.id for backfill in at_work if overlap(backfill.request.range, repair.range)), "")
    many = f"more than the {most:,} that are repaired without being asked (`backfill.repair_most`)"
    again = "it is tried again tomorrow, or as soon as anything about them or the code changes"
    reasons = (
        (not wanted, "and its spec says `repair: false`"),
        (repair.count > most, f"{many}: run a recompute of dirty intervals, or raise the number"),
        (active_runs > 0, "and a run of its backfill DAG is at work or queued"),
        (bool(other), f"and the backfill {other} works on that range"),
        (tried, f"and their repair was tried today without success; {again}"),
    )
    held = next((why for holds, why in reasons if holds), None)
    return Decision(start=True, why=found) if held is None else Decision(start=False, why=f"{found}, {held}")


def _is_settled_again(row: LedgerRow, ledger: Ledger) -> bool:
    """Whether an interval that was published is open, and lacks only what came since.

    A repair would have to be repeated with each settlement, until one comes as far: for an interval of the future, for
    years. The same is true of the state that it continues.
    """
    is_open = ledger.closed_until is None or row.interval.end > ledger.closed_until
    return is_open and all(why == REOPENED for why in row.marks)


def _fingerprint(rows: Iterable[LedgerRow], code: str) -> str:
    facts = [(row.interval.start.isoformat(), row.dirty, row.current and row.current.version) for row in rows]
    return hashlib.sha256(repr((facts, code)).encode()).hexdigest()[:12]
