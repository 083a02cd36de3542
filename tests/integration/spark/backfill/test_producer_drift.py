"""Producer drift on Spark: the fields of a raw table, against the same bytes counted by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.contracts.contract import read_version
from sluice.intervals.reach import Reach
from sluice.quality.drift import Drift, JsonKind, NeighbourCounts, ObservedField, field_drifts
from sluice.quality.quarantine import QuarantineFilter
from sluice.spark.checks.producer_drift import RecordFields, declared_kinds, declared_names, fields_as_json
from sluice.spark.tables.raw_table import RawTable
from tests.integration.spark.backfill.backfills import Drained
from tests.shapes.weather import PROTO, heartbeat, topic, values, weather

RAW = "topic_id string, partition int, offset long, timestamp timestamp, value binary"
VALUES: list[object] = [
    {"a": 1, "b": "x"},
    {"a": 2.5, "b": None},
    {"a": True, "c": [1], "d d": {"e": 1}},
    {"a": 10**20, "heartbeat": False},
    {"heartbeat": True, "a": "no flight"},
    [1, 2],
    "text",
    7,
]
BROKEN = [b"", b"\xff{", b'{"a": ', None]


def fields(spark: SparkSession, folder: Path, values: list[bytes | None]) -> RecordFields:
    rows = [("id", n % 2, n, None, None if v is None else bytearray(v)) for n, v in enumerate(values)]
    spark.createDataFrame(rows, RAW).write.format("delta").save(str(folder))
    return RecordFields(spark, RawTable(folder, 0, Reach({})), ("heartbeat",), QuarantineFilter())


def test_each_field_is_counted_by_its_kind_and_partition(spark: SparkSession, tmp_path: Path) -> None:
    measured = fields(spark, tmp_path / "raw", [*(json.dumps(v).encode() for v in VALUES), *BROKEN])
    found = {
        (each.field, each.kind, each.partition): (each.records, each.first, each.last) for each in measured.observed()
    }
    assert found == {
        ("a", JsonKind.INTEGER, "id/0"): (1, 0, 0),
        ("b", JsonKind.STRING, "id/0"): (1, 0, 0),
        ("a", JsonKind.NUMBER, "id/1"): (2, 1, 3),
        ("b", JsonKind.NULL, "id/1"): (1, 1, 1),
        ("a", JsonKind.BOOLEAN, "id/0"): (1, 2, 2),
        ("c", JsonKind.LIST, "id/0"): (1, 2, 2),
        ("d d", JsonKind.OBJECT, "id/0"): (1, 2, 2),
        ("heartbeat", JsonKind.BOOLEAN, "id/1"): (1, 3, 3),
    }


@pytest.mark.verify
def test_what_is_around_the_last_record_with_a_field_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    values = [json.dumps({"a": 1} if n < 30 else {"b": 1}).encode() for n in range(100)]
    measured = fields(spark, tmp_path / "raw", [*values])
    seen = measured.observed()
    assert Counter(each.field for each in seen) == {"a": 2, "b": 2}
    assert measured.neighbours(seen, ["a"]) == {
        ("a", "id/0"): NeighbourCounts(15, 35),
        ("a", "id/1"): NeighbourCounts(15, 35),
    }
    assert measured.neighbours([ObservedField("x", JsonKind.NULL, "id/0", 1, 0, 0)], ["a"]) == {}


def test_fields_of_messages_that_neither_spec_nor_contract_has_are_found(spark: SparkSession, tmp_path: Path) -> None:
    declared = topic(tmp_path).value
    rows = [
        ("id", 0, n, None, bytearray(each)) for n, (_, each) in enumerate(values(weather("2013-01-01", "2013-01-01")))
    ]
    newer = [("id", 0, len(rows) + n, None, rows[n][4] + b"\xc2\x3e\x01a") for n in range(5)]
    beat = ("id", 0, 999, None, bytearray(heartbeat("2013-01-01T10:00Z") + b"\xf8\x3f\x07"))
    spark.createDataFrame([*rows, *newer, beat], RAW).write.format("delta").save(str(tmp_path / "raw"))
    raw, text = RawTable(tmp_path / "raw", 0, Reach({})), fields_as_json(declared)
    measured = RecordFields(spark, raw, ("heartbeat",), QuarantineFilter(), text=text)
    versions = [read_version(1, "1.proto", PROTO)]
    known = dict.fromkeys(declared_names(declared, versions))
    assert known.keys() == {"origin", "measured", "report", "heartbeat"}
    (found,) = field_drifts(known, measured.observed(), {})
    assert (found.drift, found.field, found.kind, found.records, found.first) == (
        Drift.UNDECLARED, "1000", JsonKind.STRING, 5, len(rows)
    )  # fmt: skip


@pytest.mark.verify
def test_the_flights_are_what_was_declared_but_for_the_one_that_is_not(drained: Drained) -> None:
    project, topic = drained.project, drained.project.catalog.topics["flights"]
    raw = RawTable.pin(project.folder.table(topic.raw.table), project.tables.raw_position("flights"), topic)
    measured = RecordFields(drained.spark, raw, (topic.value.heartbeat or "",), QuarantineFilter())
    declared = declared_kinds(project, topic)
    assert declared["tailnum"] == {JsonKind.STRING}
    seen = measured.observed()
    (found,) = field_drifts(declared, seen, measured.neighbours(seen, declared))
    assert (found.drift, found.field, found.kind, found.records) == (Drift.TYPE, "flight_id", "string", 1)
    assert found.first == found.last
    del declared["carrier"]
    (more, *_) = field_drifts(declared, seen, {})
    assert (more.drift, more.field) == (Drift.UNDECLARED, "carrier")
