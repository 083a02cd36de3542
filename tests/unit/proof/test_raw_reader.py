"""A reader of the raw table tells what was sent by its bytes, and remembers when it first saw it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from sluice.proof.observations import ObservedKind
from sluice.proof.running.raw_reader import RawReader
from sluice.proof.running.sending import checksum
from sluice.topics.records import RecordPosition


def append(folder: Path, *rows: tuple[int, int, bytes | None]) -> None:
    columns = {
        "partition": pa.array([row[0] for row in rows], pa.int32()),
        "offset": pa.array([row[1] for row in rows], pa.int64()),
        "value": pa.array([row[2] for row in rows], pa.binary()),
    }
    write_deltalake(str(folder), pa.table(columns), mode="append")


def test_it_sees_what_is_there_and_how_often(tmp_path: Path) -> None:
    folder, times = tmp_path / "raw", iter((10.0, 20.0, 30.0))
    reader = RawReader(folder, "flights", {b"a": "p0-0", b"b": "p1-0"}, {}, lambda: next(times))
    first = reader.look()
    assert (first.at, first.ids, first.output) == (10.0, frozenset(), "raw")
    append(folder, (1, 0, b"b"), (0, 5, b"a"))
    second = reader.look()
    assert (second.ids, second.twice) == ({"p0-0", "p1-0"}, 0)
    append(folder, (0, 6, b"a"), (0, 7, None), (0, 8, b"?"))
    third = reader.look()
    assert third.ids == {"p0-0", "p1-0", "the record at 0/7", "the record at 0/8"}
    assert third.twice == 1
    found = reader.all()
    reader.ignore_times()
    assert {each.readable_at for each in reader.all().records} == {None}
    assert (found.kind, found.is_complete) == (ObservedKind.RAW, True)
    assert [(each.id, each.position, each.readable_at) for each in found.records] == [
        ("p0-0", RecordPosition(0, 5), 20.0),
        ("p0-0", RecordPosition(0, 6), 30.0),
        ("the record at 0/7", RecordPosition(0, 7), 30.0),
        ("the record at 0/8", RecordPosition(0, 8), 30.0),
        ("p1-0", RecordPosition(1, 0), 20.0),
    ]
    assert found.records[0].checksum == checksum(b"a")


def test_a_record_whose_value_was_changed_is_known_by_its_position(tmp_path: Path) -> None:
    folder, positions = tmp_path / "raw", {RecordPosition(0, 5): "p0-0", RecordPosition(0, 6): "p0-1"}
    reader = RawReader(folder, "flights", {b"a": "p0-0", b"b": "p0-1"}, positions, lambda: 0.0)
    append(folder, (0, 5, b"A"), (0, 6, b"a"))
    assert [(each.id, each.checksum) for each in reader.all().records] == [
        ("p0-0", checksum(b"A")),
        ("p0-0", checksum(b"a")),
    ], "a value that was sent says whose it is, wherever it lies"
