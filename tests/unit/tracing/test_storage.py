"""Where a record stands in the raw table."""

from __future__ import annotations

from datetime import UTC, datetime

from sluice.intervals.raw_floor import RawFloor
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.tracing.address import RecordAddress
from sluice.tracing.storage import RawStorage, StorageState, StoredRow, storage_of

OLD = StoredRow("old", None, b"k", b"old")
NEW = StoredRow("new", None, b"k", b"new")


def stored(
    offset: int, *rows: StoredRow, first: int | None = 10, topic_id: str = "", holes: tuple[Hole, ...] = ()
) -> RawStorage:
    position = RawPosition(7, Reach({"orders/0": 50}, ("old", "new")), holes)
    return storage_of(RecordAddress("orders", 0, offset), rows, position, first, topic_id)


def test_a_record_that_is_there_is_held() -> None:
    assert stored(20, NEW) == RawStorage(StorageState.HELD, "the raw table holds it", NEW)


def test_one_that_is_not_read_yet_says_how_far_the_raw_table_goes() -> None:
    found = stored(52)
    assert found.state is StorageState.UNREAD
    assert found.why == "orders/0: it is read up to offset 49, 3 offsets before this one is"
    nothing = storage_of(RecordAddress("orders", 0, 0), (), RawPosition(), None)
    assert (nothing.state, nothing.why) == (
        StorageState.UNREAD,
        "nothing of the topic was read yet: there is no raw table",
    )


def test_one_in_a_hole_is_lost() -> None:
    hole = Hole("new", "orders/0", 20, 30)
    assert stored(19, holes=(hole,)).state is StorageState.ABSENT
    found = stored(20, holes=(hole,))
    assert found.state is StorageState.LOST
    assert found.why == "orders/0 offsets 20 to 29 were gone before the raw stream read them"
    assert stored(30, holes=(hole,)).state is StorageState.ABSENT
    other = Hole("new", "orders/1", 20, 30)
    assert stored(20, holes=(other,)).state is StorageState.ABSENT


def test_one_below_the_first_is_before_the_table() -> None:
    assert stored(9).state is StorageState.BEFORE
    assert stored(9).why == "the raw table begins at offset 10 of orders/0"
    assert stored(9, first=None).why == "the raw table has nothing of orders/0"


def test_an_offset_that_was_passed_without_a_record_is_absent() -> None:
    assert stored(10).state is StorageState.ABSENT


def test_below_a_floor_a_passed_record_may_have_been_removed() -> None:
    floor = RawFloor(datetime(2026, 1, 6, tzinfo=UTC), datetime(2026, 11, 28, tzinfo=UTC))
    position = RawPosition(7, Reach({"orders/0": 50}, ("new",)), floor=floor)
    for first in (10, 30, None):
        found = storage_of(RecordAddress("orders", 0, 20), (), position, first)
        assert found.state is StorageState.REMOVED
        assert "keeps no records from before 2026-01-06 00:00 UTC" in found.why
    assert storage_of(RecordAddress("orders", 0, 60), (), position, 10).state is StorageState.UNREAD
    assert storage_of(RecordAddress("orders", 0, 20), (NEW,), position, 10).state is StorageState.HELD


def test_of_two_topics_of_one_name_the_newest_is_meant_unless_it_has_not_come_so_far() -> None:
    assert stored(20, OLD, NEW) == RawStorage(StorageState.HELD, "the raw table holds it", NEW, ("old",))
    assert stored(20, OLD, NEW, topic_id="old").row is OLD
    assert stored(60, OLD).row is OLD
    skipped = stored(20, OLD)
    assert (skipped.state, skipped.row, skipped.others) == (StorageState.ABSENT, None, ("old",))
    assert stored(60, OLD, topic_id="new").state is StorageState.UNREAD
