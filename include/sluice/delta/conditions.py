"""Which rows of a table lie in a range of time or behind offsets, and when they happened, for Arrow and delta-rs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sluice.intervals.alignment import Interval
from sluice.intervals.record_positions import OffsetRange


def during(column: str, times: Interval) -> ds.Expression:
    """Return the condition that a column of timestamps (microseconds, UTC) lies in a range of time."""
    return (ds.field(column) >= instant_scalar(times.start)) & (ds.field(column) < instant_scalar(times.end))


def beyond(positions: Mapping[str, int]) -> ds.Expression:
    """Return the condition that a record of a raw table, of one topic, lies at an offset or behind it.

    Args:
        positions: offsets per `topic/partition`; of a partition that is missing every record does.
    """
    partition, numbers = ds.field("partition"), {partition_number(name): first for name, first in positions.items()}
    known = [(partition == number) & (ds.field("offset") >= first) for number, first in numbers.items()]
    return reduce(or_, known, ~partition.isin([*numbers]))


def at_offsets(topic: str, partition: int, offsets: OffsetRange) -> ds.Expression:
    """Return the condition that a record of a raw table lies in a range of offsets of one partition."""
    first, last = offsets
    own = (ds.field("topic_id") == topic) & (ds.field("partition") == partition)
    return own & (ds.field("offset") >= first) & (ds.field("offset") <= last)


def partition_number(partition: str) -> int:
    """Return the number of a `topic/partition`."""
    return int(partition.rpartition("/")[2])


def instant_scalar(instant: datetime) -> pa.Scalar:
    """Return an instant (UTC) as Arrow compares it with a column of timestamps."""
    return pa.scalar(instant, pa.timestamp("us", "UTC"))


def hours_of(table: ds.Dataset, column: str, condition: ds.Expression) -> list[Interval]:
    """Return the hours that a column of timestamps has in the rows of a condition, in no order."""
    times = table.to_table(columns=[column], filter=condition).column(column)
    starts = (hour.astimezone(UTC) for hour in pc.unique(pc.floor_temporal(times, unit="hour")).to_pylist())
    return [Interval(start, start + timedelta(hours=1)) for start in starts]


def instant_literal(instant: datetime) -> str:
    """Return an instant (UTC) as delta-rs writes it in SQL."""
    return f"arrow_cast('{instant:%Y-%m-%dT%H:%M:%S.%f}Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"
