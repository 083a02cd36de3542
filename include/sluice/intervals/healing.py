"""What one record from the future has done to a table, and from when on its intervals have to be opened again.

A table that is closed further ahead of the clock than any record may be was closed by records that validation let in
before there was a rule against them, under a wider `clock_skew` than today's, or because a person confirmed them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sluice.intervals.alignment import interval_of
from sluice.intervals.entries import Logged, SettleEntry, WithdrawnEntry
from sluice.intervals.ledger import Ledger
from sluice.intervals.rows import LedgerRow

_BEFORE_ALL = datetime(1900, 1, 1, tzinfo=UTC)
"""No record is older."""


@dataclass(frozen=True)
class Poisoned:
    """A table whose intervals were closed into the future.

    Attributes:
        version: the first commit that closed so far ahead.
        at: when that was (UTC).
        until: until when.
        since: what begins then or later is to be opened again. No interval up to now that holds rows does: its records
            are sound.
        opened: how many intervals without rows that are.
        beyond: intervals further on that hold rows; they stay, become dirty and are repaired.
    """

    version: int
    at: datetime
    until: datetime
    since: datetime
    opened: int
    beyond: tuple[LedgerRow, ...]


def find_poison(
    commits: Iterable[Logged], ledger: Ledger, length: timedelta, most: datetime, now: datetime
) -> Poisoned | None:
    """Return what closed a table's intervals into the future and has not been withdrawn; None if nothing did.

    Args:
        commits: the entries of the table, oldest first.
        ledger: what they amount to.
        length: of an interval.
        most: the furthest that sound records can have closed intervals by now (UTC).
        now: UTC.
    """
    closed: datetime | None = None  # as far as sound records did it
    found: list[tuple[Logged, datetime]] = []
    for commit in commits:
        match commit.entry:
            case SettleEntry(settled_until=until) if until is not None and until > most:
                found.append((commit, until))
            case SettleEntry(settled_until=until) if until is not None:
                closed = until
            case WithdrawnEntry(since=since):
                found = [(logged, until) for logged, until in found if until <= since]
                closed = None if closed is None else min(closed, since)
    if not found:
        return None
    held = _end_of_rows(ledger, interval_of(now, length).end)
    since = max((moment for moment in (closed, held) if moment is not None), default=_BEFORE_ALL)
    after = [row for row in ledger.between(since, None) if row.current is not None and row.interval.end > since]
    return Poisoned(
        version=found[0][0].version,
        at=found[0][0].at,
        until=max(until for _, until in found),
        since=since,
        opened=sum(row.count for row in after if not _holds(row)),
        beyond=tuple(row for row in after if _holds(row)),
    )


def _end_of_rows(ledger: Ledger, until: datetime) -> datetime | None:
    """Return the end of the last interval up to a moment that holds rows, or that a backfill has written."""
    return max((row.interval.end for row in ledger.between(None, until) if _holds(row)), default=None)


def _holds(row: LedgerRow) -> bool:
    written = row.current
    return written is not None and (written.generation is None or written.content.rows > 0)
