"""What of a raw table is compared with Kafka: a real Delta table without Spark, and its twin in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta.raw import raw_records
from sluice.delta.raw.raw_records import DeltaRawRecords
from sluice.intervals.backfill.conservation import OffsetCensus, RawRecords
from tests.suites.stored_records_suite import FillRaw, RawRecordsSuite, RawRow
from tests.twins.stored_records import InMemoryRawTable

NO_TIME = -1
"""What Spark writes where Kafka has no timestamp."""
SCHEMA = pa.schema(
    {
        "topic_id": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
        "event_time": pa.timestamp("us", "UTC"),
    }
)


def as_columns(row: RawRow) -> dict[str, object]:
    record = row.record
    return {
        "topic_id": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "timestamp": 1000 * (NO_TIME if record.timestamp is None else record.timestamp),
        "key": record.key,
        "value": record.value,
        "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
        "event_time": row.happened,
    }


def filled(folder: Path, rows: Sequence[RawRow]) -> DeltaRawRecords:
    """Return a table of several commits, the last of which is not pinned."""
    half = len(rows) // 2
    for part in (rows[:half], rows[half:], [RawRow("t", 0, 7), RawRow("t", 0, 3)]):
        table = pa.Table.from_pylist([as_columns(row) for row in part], schema=SCHEMA)
        write_deltalake(str(folder), table, mode="append")
    return DeltaRawRecords(folder, 1)


class TestDeltaRawRecords(RawRecordsSuite):
    @pytest.fixture
    def fill(self, tmp_path: Path) -> FillRaw:
        return lambda rows: filled(tmp_path / "raw", rows)


class TestInMemoryRawTable(RawRecordsSuite):
    @pytest.fixture
    def fill(self) -> FillRaw:
        def fill(rows: Sequence[RawRow]) -> RawRecords:
            table = InMemoryRawTable()
            for row in rows:
                at = row.happened or datetime.max.replace(tzinfo=UTC)
                table.add(row.partition, row.offset, topic=row.topic, at=at, record=row.record)
            return table

        return fill


def test_a_census_lists_so_many_gaps_and_counts_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_records, "MAX_GAPS", 1)
    table = filled(tmp_path / "raw", [RawRow("t", 0, offset) for offset in (0, 3, 6, 6)])
    assert table.census({("t", 0): (0, 9)})["t", 0] == OffsetCensus(((1, 2),), 5, 1, (6,))
