"""How much a batch will read, by the log of the table alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta.size import rows_at_most
from sluice.intervals.alignment import Interval

MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)


def hours(first: int, last: int) -> Interval:
    return Interval(MIDNIGHT + timedelta(hours=first), MIDNIGHT + timedelta(hours=last))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three files: of the hours 0 to 2, of the hours 5 and 6, and of no known time."""
    for times in ([0, 1, 2], [5, 6], [None]):
        at = [None if hour is None else MIDNIGHT + timedelta(hours=hour) for hour in times]
        rows = pa.table({"event_time": pa.array(at, pa.timestamp("us", "UTC"))})
        write_deltalake(str(tmp_path / "raw"), rows, mode="append")
    return tmp_path / "raw"


@pytest.mark.parametrize(
    ("span", "rows"),
    [(None, 6), (hours(0, 1), 4), (hours(3, 5), 1), (hours(2, 6), 6), (hours(2, 3), 4), (hours(7, 9), 1)],
)
def test_all_rows_of_the_files_that_may_hold_one_of_the_range_are_counted(
    table: Path, span: Interval | None, rows: int
) -> None:
    assert rows_at_most(table, "event_time", span) == rows


def test_a_table_that_is_not_there_holds_nothing_and_one_without_times_may_hold_any(table: Path) -> None:
    assert rows_at_most(table.with_name("none"), "event_time", None) == 0
    assert rows_at_most(table, "arrival", hours(0, 1)) == 6
