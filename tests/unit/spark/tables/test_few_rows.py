"""Which rows Arrow brings into the driver: those that it can hold, by their number and by their size."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import write_deltalake

from sluice.delta.reading import dataset_of
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import RawPosition, Reach
from sluice.spark.settling import raw_source
from sluice.spark.settling.raw_source import RawTableSource
from sluice.spark.tables import raw_table
from sluice.spark.tables.raw_table import few_rows
from tests.twins.departures_project import hour

TIME = pa.timestamp("us", "UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        pa.field("topic_id", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIME),
        pa.field("event_time", TIME),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
    ]
)
RECORDS = 30
SIZE = 10_000
WANTED = Interval(hour(0), hour(1))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a raw table: each of three files holds ten records of 10 KB."""
    folder = tmp_path / "flights_raw"
    for first in range(0, RECORDS, 10):
        rows = [
            {"topic_id": "id", "partition": 0, "offset": first + n, "timestamp": hour(0), "event_time": hour(0)}
            | {"value": bytes([first + n]) * SIZE}
            for n in range(10)
        ]
        write_deltalake(folder, pa.Table.from_pylist(rows, SCHEMA), mode="append")
    return folder


@pytest.mark.parametrize(
    ("size", "most", "fits"),
    [
        (raw_table._FEW_BYTES, RECORDS, True),
        (raw_table._FEW_BYTES, RECORDS - 1, False),
        (RECORDS * SIZE, RECORDS, False),
        (2 * RECORDS * SIZE, RECORDS, True),
    ],
)
def test_rows_are_few_by_their_number_and_by_their_size(
    table: Path, monkeypatch: pytest.MonkeyPatch, size: int, most: int, *, fits: bool
) -> None:
    monkeypatch.setattr(raw_table, "_FEW_BYTES", size)
    found = few_rows(dataset_of(table), columns=["offset", "value"], most=most)
    assert (found is not None) is fits
    assert found is None or sorted(found.column("offset").to_pylist()) == list(range(RECORDS))


def test_only_what_is_wanted_counts(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_table, "_FEW_BYTES", 5 * SIZE)
    found = few_rows(dataset_of(table), ds.field("offset") < 3, columns=["value"], most=3)
    assert found is not None
    assert (found.num_rows, found.schema.names) == (3, ["value"])
    nothing = few_rows(dataset_of(table), ds.field("offset") < 0)
    assert nothing is not None
    assert nothing.schema.names == SCHEMA.names
    assert not nothing.num_rows


@pytest.mark.parametrize(("size", "by"), [(2 * RECORDS * SIZE, "arrow"), (RECORDS * SIZE // 2, "spark")])
def test_a_settlement_reads_large_records_by_spark(
    table: Path, monkeypatch: pytest.MonkeyPatch, size: int, by: str
) -> None:
    class Stored:
        """Stands for the table as Spark reads it."""

        def rows(self, _spark: object) -> Stored:
            return self

        def where(self, _condition: object) -> Stored:
            return self

    monkeypatch.setattr(raw_table, "_FEW_BYTES", size)
    monkeypatch.setattr(raw_source, "raw_records", lambda rows: rows)
    monkeypatch.setattr(raw_source, "below_reach", lambda _reach: None)
    monkeypatch.setattr(raw_source, "RawTable", lambda *_pinned: Stored())
    monkeypatch.setattr(raw_source, "frame_of", lambda _spark, found: found)
    nothing, reach = cast(Any, None), Reach({"flights/0": RECORDS}, ("id",))
    source = RawTableSource(nothing, table, nothing, nothing, nothing, nothing)
    found: object = source.records(RawPosition(2, reach), reach, WANTED)
    assert isinstance(found, pa.Table if by == "arrow" else Stored)
