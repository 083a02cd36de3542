"""Which rows of a table lie in a range of time, and when rows happened, for Arrow and for delta-rs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sluice.intervals.alignment import Interval


def during(column: str, times: Interval) -> ds.Expression:
    """Return the condition that a column of timestamps (microseconds, UTC) lies in a range of time."""
    first, end = (pa.scalar(at, pa.timestamp("us", "UTC")) for at in (times.start, times.end))
    return (ds.field(column) >= first) & (ds.field(column) < end)


def hours_of(table: ds.Dataset, column: str, condition: ds.Expression) -> list[Interval]:
    """Return the hours that a column of timestamps has in the rows of a condition, in no order."""
    times = table.to_table(columns=[column], filter=condition).column(column)
    starts = (hour.astimezone(UTC) for hour in pc.unique(pc.floor_temporal(times, unit="hour")).to_pylist())
    return [Interval(start, start + timedelta(hours=1)) for start in starts]


def instant_literal(instant: datetime) -> str:
    """Return an instant (UTC) as delta-rs writes it in SQL."""
    return f"arrow_cast('{instant:%Y-%m-%dT%H:%M:%S.%f}Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"
