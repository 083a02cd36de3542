from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from hypothesis import given
from hypothesis import strategies as st

from sluice.delta.reading import dataset_of
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import look_after
from sluice.delta.writer_log import WriterLog
from sluice.delta.written_files import draft_folder, moved_into, old_drafts, statistics
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
