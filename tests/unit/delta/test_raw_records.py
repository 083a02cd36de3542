"""What of a raw table is compared with Kafka, read from a real Delta table without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta import raw_records
from sluice.delta.raw_records import DeltaRawRecords
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.conservation import OffsetCensus, StoredRecord
from sluice.intervals.record_positions import RecordPositions

MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
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


def row(
    topic: str, partition: int, offset: int, *, at: datetime | None = MIDNIGHT, **parts: object
) -> dict[str, object]:
    plain = {"timestamp": MIDNIGHT, "key": b"k", "value": b"%d" % offset, "headers": None}
    return {"topic_id": topic, "partition": partition, "offset": offset, "event_time": at, **plain, **parts}


@pytest.fixture
def table(tmp_path: Path) -> DeltaRawRecords:
    """Two commits, whose offsets overlap in one partition, and a third that is not pinned."""
    folder = tmp_path / "raw"
    offsets = [0, 1, 2, 5, 6]
    one = [row("t", 0, offset, at=MIDNIGHT + offset * HOUR) for offset in offsets] + [row("t", 1, 3, at=None)]
    two = [row("t", 0, 6, at=MIDNIGHT), row("t", 0, 9, at=MIDNIGHT + 30 * HOUR), row("u", 0, 4)]
    for rows in (one, two, [row("t", 0, 7)]):
        write_deltalake(str(folder), pa.Table.from_pylist(rows, schema=SCHEMA), mode="append")
    return DeltaRawRecords(folder, 1)


def test_spans_hold_the_records_of_the_times(table: DeltaRawRecords) -> None:
    early = Interval(MIDNIGHT, MIDNIGHT + 2 * HOUR)
    assert table.spans([early]) == {("t", 0): (0, 6), ("u", 0): (4, 4)}
    assert table.spans([Interval(MIDNIGHT + 1 * HOUR, MIDNIGHT + 2 * HOUR)]) == {("t", 0): (1, 1)}
    assert table.spans([Interval(MIDNIGHT - HOUR, MIDNIGHT)]) == {}
    assert table.spans([]) == {}


def test_a_census_tells_what_is_missing_and_what_is_there_again(table: DeltaRawRecords) -> None:
    found = table.census({("t", 0): (1, 9), ("t", 1): (3, 3), ("u", 0): (3, 5)})
    assert found == {
        ("t", 0): OffsetCensus(((3, 4), (7, 8)), 0, 1, (6,)),
        ("t", 1): OffsetCensus(),
        ("u", 0): OffsetCensus(((3, 3), (5, 5))),
    }


def test_a_census_lists_so_many_gaps_and_counts_the_rest(
    table: DeltaRawRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_records, "MAX_GAPS", 1)
    assert table.census({("t", 0): (0, 9)})["t", 0] == OffsetCensus(((3, 4),), 2, 1, (6,))


def test_records_are_as_they_were_stored(tmp_path: Path) -> None:
    headers = [{"key": "trace", "value": b"\xff"}, {"key": "trace", "value": None}]
    unknown = datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    rows = [row("t", 0, 1, headers=headers), row("t", 0, 2, key=None, value=None, timestamp=unknown), row("t", 1, 1)]
    folder = tmp_path / "raw"
    write_deltalake(str(folder), pa.Table.from_pylist(rows, schema=SCHEMA))
    found = DeltaRawRecords(folder, 0).records(RecordPositions.joined([("t", 0, (0, 5))]))
    assert found == {
        ("t", 0, 1): StoredRecord(b"k", b"1", (("trace", b"\xff"), ("trace", None)), MIDNIGHT),
        ("t", 0, 2): StoredRecord(None, None, (), None),
    }
    assert DeltaRawRecords(folder, 0).records(RecordPositions()) == {}
