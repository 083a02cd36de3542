"""The values that readers in Python take go through Spark's readers too: raw table, census, sample, and their views."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sluice.cli import feed_check
from sluice.quality.reasons import FAULTS, Outcome, Reason
from sluice.settings import settings
from sluice.spark.census import take_census
from sluice.spark.raw import raw_rows
from sluice.spark.sample import preview
from sluice.specs.catalog import Catalog
from tests.hostile_records import HEADERS, KEYS, VALUES

SCHEMA = (
    "_topic_id string, _partition int, _offset long, _timestamp timestamp_ntz, _key binary, _value binary, "
    "_headers array<struct<key: string, value: binary>>"
)


def test_a_raw_table_of_hostile_records_is_counted_and_shown(
    spark: SparkSession, catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headers, keys = list(HEADERS.values()), list(KEYS)
    rows = [
        (
            "id",
            0,
            n,
            None,
            keys[n % len(keys)],
            None if value is None else bytearray(value),
            list(headers[n % len(headers)]),
        )
        for n, value in enumerate(VALUES.values())
    ]
    topic, pipeline = catalog.topics["flights"], catalog.pipelines["departures"]
    stamped = spark.createDataFrame(rows, SCHEMA).selectExpr(
        "* EXCEPT (_timestamp)", "timestamp'2013-01-01T10:00:00Z' AS _timestamp"
    )
    raw_rows(stamped, topic).write.format("delta").save(str(tmp_path / "raw"))
    census = take_census(spark, tmp_path / "raw", topic, pipeline)
    assert (census.records, census.outcomes[Outcome.GOOD]) == (len(VALUES), 0)
    assert {Reason.TOMBSTONE, Reason.MALFORMED, Reason.NOT_FINITE, Reason.TRAILING_BYTES} <= set(census.reasons)
    assert census.undecodable == sum(count for reason, count in census.reasons.items() if reason in FAULTS)
    for reason, details in census.details.items():
        assert sum(details.values()) <= census.reasons[reason]
        assert all(detail.partition(" ")[0] in {*topic.value.fields} for detail in details), "names of the spec only"
    json.dumps(asdict(census))
    feed_check._show(census)
    assert "wrong_type" in capsys.readouterr().out


def test_a_sample_of_hostile_lines_is_judged_and_shown(spark: SparkSession, catalog: Catalog) -> None:
    topic, pipeline = catalog.topics["flights"], catalog.pipelines["departures"]
    lines = [value for value in VALUES.values() if value is not None]
    found = preview(spark, settings().home, pipeline, topic, lines)
    assert len(found.lines) == len(lines)
    assert found.outcomes[Outcome.GOOD] == 0
    assert found.rows == ()
