"""What a batch changes in a table of newest rows: which rows go in, and which go with their windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from sluice.errors import RefusedError
from sluice.intervals.coverage import Position
from sluice.intervals.writers import writer_id
from sluice.spark.sinks.latest_output import LatestRows, OpenWindows
from sluice.spark.sinks.sink import MicroBatch
from tests.suites.latest_suite import TABLE, WRITER, at, rows
from tests.twins.latest import InMemoryLatest, SharedRows

HOUR = timedelta(hours=1)


@dataclass
class Settler:
    """How far the interval table is settled."""

    until: datetime | None = None

    def open_windows(self, window: timedelta | None = HOUR) -> OpenWindows:
        return OpenWindows(lambda: self.until, window, 4 * HOUR)


@dataclass(frozen=True)
class Collected:
    """As much of a DataFrame as is needed."""

    table: pa.Table

    def toArrow(self) -> pa.Table:  # noqa: N802 - PySpark's name
        return self.table


def batch(end: int, watermark: datetime | None, *, start: int | None = None) -> MicroBatch:
    began = end - 10 if start is None else start
    return MicroBatch(end, "a", {"t/0": 0}, {"t/0": began}, Position({"t/0": end}, watermark))


@pytest.fixture
def shared() -> SharedRows:
    return SharedRows()


@pytest.fixture
def settler() -> Settler:
    return Settler()


@pytest.fixture
def output(shared: SharedRows, settler: Settler) -> LatestRows:
    store = InMemoryLatest(shared, TABLE, WRITER, 1)
    store.open()
    return LatestRows(TABLE, store, settler.open_windows())


def write(output: LatestRows, of: MicroBatch, *given: tuple[int, str, int]) -> None:
    output.write(Collected(rows(*given)), of)  # type: ignore[arg-type]


def held(shared: SharedRows) -> set[tuple[int, str]]:
    return {(int((row["hour"] - at(0)) / HOUR), row["carrier"]) for row in shared.rows.values()}


def values(shared: SharedRows) -> dict[int, int]:
    return {int((row["hour"] - at(0)) / HOUR): int(row["departed"]) for row in shared.rows.values()}


def test_the_past_of_a_long_topic_never_comes_to_the_table(output: LatestRows, shared: SharedRows) -> None:
    write(output, batch(10, None), (1, "UA", 1), (15, "UA", 1), (16, "UA", 1), (20, "UA", 1))
    assert held(shared) == {(16, "UA"), (20, "UA")}
    write(output, batch(20, at(16)), (22, "UA", 1), (25, "UA", 1), (26, "UA", 1), (30, "UA", 1))
    assert held(shared) == {(16, "UA"), (20, "UA"), (26, "UA"), (30, "UA")}, "what was there waits until it is settled"


def test_a_window_that_is_closed_by_the_batch_that_changes_it_last_shows_its_last_value(
    output: LatestRows, shared: SharedRows
) -> None:
    write(output, batch(10, None), (18, "UA", 14), (20, "UA", 3))
    write(output, batch(20, at(16)), (18, "UA", 16), (25, "UA", 1))
    assert values(shared) == {18: 16, 20: 3, 25: 1}


@pytest.mark.parametrize("epoch", [0, 1])
def test_so_does_one_that_an_earlier_process_has_begun_also_in_the_epoch_before(
    output: LatestRows, shared: SharedRows, settler: Settler, epoch: int
) -> None:
    write(output, batch(10, None), (18, "UA", 14), (20, "UA", 3))
    store = InMemoryLatest(shared, TABLE, writer_id("departures_live", "topic", epoch), 2)
    store.open()
    again = LatestRows(TABLE, store, settler.open_windows())
    write(again, batch(15, at(10)), (19, "UA", 1))
    write(again, batch(20, at(10)), (18, "UA", 16), (20, "UA", 7), (25, "UA", 1))
    assert values(shared) == {18: 16, 19: 1, 20: 7, 25: 1}


def test_a_row_stays_until_its_interval_is_settled_however_far_the_watermark_is(
    output: LatestRows, shared: SharedRows, settler: Settler
) -> None:
    write(output, batch(10, at(0)), (1, "UA", 1), (3, "UA", 1))
    write(output, batch(10, at(9), start=10))
    assert held(shared) == {(1, "UA"), (3, "UA")}
    settler.until = at(3)
    write(output, batch(10, at(9), start=10))
    assert held(shared) == {(3, "UA")}


def test_what_is_settled_between_two_batches_goes_at_once_and_does_not_come_back(
    output: LatestRows, shared: SharedRows, settler: Settler
) -> None:
    write(output, batch(10, None), (1, "UA", 1), (3, "UA", 1))
    settler.until = at(2)
    output.expire()
    assert held(shared) == {(3, "UA")}
    write(output, batch(20, None), (1, "UA", 2), (2, "UA", 2))
    assert held(shared) == {(2, "UA"), (3, "UA")}
    assert output.latest is not None
    assert output.latest.end == {"t/0": 20}, "the newest batch is still the newest"


def test_rows_without_windows_of_a_fixed_length_go_when_they_are_settled(shared: SharedRows, settler: Settler) -> None:
    store = InMemoryLatest(shared, TABLE, WRITER, 1)
    store.open()
    output = LatestRows(TABLE, store, settler.open_windows(None))
    write(output, batch(10, at(9)), (1, "UA", 1), (20, "UA", 1))
    assert held(shared) == {(1, "UA"), (20, "UA")}
    settler.until = at(20)
    output.expire()
    assert held(shared) == {(20, "UA")}


def test_a_batch_that_reads_and_changes_nothing_leaves_no_trace(output: LatestRows) -> None:
    write(output, batch(10, at(3)), (4, "UA", 1))
    before = output.latest
    write(output, batch(10, at(3), start=10))
    assert output.latest is before
    write(output, batch(20, at(3)))
    assert output.latest is not before


def test_two_rows_of_a_key_in_one_batch_are_refused(output: LatestRows) -> None:
    with pytest.raises(RefusedError, match="nothing says which is newer"):
        write(output, batch(10, None), (1, "UA", 1), (1, "UA", 2))
