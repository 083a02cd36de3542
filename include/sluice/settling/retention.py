"""How far records of a raw table may be removed: by their age, and never what somebody still needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.entries import LOST
from sluice.intervals.ledger import Ledger, LedgerRow
from sluice.intervals.raw_floor import RawFloor, WholeFrom
from sluice.settling.rules import SettlingRules

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class RawNeed:
    """What somebody still needs of a raw table.

    Attributes:
        since: records of then and later (UTC); None: all there are.
        why: who, and for what, as a clause.
    """

    since: datetime | None
    why: str


@dataclass(frozen=True)
class FloorDecision:
    """How far the floor of a raw table goes.

    Attributes:
        floor: the new floor (UTC); None: it stays where it is.
        wanted: how far it would go by age alone; None if no record is old enough.
        held: what keeps it lower than that; None if nothing does.
    """

    floor: datetime | None = None
    wanted: datetime | None = None
    held: RawNeed | None = None


def next_floor(
    retention: timedelta, newest: datetime | None, now: datetime, needs: Iterable[RawNeed], before: RawFloor | None
) -> FloorDecision:
    """Decide how far the floor goes: in whole days, up to the age and what is needed, and never back.

    Age is counted from the newest record, not from our own clock: of a topic that is silent, or whose records of long
    ago are read again, nothing becomes older.

    Args:
        retention: how old records become.
        newest: when the newest record of the table happened (UTC); None: that is not known of any.
        now: the time (UTC): a record of the future makes nothing older.
        needs: what must stay.
        before: the floor that is on record.
    """
    if newest is None:
        return FloorDecision()
    wanted = interval_of(min(newest, now) - retention, _DAY).start
    if before is not None and wanted <= before.at:
        return FloorDecision()
    held = min(needs, key=lambda need: (need.since is not None, need.since or wanted), default=None)
    if held is not None and held.since is not None and held.since >= wanted:
        held = None
    if held is None:
        return FloorDecision(wanted, wanted)
    floor = None if held.since is None else interval_of(held.since, _DAY).start
    if floor is None or (before is not None and floor <= before.at):
        return FloorDecision(None, wanted, held)
    return FloorDecision(floor, wanted, held)


def least_retention(rules: SettlingRules) -> timedelta:
    """Return how old records become at least that an interval is made of, until it is settled and can be verified."""
    return rules.length + rules.margin + rules.reach_back


def needs_of_table(pipeline: str, ledger: Ledger, back: timedelta) -> Iterator[RawNeed]:
    """Yield what the intervals of a pipeline still need: those that are open, and those that await a repair.

    What is lost for good, or lies below the floor already, waits for nothing.

    Args:
        pipeline: its name.
        ledger: of its table.
        back: how far before an interval records are read for it.
    """
    if ledger.closed_until is None:
        yield RawNeed(None, f"{pipeline} has settled no interval yet")
        return
    yield RawNeed(ledger.closed_until - back, f"{pipeline} has not settled {ledger.closed_until:%F %R} UTC yet")
    for row in ledger.spans:
        if ledger.is_whole(row.interval.start) and _awaits_repair(row, ledger):
            yield RawNeed(row.interval.start - back, f"{pipeline}: {row.interval.start:%F %R} UTC is dirty")
            return


def _awaits_repair(row: LedgerRow, ledger: Ledger) -> bool:
    """Whether an interval is dirty and can be made good, now or once the raw table has what it lacks."""
    if row.marks:
        return any(not why.endswith(LOST) for why in row.marks)
    return bool(row.dirty) and row.interval.start not in ledger.ahead


def need_of_backfill(backfill: str, asked: Interval, back: timedelta) -> RawNeed:
    """Return what a backfill needs that is at work on a range."""
    return RawNeed(asked.start - back, f"the backfill {backfill} is at work from {asked.start:%F %R} UTC on")


def whole_from(
    rules: Mapping[str, SettlingRules], floors: Mapping[str, RawFloor | None], tables: Mapping[str, str]
) -> WholeFrom | None:
    """Return from which interval on every source still has all records; None if nothing of any was removed.

    Args:
        rules: of each source.
        floors: of the sources' raw tables.
        tables: the names of these.
    """
    return WholeFrom.latest(
        WholeFrom(rules[name].first_whole(floor.at), floor, tables[name])
        for name, floor in floors.items()
        if floor is not None
    )
