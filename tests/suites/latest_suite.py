"""What every store of newest rows does. Subclasses give `open_store`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from sluice.errors import RefusedError
from sluice.intervals.entries import StreamEntry
from sluice.intervals.writers import writer_id
from sluice.live.store import Change, LatestStore, LatestTable
from sluice.streams.position.fencing import FencedError
from tests.twins.clock import START

SCHEMA = pa.schema(
    [
        ("hour", pa.timestamp("us", tz="UTC")),
        ("carrier", pa.string()),
        ("departed", pa.int64()),
        ("delay", pa.float64()),
        ("holiday", pa.bool_()),
    ]
)
TABLE = LatestTable("departures_live", SCHEMA, ("hour", "carrier"), time_column="hour")
WRITER = "departures_live:topic:0"

Row = tuple[datetime, str, int]


def at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


def rows(*given: tuple[int, str, int | None]) -> pa.Table:
    """Return rows of (hour, carrier, departed)."""
    data = {
        "hour": [at(hour) for hour, _, _ in given],
        "carrier": [carrier for _, carrier, _ in given],
        "departed": [departed for _, _, departed in given],
        "delay": [None if departed is None else departed / 2 for _, _, departed in given],
        "holiday": [None for _ in given],
    }
    return pa.table(data, schema=SCHEMA)


def change(end: int, *given: tuple[int, str, int | None], generation: int = 1, epoch: int = 0) -> Change:
    """Return the change of a batch that ends at offset `end`."""
    entry = StreamEntry(
        writer_id("departures_live", "topic", epoch), generation, "a", end, {}, {"t/0": end}, watermark=START
    )
    return Change(rows(*given), entry, 2 * end)


@dataclass
class Place:
    """One table, and how to read it as anybody else would."""

    open: Callable[[LatestTable, int, str], LatestStore]
    read: Callable[[], list[Mapping[str, object]]]
    opened: list[LatestStore] = field(default_factory=list)

    def store(self, generation: int = 1, table: LatestTable = TABLE, epoch: int = 0) -> LatestStore:
        store = self.open(table, generation, writer_id("departures_live", "topic", epoch))
        store.open()
        return store

    def unopened(self, table: LatestTable, generation: int = 2) -> LatestStore:
        return self.open(table, generation, WRITER)

    def held(self) -> dict[tuple[int, str], object]:
        """Return `departed` by hour and carrier."""
        found = {(self._hour(row["hour"]), str(row["carrier"])): row["departed"] for row in self.read()}
        assert len(found) == len(self.read()), "a key has two rows"
        return found

    def _hour(self, start: object) -> int:
        assert isinstance(start, datetime)
        return int((start - START).total_seconds() // 3600)


class LatestSuite:
    @pytest.fixture
    def place(self) -> Place:
        raise NotImplementedError

    def test_a_new_row_is_added_and_a_known_key_is_replaced(self, place: Place) -> None:
        store = place.store()
        store.apply(change(10, (1, "UA", 3), (1, "DL", 5)))
        store.apply(change(20, (1, "UA", 4), (2, "UA", 1)))
        assert place.held() == {(1, "UA"): 4, (1, "DL"): 5, (2, "UA"): 1}

    def test_a_value_may_become_null_and_times_come_back_exactly(self, place: Place) -> None:
        store = place.store()
        store.apply(change(10, (1, "UA", 3)))
        store.apply(change(20, (1, "UA", None)))
        assert place.held() == {(1, "UA"): None}
        assert [row["hour"] for row in place.read()] == [at(1)]

    def test_rows_that_have_expired_go_and_the_newest_batch_stays_what_it_is(self, place: Place) -> None:
        store = place.store()
        store.expire(at(9))
        store.apply(change(10, (1, "UA", 3), (2, "UA", 5), (3, "UA", 7)))
        store.apply(change(20, (3, "DL", 1)))
        for _ in range(2):
            store.expire(at(3))
            assert place.held() == {(3, "UA"): 7, (3, "DL"): 1}
        assert store.latest == place.store().latest == change(20).entry
        store.apply(change(30, (4, "UA", 1)))
        store.expire(at(5))
        assert place.held() == {}
        again = place.store()
        assert again.latest == change(30).entry
        again.apply(change(40, (5, "UA", 1)))
        assert place.held() == {(5, "UA"): 1}

    def test_it_is_known_in_each_epoch_whether_a_table_was_ever_filled(self, place: Place) -> None:
        store = place.store()
        assert not store.filled
        store.apply(change(10, (1, "UA", 3)))
        assert store.filled
        later = place.store(generation=2, epoch=1)
        assert (later.latest, later.filled) == (None, True)

    def test_a_change_without_rows_still_moves_the_position(self, place: Place) -> None:
        place.store().apply(change(10))
        assert place.held() == {}
        latest = place.store().latest
        assert latest is not None
        assert latest.end == {"t/0": 10}

    def test_a_change_that_changes_no_row_moves_the_position_all_the_same(self, place: Place) -> None:
        store = place.store(table=replace(TABLE, newest_by="departed"))
        store.apply(change(10, (5, "UA", 3)))
        store.apply(change(20))
        store.apply(change(30, (5, "UA", 1)))
        store.apply(change(40, (5, "UA", 4)))
        assert place.held() == {(5, "UA"): 4}
        latest = place.store().latest
        assert latest is not None
        assert latest.end == {"t/0": 40}

    def test_a_store_that_is_opened_again_knows_the_newest_batch(self, place: Place) -> None:
        assert place.store().latest is None
        first = change(10, (1, "UA", 3))
        place.store().apply(first)
        again = place.store()
        assert again.latest == first.entry
        again.apply(change(20, (1, "UA", 4)))
        assert again.latest == place.store(generation=2).latest == change(20).entry

    def test_of_two_rows_of_a_key_the_newer_stays_whichever_comes_last(self, place: Place) -> None:
        table = LatestTable(TABLE.name, SCHEMA, ("carrier",), newest_by="hour")
        store = place.store(table=table)
        store.apply(change(10, (5, "UA", 3), (5, "DL", 8)))
        store.apply(change(20, (4, "UA", 1), (6, "DL", 9)))
        store.apply(change(30, (5, "UA", 2)))
        assert place.held() == {(5, "UA"): 2, (6, "DL"): 9}

    def test_an_older_generation_neither_opens_nor_changes_anything(self, place: Place) -> None:
        old = place.store(generation=1)
        old.apply(change(10, (1, "UA", 3)))
        old.check_fence()
        new = place.store(generation=2)
        new.check_fence()
        with pytest.raises(FencedError, match="generation 2"):
            old.check_fence()
        with pytest.raises(FencedError, match="generation 2"):
            old.apply(change(20, (1, "UA", 99)))
        with pytest.raises(FencedError, match="generation 2"):
            old.expire(at(9))
        with pytest.raises(FencedError, match="generation 2"):
            place.store(generation=1)
        assert place.held() == {(1, "UA"): 3}
        new.apply(change(20, (1, "UA", 4), generation=2))
        assert place.held() == {(1, "UA"): 4}

    def test_an_epoch_holds_nothing_of_the_one_before_and_fences_it(self, place: Place) -> None:
        before = place.store(generation=1)
        before.apply(change(50, (1, "UA", 3)))
        after = place.store(generation=2, epoch=1)
        assert after.latest is None
        with pytest.raises(FencedError):
            before.apply(change(60, (1, "UA", 9)))
        after.apply(change(10, (2, "DL", 1), generation=2, epoch=1))
        assert place.held() == {(1, "UA"): 3, (2, "DL"): 1}
        latest = place.store(generation=3, epoch=1).latest
        assert latest is not None
        assert latest.end == {"t/0": 10}
        with pytest.raises(FencedError):
            place.store(generation=1)

    @pytest.mark.parametrize(
        ("schema", "said"),
        [
            (SCHEMA.set(2, pa.field("departed", pa.string())), "departed"),
            (SCHEMA.remove(SCHEMA.get_field_index("holiday")), "holiday is there and not here"),
        ],
    )
    def test_a_table_with_other_columns_is_refused_and_stays_as_it_is(
        self, place: Place, schema: pa.Schema, said: str
    ) -> None:
        place.store().apply(change(10, (1, "UA", 3)))
        with pytest.raises(RefusedError, match=said):
            place.store(table=LatestTable(TABLE.name, schema, TABLE.keys, time_column="hour"))
        with pytest.raises(RefusedError, match=said):
            place.unopened(LatestTable(TABLE.name, schema, TABLE.keys, time_column="hour")).check()
        assert place.held() == {(1, "UA"): 3}

    def test_an_observation_of_a_table_changes_nothing_and_fences_nobody(self, place: Place) -> None:
        place.unopened(TABLE, generation=1).check()
        old = place.store(generation=1)
        old.apply(change(10, (1, "UA", 3)))
        wider = LatestTable(TABLE.name, SCHEMA.append(pa.field("more", pa.int64())), TABLE.keys, time_column="hour")
        place.unopened(wider, generation=2).check()
        assert "more" not in next(iter(place.read()))
        old.apply(change(20, (1, "UA", 4)))
        assert place.held() == {(1, "UA"): 4}

    def test_a_column_that_is_lacking_is_added_and_null_in_the_rows_before(self, place: Place) -> None:
        place.store().apply(change(10, (1, "UA", 3), (2, "UA", 4)))
        wider = LatestTable(TABLE.name, SCHEMA.append(pa.field("more", pa.int64())), TABLE.keys, time_column="hour")
        store = place.store(generation=2, table=wider)
        news = change(20, (2, "UA", 5), (3, "UA", 6), generation=2)
        store.apply(replace(news, rows=news.rows.append_column("more", pa.array([7, 8]))))
        assert place.held() == {(1, "UA"): 3, (2, "UA"): 5, (3, "UA"): 6}
        assert {row["more"] for row in place.read()} == {None, 7, 8}
