"""What raw tables and topics do that are compared. Subclasses give `fill` or `opened`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pytest

from sluice.errors import SluiceError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.conservation import KafkaRecords, OffsetCensus, RawRecords, StoredRecord
from sluice.intervals.record_positions import RecordPositions

NOON = datetime(2013, 1, 7, 12, 0, 0, 123_000, tzinfo=UTC)
HOUR = timedelta(hours=1)
SENT = 1_357_560_000_123
PLAIN = StoredRecord(b"k", b"v", (), SENT)


@dataclass(frozen=True)
class RawRow:
    """A row of a raw table."""

    topic: str
    partition: int
    offset: int
    happened: datetime | None = NOON
    record: StoredRecord = PLAIN


FillRaw: TypeAlias = Callable[[Sequence[RawRow]], RawRecords]
"""Makes a raw table."""


class RawRecordsSuite:
    @pytest.fixture
    def table(self, fill: FillRaw) -> RawRecords:
        """One offset is there twice; an event time is not known."""
        rows = [RawRow("t", 0, offset, NOON + offset * HOUR) for offset in (0, 1, 2, 5, 6)]
        twice = [RawRow("t", 0, 6, NOON + 6 * HOUR), RawRow("t", 0, 9, NOON + 30 * HOUR)]
        return fill([*rows, RawRow("t", 1, 3, None), *twice, RawRow("u", 0, 4)])

    def test_spans_hold_the_records_of_the_times(self, table: RawRecords) -> None:
        early, late = Interval(NOON, NOON + 2 * HOUR), Interval(NOON + 6 * HOUR, NOON + 31 * HOUR)
        assert table.spans([early]) == {("t", 0): (0, 1), ("u", 0): (4, 4)}
        assert table.spans([early, late]) == {("t", 0): (0, 9), ("u", 0): (4, 4)}
        assert table.spans([Interval(NOON - HOUR, NOON)]) == {}
        assert table.spans([]) == {}

    def test_a_census_tells_what_is_missing_and_what_is_there_again(self, table: RawRecords) -> None:
        found = table.census({("t", 0): (1, 9), ("t", 1): (3, 3), ("u", 0): (3, 5)})
        assert found == {
            ("t", 0): OffsetCensus(((3, 4), (7, 8)), 0, 1, (6,)),
            ("t", 1): OffsetCensus(),
            ("u", 0): OffsetCensus(((3, 3), (5, 5))),
        }

    def test_a_partition_begins_where_nothing_lies_below(self, table: RawRecords) -> None:
        assert table.begins_at(("t", 0), 0)
        assert not table.begins_at(("t", 0), 1)
        assert table.begins_at(("u", 0), 4)
        assert not table.begins_at(("u", 0), 5)
        assert table.begins_at(("t", 9), 100)

    def test_records_are_as_they_were_stored(self, fill: FillRaw) -> None:
        whole = StoredRecord(b"k", b"1", (("trace", b"\xff"), ("trace", None)), SENT)
        empty, strange = StoredRecord(None, None, (), None), replace(PLAIN, timestamp=400_000_000_000_000)
        rows = [RawRow("t", 0, 1, record=whole), RawRow("t", 0, 2, None, empty), RawRow("t", 0, 3, record=strange)]
        table = fill([*rows, RawRow("t", 1, 1)])
        found = table.records(RecordPositions.joined([("t", 0, (0, 5))]))
        assert found == {("t", 0, 1): whole, ("t", 0, 2): empty, ("t", 0, 3): strange}
        assert table.records(RecordPositions()) == {}


OpenStored: TypeAlias = Callable[[int], KafkaRecords]
"""Opens a topic of two partitions, each with so many records: `PLAIN`, with their offset as the value."""


class KafkaRecordsSuite:
    def test_only_what_is_asked_for_comes_and_comes_in_order(self, opened: OpenStored) -> None:
        topic = opened(1_000)
        asked = {0: [(0, 1), (3, 3), (500, 501), (999, 999)], 1: [(700, 702)]}
        found = list(topic.records(asked))
        offsets = {p: [offset for partition, offset, _ in found if partition == p] for p in (0, 1)}
        assert offsets == {0: [0, 1, 3, 500, 501, 999], 1: [700, 701, 702]}
        assert {record for _, offset, record in found if offset == 501} == {
            StoredRecord(b"k", b"501", (("h", b"\xff"),), SENT)
        }

    def test_it_is_asked_again_and_elsewhere(self, opened: OpenStored) -> None:
        topic = opened(300)
        for offset in (299, 0, 150):
            assert [found[:2] for found in topic.records({1: [(offset, offset)]})] == [(1, offset)]
        assert sorted(found[:2] for found in topic.records({0: [(7, 7)], 1: [(8, 8)]})) == [(0, 7), (1, 8)]
        assert list(topic.records({})) == []

    def test_what_is_held_is_said_with_the_topics_id(self, opened: OpenStored) -> None:
        held = opened(300).held()
        assert held.topic_id
        assert held.ranges == {0: (0, 299), 1: (0, 299)}

    def test_an_empty_partition_holds_nothing(self, opened: OpenStored) -> None:
        assert opened(0).held().ranges == {}

    def test_a_dead_cluster_is_unreachable_and_not_empty(self, elsewhere: KafkaRecords) -> None:
        with pytest.raises(SluiceError, match="could be reached"):
            elsewhere.held()
