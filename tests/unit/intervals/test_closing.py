from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sluice.intervals.closing import closed_intervals, settled_watermark
from sluice.streams.checkpoint import PlannedBatch

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
BATCHES = [PlannedBatch(2, {"t/0": 30, "t/1": 8}, NOON + HOUR), PlannedBatch(1, {"t/0": 20, "t/1": 8}, NOON)]


def test_the_newest_batch_counts_when_the_raw_table_has_all_of_it() -> None:
    assert settled_watermark(BATCHES, {"t/0": 30, "t/1": 9}) == NOON + HOUR


def test_an_older_batch_counts_while_the_raw_table_lags_on_one_partition() -> None:
    assert settled_watermark(BATCHES, {"t/0": 29, "t/1": 9}) == NOON


def test_nothing_is_closed_before_the_raw_table_has_a_batch() -> None:
    assert settled_watermark(BATCHES, {"t/0": 30}) is None
    assert closed_intervals(NOON, None, HOUR, timedelta(0)) == []


def test_an_interval_closes_at_its_end_and_not_a_second_before() -> None:
    assert closed_intervals(NOON, NOON + HOUR - timedelta(seconds=1), HOUR, timedelta(0)) == []
    assert [i.start for i in closed_intervals(NOON, NOON + HOUR, HOUR, timedelta(0))] == [NOON]


def test_settle_holds_an_interval_open() -> None:
    assert closed_intervals(NOON, NOON + HOUR, HOUR, timedelta(minutes=1)) == []


def test_intervals_without_rows_close_too() -> None:
    assert len(closed_intervals(NOON, NOON + 5 * HOUR, HOUR, timedelta(0))) == 5
