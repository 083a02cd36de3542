"""The intervals of a month as a calendar: which there are, in which state, and who wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.intervals.ledger import Ledger, LedgerRow, State
from sluice.settling.status import SettlingStatus
from sluice.settling.wording import holds_text

_DAY = timedelta(days=1)
_DUE = "…"
_MARKS = {State.DIRTY: "!", State.STALE: "~"}


@dataclass(frozen=True)
class Cell:
    """One interval.

    Attributes:
        start: of it (UTC).
        state: `open` where nothing is known of it, `due` if a settler could have written it; one that lies ahead has
            none.
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


def calendar(
    month: datetime, length: timedelta, ledger: Ledger, code: str, settling: SettlingStatus | None = None
) -> Calendar:
    """Return the calendar of a month.

    Args:
        month: its first moment (UTC).
        length: of an interval.
        ledger: of the month.
        code: the hash of today's code.
        settling: where the settler of the table stands; None: none settles it, or it is not known.
    """
    cells = _Cells(length, ledger, code, settling)
    end = next_month(month)
    before = month_of(month - _DAY)
    if length < _DAY:
        hours = [timedelta(hours=hour) for hour in range(24)]
        days = [month + day * _DAY for day in range((end - month).days)]
        rows = [Week(f"{day:%a %d}", [cells.at(day + hour) for hour in hours]) for day in days]
        return Calendar(month, before, end, [f"{hour:02}" for hour in range(24)], rows)
    monday = month - month.weekday() * _DAY
    rows = []
    while monday < end:
        days = [monday + day * _DAY for day in range(7)]
        rows.append(Week(f"{monday:%d %b}", [cells.at(day) if month <= day < end else None for day in days]))
        monday += 7 * _DAY
    return Calendar(month, before, end, ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], rows)


@dataclass(frozen=True)
class _Cells:
    """What makes the cells of one table; see `calendar`."""

    length: timedelta
    ledger: Ledger
    code: str
    settling: SettlingStatus | None

    def at(self, start: datetime) -> Cell:
        row = self.ledger.rows.get(start)
        if row is None:
            state, mark, what = self._without_row(start)
            return Cell(start, state, mark, f"{start:%Y-%m-%d %H:%M} UTC: {what}")
        state = row.state(self.code)
        checked = "✓" if row.verified_by(self.code) else ""
        mark = _MARKS.get(state) or ("" if row.current is None else "B" if row.current.generation is None else "S")
        words = f"{start:%Y-%m-%d %H:%M} UTC: {_words(row, state, self.code)}"
        return Cell(start, state.value, mark + checked, words)

    def _without_row(self, start: datetime) -> tuple[str, str, str]:
        """Return state, mark and words of an interval of which the ledger knows nothing."""
        until = self.ledger.closed_until
        if until is not None and start + self.length <= until:
            return "empty", "", "no rows"
        due = None if self.settling is None else self.settling.due_intervals(self.length)
        if self.settling is not None and due is not None and due.start <= start < due.end:
            return "due", _DUE, f"due and not settled yet, {holds_text(self.settling)}"
        return "open", "", "not closed yet"


def _words(row: LedgerRow, state: State, code: str) -> str:
    parts = [state.value]
    if row.current is not None:
        who = "a backfill" if row.current.generation is None else f"the stream, generation {row.current.generation}"
        parts.append(f"{row.current.content.rows:,} rows by {who}")
    parts += row.dirty
    if row.verified_by(code):
        parts.append("stream and batch agree")
    return ", ".join(parts)
