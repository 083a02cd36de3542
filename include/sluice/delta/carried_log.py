"""The states that intervals hand on: which one is continued, as the table's log says, and which are kept no longer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from sluice.delta.log import newest_first
from sluice.intervals.carried import NO_STATE, Carried, LeftState
from sluice.intervals.entries import BackfillEntry, SettleEntry
from sluice.intervals.rows import LedgerRow
from sluice.storage.folder import Folder, files_in, remove_folder, untouched_since

_IN_FLIGHT = timedelta(days=1)
"""A state is written before the commit that names it."""


def left_before(table: Folder, start: datetime) -> LeftState:
    """Return the state that an interval continues which is not settled yet.

    The log is read backwards, as far as the newest settlement that left one: settlements go on in order, and what
    backfills have published since counts instead.

    Args:
        table: the folder of the interval table.
        start: of the interval.
    """
    found: dict[datetime, Carried] = {}
    for logged in newest_first(table):
        entry = logged.entry
        if not isinstance(entry, BackfillEntry | SettleEntry):
            continue
        before = {at: carried for at, carried in entry.carried.items() if at < start}
        found = {**before, **found}
        if before and isinstance(entry, SettleEntry):
            break
    if not found:
        return NO_STATE
    newest = max(found)
    return LeftState(newest, found[newest].after)


def forget_states(folder: Folder, rows: Iterable[LedgerRow], keep: Mapping[str, timedelta], now: datetime) -> int:
    """Delete states that no interval continues or leaves which is young enough, and return how many.

    Args:
        folder: of all states of the pipeline.
        rows: of its ledger.
        keep: for how long before the newest interval, by the name of the carried table. One of the future makes none
            older.
        now: what was written less than a day ago stays: its commit may be under way.
    """
    named = [row for row in rows if row.carried is not None]
    newest = max((row.interval.start for row in named if row.interval.start <= now), default=now)
    forgotten = 0
    for name, length in keep.items():
        since = newest - length
        wanted = {digest for row in named if row.interval.start >= since for digest in _digests(row, name)}
        for found in files_in(folder / name, ".parquet"):
            if found.modified < now - _IN_FLIGHT and found.place.stem not in wanted:
                found.place.unlink(missing_ok=True)
                forgotten += 1
        for draft in untouched_since(folder / name, now - _IN_FLIGHT):
            if draft.name.startswith("."):  # what a computation has left that was killed
                remove_folder(draft)
    return forgotten


def _digests(row: LedgerRow, name: str) -> Iterator[str]:
    for written in (row.base, row.current):
        if written is not None and written.carried is not None:
            yield from (each[name] for each in (written.carried.before, written.carried.after) if name in each)
