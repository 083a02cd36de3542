"""A SELECT of Spark's, answered by DuckDB: the windows are those that Spark documents, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.delta.sql import query_memory
from sluice.specs.code.select import Select
from sluice.specs.code.select_in_duckdb import UntranslatableError, in_duckdb

WINDOWS = "SELECT window.start, window.end FROM orders GROUP BY window(ordered_at, LENGTHS)"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def orders(*times: datetime | None) -> pa.Table:
    return pa.table(
        {
            "ordered_at": pa.array(times, pa.timestamp("us", tz="UTC")),
            "shop": pa.array(["north"] * len(times)),
        }
    )


def answer(query: str, table: pa.Table) -> list[tuple[object, ...]]:
    rows = query_memory(in_duckdb(Select.of(query, "q.sql")), {"orders": table})
    return [tuple(row.values()) for row in rows.to_pylist()]


@given(
    st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  drawn as UTC
    st.integers(1, 90),
    st.integers(1, 90),
    st.integers(0, 30),
)
def test_every_window_that_holds_a_time_is_there_once(at: datetime, length: int, slide: int, offset: int) -> None:
    length, slide, offset = max(length, slide), min(length, slide), min(offset, min(length, slide) - 1)
    lengths = ", ".join(f"'{minutes} minutes'" for minutes in (length, slide, offset))
    query = WINDOWS.replace("LENGTHS", lengths)
    found = {(start.astimezone(UTC), end.astimezone(UTC)) for start, end in answer(query, orders(at))}
    span, step, first = (timedelta(minutes=each) for each in (length, slide, offset))
    number = (at - EPOCH - first) // step
    starts = [EPOCH + first + (number - back) * step for back in range(length // slide + 2)]
    assert found == {(start, start + span) for start in starts if start <= at < start + span}


def test_a_window_by_another_name_and_a_record_without_a_time() -> None:
    query = (
        "WITH w AS (SELECT window(ordered_at, '1 hour') AS hour, shop FROM orders)"
        " SELECT hour.start AS at, shop, count(*) AS n FROM w GROUP BY ALL"
    )
    table = orders(datetime(2026, 1, 1, 12, 10, tzinfo=UTC), datetime(2026, 1, 1, 12, 50, tzinfo=UTC), None)
    assert answer(query, table) == [(datetime(2026, 1, 1, 12, tzinfo=UTC), "north", 2)]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT 1 FROM orders GROUP BY session_window(ordered_at, '5 minutes')", "session_window()"),
        ("SELECT approx_count_distinct(shop) FROM orders", "approx_count_distinct()"),
        ("SELECT xxhash64(shop) FROM orders", "xxhash64()"),
        ("SELECT timestampdiff(MINUTE, ordered_at, ordered_at) FROM orders", "timestampdiff()"),
        ("SELECT 1 FROM orders GROUP BY window(ordered_at, 60000000L)", "its windows are not written as text"),
    ],
)
def test_what_duckdb_means_otherwise_is_not_asked(query: str, why: str) -> None:
    with pytest.raises(UntranslatableError) as refused:
        in_duckdb(Select.of(query, "q.sql"))
    assert why in str(refused.value)
