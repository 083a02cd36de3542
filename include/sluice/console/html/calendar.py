"""The intervals of a month as a calendar: which there are, in which state, and who wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.intervals.ledger import Ledger, LedgerRow, State

_DAY = timedelta(days=1)
_MARKS = {State.DIRTY: "!", State.STALE: "~"}


@dataclass(frozen=True)
class Cell:
    """One interval.

    Attributes:
        start: of it (UTC).
        state: `open` where nothing is known of it; one that lies ahead has none.
        mark: the state in one sign: colour is not all.
        words: what is known of it, in one sentence.
    """

    start: datetime
    state: str
    mark: str
    words: str


@dataclass(frozen=True)
class Week:
    """One row: a day of hours, or a week of days.

    Attributes:
        name: of the row.
        cells: None where there is no interval of this month.
    """

    name: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True)
class Calendar:
    """A month.

    Attributes:
        month: its first moment (UTC).
        before: the month before.
        after: the month after.
        columns: what stands above the cells.
        rows: of cells.
    """

    month: datetime
    before: datetime
    after: datetime
    columns: Sequence[str]
    rows: Sequence[Week]


def month_of(moment: datetime) -> datetime:
    """Return the first moment of a moment's month (UTC)."""
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def next_month(month: datetime) -> datetime:
    """Return the first moment of the month after."""
    return month_of(month + 32 * _DAY)


def calendar(month: datetime, length: timedelta, ledger: Ledger, code: str) -> Calendar:
    """Return the calendar of a month by its first moment (UTC); `code` is the hash of today's code."""
    end = next_month(month)
    before = month_of(month - _DAY)
    if length < _DAY:
        hours = [timedelta(hours=hour) for hour in range(24)]
        days = [month + day * _DAY for day in range((end - month).days)]
        rows = [Week(f"{day:%a %d}", [_cell(day + hour, length, ledger, code) for hour in hours]) for day in days]
        return Calendar(month, before, end, [f"{hour:02}" for hour in range(24)], rows)
    monday = month - month.weekday() * _DAY
    rows = []
    while monday < end:
        days = [monday + day * _DAY for day in range(7)]
        cells = [_cell(day, length, ledger, code) if month <= day < end else None for day in days]
        rows.append(Week(f"{monday:%d %b}", cells))
        monday += 7 * _DAY
    return Calendar(month, before, end, ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], rows)


def _cell(start: datetime, length: timedelta, ledger: Ledger, code: str) -> Cell:
    row = ledger.rows.get(start)
    closed = ledger.closed_until is not None and start + length <= ledger.closed_until
    if row is None:
        state, what = ("empty", "no rows") if closed else ("open", "not closed yet")
        return Cell(start, state, "", f"{start:%Y-%m-%d %H:%M} UTC: {what}")
    state = row.state(code)
    checked = " ✓" if row.verified_by(code) else ""
    mark = _MARKS.get(state) or ("" if row.current is None else "B" if row.current.generation is None else "S")
    return Cell(start, state.value, mark + checked.strip(), f"{start:%Y-%m-%d %H:%M} UTC: {_words(row, state, code)}")


def _words(row: LedgerRow, state: State, code: str) -> str:
    parts = [state.value]
    if row.current is not None:
        who = "a backfill" if row.current.generation is None else f"the stream, generation {row.current.generation}"
        parts.append(f"{row.current.content.rows:,} rows by {who}")
    parts += row.dirty
    if row.verified_by(code):
        parts.append("stream and batch agree")
    return ", ".join(parts)
