"""One record of a raw table, its copies, and the commit of its batch: a real Delta table without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta.log import entry_properties
from sluice.delta.raw.traced_records import alike, batch_of, first_offset, rows_of, times_reaching_to
from sluice.intervals.entries import StreamEntry
from sluice.intervals.writers import writer_id
from sluice.specs.catalog.streams import raw_stream
from sluice.tracing.address import RecordAddress
from tests.unit.delta.test_raw_records import NO_TIME, SCHEMA

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
WHOLE = SCHEMA.append(pa.field("arrival_time", pa.timestamp("us", "UTC"))).append(pa.field("decodes", pa.bool_()))


def batch(folder: Path, topic_id: str, start: int, end: int, *, wrote: int | None = None, number: int = 0) -> None:
    """Append a batch of partition 1 that says it holds offsets from `start`, and writes those from `wrote` on."""
    rows = [
        {
            "topic_id": topic_id,
            "partition": 1,
            "offset": offset,
            "timestamp": 1000 * NO_TIME if offset % 2 else NOON,
            "key": None,
            "value": f"{offset // 2}".encode(),
            "headers": [{"key": "h", "value": b"1"}],
            "event_time": NOON + timedelta(minutes=offset // 4),
            "arrival_time": NOON,
            "decodes": True,
        }
        for offset in range(start if wrote is None else wrote, end)
    ]
    entry = StreamEntry(
        writer_id(raw_stream("orders"), topic_id), 3, "l", number, {"orders/1": start}, {"orders/1": end, "orders/0": 2}
    )
    write_deltalake(
        str(folder), pa.Table.from_pylist(rows, schema=WHOLE), mode="append", commit_properties=entry_properties(entry)
    )


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    batch(folder, "old", 0, 4)
    batch(folder, "new", 2, 4, number=1)
    batch(folder, "new", 2, 8, wrote=4, number=2)  # cut again after a lost checkpoint
    batch(folder, "new", 8, 12, number=3)
    return folder


def at(offset: int, partition: int = 1) -> RecordAddress:
    return RecordAddress("orders", partition, offset)


def test_a_record_is_found_with_its_file_once_for_each_topic_of_the_name(raw: Path) -> None:
    old, new = sorted(rows_of(raw, at(2)), key=lambda row: row.topic_id, reverse=True)
    assert (old.topic_id, new.topic_id) == ("old", "new")
    assert (new.value, new.headers, new.at, new.event_time, new.decodes) == (b"1", (("h", b"1"),), NOON, NOON, True)
    assert (raw / new.file).is_file()
    assert new.file != old.file
    (timeless,) = rows_of(raw, at(5))
    assert timeless.at is None
    assert rows_of(raw, at(2, partition=0)) == []
    assert rows_of(raw.with_name("none"), at(2)) == []


def test_the_first_offset_is_that_of_one_topic_and_partition(raw: Path) -> None:
    assert [first_offset(raw, topic, 1) for topic in ("old", "new", "other")] == [0, 2, None]
    assert first_offset(raw, "new", 0) is None
    assert first_offset(raw.with_name("none"), "new", 1) is None


def test_a_records_commit_is_the_oldest_batch_that_reaches_over_it(raw: Path) -> None:
    found = {offset: batch_of(raw, at(offset), "new") for offset in (1, 2, 3, 4, 8, 11, 12)}
    numbers = {offset: None if commit is None else commit.batch_id for offset, commit in found.items()}
    assert numbers == {1: None, 2: 1, 3: 1, 4: 2, 8: 3, 11: 3, 12: None}
    last = found[11]
    assert last is not None
    assert (last.version, last.generation) == (3, 3)
    assert found[2] is not None
    assert found[2].begun is None, "nothing of this topic came before"
    assert found[4] is not None
    assert found[4].begun == found[2].at
    assert batch_of(raw, at(2, partition=0), "new") is None
    assert batch_of(raw.with_name("none"), at(2), "new") is None


def test_records_of_the_same_time_are_compared_by_what_is_wanted(raw: Path) -> None:
    (record,) = (row for row in rows_of(raw, at(2)) if row.topic_id == "new")
    same = sorted(alike(raw, record, lambda value: value == record.value))
    assert same == [("new", 1, 2), ("new", 1, 3), ("old", 1, 2), ("old", 1, 3)]
    every = [place for place in alike(raw, record, lambda _: True) if place[0] == "new"]
    assert sorted(every) == [("new", 1, 2), ("new", 1, 3)], "offset 4 happened a minute later"


def test_rows_that_reach_back_to_an_instant_are_found_by_their_two_times(tmp_path: Path) -> None:
    hours = [(0, 2), (1, 5), (3, 4)]
    rows = [{"since": NOON + timedelta(hours=a), "at": NOON + timedelta(hours=b)} for a, b in hours]
    schema = pa.schema([(name, pa.timestamp("us", "UTC")) for name in ("since", "at")])
    write_deltalake(str(tmp_path / "sessions"), pa.Table.from_pylist(rows, schema=schema))

    def reaching(hour: float) -> list[float]:
        event = NOON + timedelta(hours=hour)
        found = times_reaching_to(tmp_path / "sessions", event, since="since", until="at")
        return sorted((each - NOON) / timedelta(hours=1) for each in found)

    assert [reaching(hour) for hour in (0, 1, 2, 2.5, 3, 5.5)] == [[2], [2, 5], [2, 5], [5], [4, 5], []]
    assert times_reaching_to(tmp_path / "none", NOON, since="since", until="at") == set()
