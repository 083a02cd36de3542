"""What every store of newest rows does when it is rebuilt beside its stream. Subclasses give `place` and `rebuilt`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sluice.errors import NotReadyError
from sluice.live.rebuilding import RebuildStore
from tests.suites.latest_suite import SCHEMA, TABLE, Place, at, change, rows

KEYS = TABLE.keys
OpenRebuilt = Callable[[], RebuildStore]


class RebuildSuite:
    @pytest.fixture
    def place(self) -> Place:
        raise NotImplementedError

    @pytest.fixture
    def rebuilt(self) -> OpenRebuilt:
        raise NotImplementedError

    def test_without_a_table_it_says_so(self, rebuilt: OpenRebuilt) -> None:
        with pytest.raises(NotReadyError, match="there is no table"):
            _ = rebuilt().columns

    def test_it_reads_what_the_stream_has_written(self, place: Place, rebuilt: OpenRebuilt) -> None:
        place.store().apply(change(10, (1, "UA", 3), (2, "UA", None)))
        assert rebuilt().columns == tuple(SCHEMA.names)
        found = {(row["hour"], row["carrier"]): row["departed"] for row in rebuilt().rows()}
        assert found == {(at(1), "UA"): 3, (at(2), "UA"): None}

    def test_rows_of_earlier_times_are_replaced_and_later_ones_stay(self, place: Place, rebuilt: OpenRebuilt) -> None:
        place.store().apply(change(10, (1, "UA", 3), (1, "DL", 5), (2, "UA", 7), (3, "UA", 1)))
        rebuilt().replace(rows((1, "UA", 4), (1, "AA", 9), (2, "UA", 7)), KEYS, "hour", at(3))
        assert place.held() == {(1, "UA"): 4, (1, "AA"): 9, (2, "UA"): 7, (3, "UA"): 1}
        rebuilt().replace(rows(), KEYS, "hour", at(3))
        assert place.held() == {(3, "UA"): 1}

    def test_a_key_with_a_later_row_keeps_it(self, place: Place, rebuilt: OpenRebuilt) -> None:
        by_carrier = replace(TABLE, keys=("carrier",), newest_by="hour")
        place.store(table=by_carrier).apply(change(10, (5, "UA", 1), (2, "DL", 1)))
        rebuilt().replace(rows((3, "UA", 8), (3, "DL", 8)), ("carrier",), "hour", at(4))
        assert place.held() == {(5, "UA"): 1, (3, "DL"): 8}

    def test_later_rows_are_counted_and_removed(self, place: Place, rebuilt: OpenRebuilt) -> None:
        assert rebuilt().count_later("hour", at(2)) == 0
        place.store().apply(change(10, (1, "UA", 3), (2, "UA", 5), (7, "UA", 7), (8, "DL", 1)))
        assert rebuilt().count_later("hour", at(2)) == 2
        rebuilt().remove_later("hour", at(2))
        assert place.held() == {(1, "UA"): 3, (2, "UA"): 5}
        assert rebuilt().count_later("hour", at(2)) == 0

    def test_the_stream_goes_on_as_if_nothing_had_happened(self, place: Place, rebuilt: OpenRebuilt) -> None:
        store = place.store()
        store.apply(change(10, (1, "UA", 3)))
        rebuilt().replace(rows((1, "UA", 4)), KEYS, "hour", at(2))
        assert store.latest == change(10).entry
        store.apply(change(20, (1, "UA", 5), (2, "UA", 1)))
        assert place.held() == {(1, "UA"): 5, (2, "UA"): 1}
        assert place.store(generation=2).latest == change(20).entry
