"""A replay of records whose intervals cannot be computed again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sluice.intervals.alignment import Interval
from sluice.intervals.ledger import Ledger
from sluice.intervals.raw_floor import RawFloor, WholeFrom
from sluice.spark.backfill.replay import below_floor

START, HOUR = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1)
AFFECTED = [Interval(START + hour * HOUR, START + (hour + 1) * HOUR) for hour in range(3)]


def test_intervals_below_the_floor_keep_a_case_open_and_say_why() -> None:
    floor = RawFloor(START + 2 * HOUR, START + timedelta(days=400))
    why = below_floor(Ledger(whole=WholeFrom(START + 2 * HOUR, floor, "orders_raw")), AFFECTED)
    assert why.startswith("2 of its intervals, the first at 2026-01-01T00:00Z, lie below the floor: since 2027-02-05")


def test_without_a_floor_or_above_it_nothing_is_in_the_way() -> None:
    assert below_floor(Ledger(), AFFECTED) == ""
    floor = RawFloor(START, START)
    assert below_floor(Ledger(whole=WholeFrom(START, floor, "orders_raw")), AFFECTED) == ""
