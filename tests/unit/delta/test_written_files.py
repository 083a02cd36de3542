from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction
from hypothesis import given
from hypothesis import strategies as st

from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import look_after
from sluice.delta.writer_log import WriterLog
from sluice.delta.written_files import (
    draft_folder,
    moved_into,
    old_drafts,
    replace_partitions,
    statistics,
    written_partitions,
)
from sluice.intervals.entries import StreamEntry
from sluice.streams.position.fencing import FencedError

WRITER = "raw_t:id:0"
_TIMES = st.datetimes(timezones=st.just(UTC))
_COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "tiny": (pa.int8(), st.integers(-128, 127)),
    "real": (pa.float64(), st.floats(allow_infinity=True, allow_nan=True)),
    "flag": (pa.bool_(), st.booleans()),
    "moment": (pa.timestamp("us", "UTC"), _TIMES),
    "day": (pa.date32(), st.dates()),
    "text": (pa.string(), st.text(st.sampled_from("ab\U0010ffff\uffff\0é"), max_size=40)),
    "bytes": (pa.binary(), st.binary(max_size=4)),
    "money": (pa.decimal128(9, 2), st.decimals(-99999, 99999, places=2)),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=2)),
    "struct": (pa.struct([("x", pa.int64())]), st.fixed_dictionaries({"x": st.integers(0, 9)})),
}
_HOURLY = Schema([Field("n", PrimitiveType("long")), Field("hour", PrimitiveType("timestamp"))])
_COMPARABLE = ("whole", "small", "tiny", "real", "flag", "moment", "day", "text", "money")


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    names = draw(st.lists(st.sampled_from(sorted(_COLUMNS)), min_size=1, max_size=4, unique=True))
    count = draw(st.integers(1, 6))

    def column(name: str) -> pa.Array:
        kind, values = _COLUMNS[name]
        return pa.array(draw(st.lists(st.none() | values, min_size=count, max_size=count)), kind)

    return pa.table({name: column(name) for name in names})


def added(folder: Path, files: Sequence[pa.Table], *, group: int | None = None) -> WriterLog:
    """Make a table of which files are added by one commit, as Spark writes them: in groups of so many rows."""
    schema = DeltaTable.create(str(folder), files[0].schema, mode="overwrite").schema()
    log = WriterLog(folder, WRITER, 1)
    log.open()
    with draft_folder(folder) as draft:
        write_draft(draft, files, group=group)
        log.add(moved_into(folder, draft), entry(1), 1)
    assert DeltaTable(str(folder)).schema() == schema
    return log


def write_draft(draft: Path, files: Sequence[pa.Table], *, group: int | None = None) -> None:
    draft.mkdir(parents=True)
    for number, rows in enumerate(files):
        pq.write_table(rows, draft / f"part-{number}.parquet", row_group_size=group)
    (draft / "_SUCCESS").touch()


def entry(end: int) -> StreamEntry:
    return StreamEntry(WRITER, 1, "a", end, {"t/0": end - 1}, {"t/0": end})


@given(tables(), st.integers(1, 3))
def test_a_filter_by_any_column_finds_every_row(
    tmp_path_factory: pytest.TempPathFactory, rows: pa.Table, group: int
) -> None:
    folder = tmp_path_factory.mktemp("t")
    added(folder, [rows], group=group)
    found = dataset_of(folder)
    assert found.to_table().num_rows == rows.num_rows
    for name in set(_COMPARABLE) & set(rows.column_names):
        column = rows.column(name)
        for value in column:
            same = ds.field(name).is_null() if not value.is_valid else ds.field(name) == value
            expected = int(pc.sum(pc.is_null(column) if not value.is_valid else pc.equal(column, value)).as_py() or 0)
            assert found.to_table(filter=same).num_rows == expected, (name, value, statistics_of(folder))


def statistics_of(folder: Path) -> list[str]:
    return [statistics(pq.read_metadata(file)) for file in folder.glob("*.parquet")]


def test_the_log_has_bounds_and_nulls_of_all_groups(tmp_path: Path) -> None:
    noon = datetime(2013, 1, 1, 12, 0, 0, 1, UTC)
    rows = pa.table(
        {
            "n": pa.array([3, None, 1], pa.int64()),
            "at": pa.array([noon, noon + timedelta(days=1), None], pa.timestamp("us", "UTC")),
            "on": pa.array([date(2013, 1, 2)] * 3),
            "s": ["b", "é" * 40, "a"],
            "key": pa.array([b"x", None, b"y"]),
            "none": pa.array([None] * 3, pa.int64()),
        }
    )
    pq.write_table(rows, tmp_path / "f.parquet", row_group_size=1)
    assert json.loads(statistics(pq.read_metadata(tmp_path / "f.parquet"))) == {
        "numRecords": 3,
        "minValues": {"n": 1, "at": "2013-01-01T12:00:00.000001Z", "on": "2013-01-02", "s": "a"},
        "maxValues": {"n": 3, "at": "2013-01-02T12:00:00.000001Z", "on": "2013-01-02", "s": "é" * 32 + "\U0010ffff"},
        "nullCount": {"n": 1, "at": 1, "on": 0, "s": 0, "none": 3},
    }


@pytest.mark.parametrize(
    "column",
    [
        pa.array([Decimal("1.23")]),
        pa.array([0], pa.timestamp("us")),
        pa.array([0], pa.timestamp("ms", "UTC")),
        pa.array([float("inf")]),
    ],
)
def test_a_file_with_a_column_of_unknown_bounds_has_no_others(tmp_path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"n": [1], "other": column}), tmp_path / "f.parquet")
    assert json.loads(statistics(pq.read_metadata(tmp_path / "f.parquet"))) == {"numRecords": 1}


def test_times_beyond_the_calendar_are_at_its_ends(tmp_path: Path) -> None:
    rows = pa.table({"at": pa.array([-(2**63), 2**63 - 1], pa.timestamp("us", "UTC"))})
    pq.write_table(rows, tmp_path / "f.parquet")
    said = json.loads(statistics(pq.read_metadata(tmp_path / "f.parquet")))
    assert said["minValues"] == {"at": "0001-01-01T00:00:00.000000Z"}
    assert said["maxValues"] == {"at": "9999-12-31T23:59:59.999999Z"}


def test_a_file_without_rows_is_left_out_and_the_draft_goes(tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2]})
    added(tmp_path / "t", [rows, rows.slice(0, 0)])
    assert dataset_of(tmp_path / "t").to_table() == rows
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1
    assert not list((tmp_path / "t" / "_drafts").iterdir())


def test_a_draft_goes_when_its_writing_fails(tmp_path: Path) -> None:
    def fail() -> None:
        with draft_folder(tmp_path) as draft:
            write_draft(draft, [pa.table({"n": [1]})])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(tmp_path.rglob("*.parquet"))


def test_nothing_is_added_by_a_generation_that_was_overtaken(tmp_path: Path) -> None:
    rows = pa.table({"n": [1]})
    log = added(tmp_path / "t", [rows])
    with draft_folder(tmp_path / "t") as draft:
        write_draft(draft, [pa.table({"n": [2]}), pa.table({"n": [3]})])
        WriterLog(tmp_path / "t", WRITER, 2).open()
        with pytest.raises(FencedError):
            log.add(moved_into(tmp_path / "t", draft), entry(2), 2)
    assert dataset_of(tmp_path / "t").to_table() == rows


def test_a_commit_that_was_quicker_delays_the_files_and_doubles_none(tmp_path: Path) -> None:
    log = added(tmp_path / "t", [pa.table({"n": [1]})])
    with draft_folder(tmp_path / "t") as draft:
        write_draft(draft, [pa.table({"n": [2]})])
        files = moved_into(tmp_path / "t", draft)
        DeltaTable(str(tmp_path / "t")).alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})
        log.add(files, entry(2), 2)
    assert sorted(dataset_of(tmp_path / "t").to_table().column("n").to_pylist()) == [1, 2]
    assert log.latest == entry(2)


def test_upkeep_removes_what_a_killed_writer_left_a_week_ago(tmp_path: Path) -> None:
    ensure_table(tmp_path / "t", Schema([Field("n", PrimitiveType("long"))]).to_json())
    now = datetime.now(UTC)
    for name, age in {"old": 8, "new": 6}.items():
        draft = tmp_path / "t" / "_drafts" / name
        write_draft(draft, [pa.table({"n": [1]})])
        then = (now - timedelta(days=age)).timestamp()
        os.utime(draft, (then, then))
    assert [draft.name for draft in old_drafts(tmp_path / "t", now - timedelta(days=7))] == ["old"]
    look_after(tmp_path / "t", now)
    assert [draft.name for draft in (tmp_path / "t" / "_drafts").iterdir()] == ["new"]


@given(st.lists(st.sampled_from(["delta-rs", "Spark"]), min_size=4, max_size=4), st.sets(st.integers(0, 3)))
def test_a_replacement_takes_exactly_the_files_of_its_partitions(writers: list[str], replaced: set[int]) -> None:
    """Partition values are spelled with microseconds by delta-rs, and without them by Spark."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "table"
        DeltaTable.create(str(folder), schema=_HOURLY, partition_by=["hour"])
        for number, writer in enumerate(writers):
            if writer == "Spark":
                as_spark(folder, number)
            else:
                write_deltalake(str(folder), hourly([number]), mode="append")
        new = written_partitions(
            folder, "hour", hourly([n for n in sorted(replaced - {0}) for _ in range(2)]).to_reader()
        )
        assert not [*(folder / "_drafts").iterdir()]
        table, at = DeltaTable(str(folder)), [hour(number) for number in replaced]
        replace_partitions(table, "hour", at, new, CommitProperties(max_commit_retries=0))
        assert DeltaTable(str(folder)).version() == len(writers) + 1
        found = dataset_of(folder).to_table().to_pylist()
    expected = [(hour(n), n) for n in range(4) if n not in replaced] + [
        (hour(n), n) for n in replaced - {0} for _ in range(2)
    ]
    assert sorted((row["hour"], row["n"]) for row in found) == sorted(expected)


def test_a_replacement_of_a_version_that_is_not_the_newest_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = DeltaTable.create(str(folder), schema=_HOURLY, partition_by=["hour"])
    files = written_partitions(folder, "hour", hourly([1]).to_reader())
    write_deltalake(str(folder), hourly([0]), mode="append")
    with pytest.raises(CommitFailedError):
        replace_partitions(table, "hour", [hour(1)], files, CommitProperties(max_commit_retries=0))
    assert [row["n"] for row in dataset_of(folder).to_table().to_pylist()] == [0]


def hour(number: int) -> datetime:
    return datetime(2013, 1, 1, tzinfo=UTC) + timedelta(hours=number)


def hourly(numbers: Sequence[int]) -> pa.Table:
    """Return a row for each number, in the hour of that number."""
    hours = pa.array([hour(number) for number in numbers], pa.timestamp("us", "UTC"))
    return pa.table({"n": pa.array(numbers, pa.int64()), "hour": hours})


def as_spark(table: Path, number: int) -> None:
    """Append a file of one hour as Spark did."""
    value = f"{hour(number):%Y-%m-%d %H:%M:%S}"
    path = f"hour={value.replace(':', '%3A')}/part-{number}.parquet"
    (table / path).parent.mkdir()
    pq.write_table(pa.table({"n": [number]}), table / path)
    file = AddAction(path, (table / path).stat().st_size, {"hour": value}, 0, True, '{"numRecords": 1}')
    delta = DeltaTable(str(table))
    delta.create_write_transaction([file], "append", delta.schema(), partition_by=["hour"])
