"""Conditions on the rows of a table, for Arrow."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds

from sluice.intervals.alignment import Interval


def during(column: str, times: Interval) -> ds.Expression:
    """Return the condition that a column of timestamps (microseconds, UTC) lies in a range of time."""
    first, end = (pa.scalar(at, pa.timestamp("us", "UTC")) for at in (times.start, times.end))
    return (ds.field(column) >= first) & (ds.field(column) < end)
