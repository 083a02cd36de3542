"""Declared patches on Spark: the bytes that are decoded, byte for byte, and of nobody else."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from sluice.spark.records.patches import patched
from sluice.specs.model.patches import Patch, Replacement

ANY_BYTES = bytes(range(256))


def patch(pattern: str, by: str, records: dict[int, tuple[int | str, ...]], topic_id: str = "here") -> Patch:
    return Patch(why="w", topic_id=topic_id, records=records, replace=(Replacement(pattern=pattern, by=by),))


def read(spark: SparkSession, patches: list[Patch], *values: bytes | None) -> list[bytes | None]:
    """Return what is decoded of values at partition 0 and offsets from 0."""
    rows = [("here", 0, offset, None if v is None else bytearray(v)) for offset, v in enumerate(values)]
    records = spark.createDataFrame(rows, "_topic_id string, _partition int, _offset long, _value binary")
    found = records.select("_offset", patched(records, patches).alias("read")).orderBy("_offset").collect()
    return [None if row["read"] is None else bytes(row["read"]) for row in found]


def test_only_what_the_pattern_matches_changes_byte_for_byte(spark: SparkSession) -> None:
    everywhere = {0: ("0-9",)}
    assert read(spark, [patch("no such text", "", everywhere)], ANY_BYTES, b"", None) == [ANY_BYTES, b"", None]
    broken = b'{"a": "M\xfcnchen"}'  # Latin-1 in what should be UTF-8
    (mended,) = read(spark, [patch("M\\xfcnchen", "München", everywhere)], broken)
    assert mended is not None
    assert json.loads(mended) == {"a": "München"}
    assert read(spark, [patch("Zürich", "Bern", everywhere)], "Zürich, Zürich".encode()) == [b"Bern, Bern"]
    assert read(spark, [patch(r'"(\d+)"', r"$1\$", everywhere)], b'"12"') == [b"12$"]


def test_only_the_named_records_of_the_named_topic_change_and_patches_follow_each_other(spark: SparkSession) -> None:
    values = (b"x", b"x", b"x", b"x")
    assert read(spark, [patch("x", "y", {0: (1, "3-9")})], *values) == [b"x", b"y", b"x", b"y"]
    assert read(spark, [patch("x", "y", {0: ("0-9",)}, "another")], *values) == [*values]
    assert read(spark, [patch("x", "y", {1: ("0-9",)})], *values) == [*values]
    both = [patch("x", "y", {0: (0, 1)}), patch("y", "z", {0: ("1-2",)})]
    assert read(spark, both, *values) == [b"y", b"z", b"x", b"x"]


def test_what_does_not_come_from_a_topic_is_at_no_place(spark: SparkSession) -> None:
    lines = spark.createDataFrame([(bytearray(b"x"),)], "_value binary")
    (row,) = lines.select(patched(lines, [patch("x", "y", {0: (0,)})]).alias("read")).collect()
    assert bytes(row["read"]) == b"x"
