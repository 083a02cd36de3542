"""What must hold for each record: the critical quarantines, the rest is counted, and a heartbeat breaks nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from sluice.quality.reasons import Outcome, Reason
from sluice.settings import settings
from sluice.spark.checks.census import take_census
from sluice.spark.checks.sample import preview
from sluice.spark.records.pipeline import sources_of
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.expectations.model import Expectation, Severity, Subject

AT = "2013-01-01T10:00:00Z"
FLIGHT = {"flight_id": 1, "carrier": "UA", "flight": 1, "origin": "EWR", "dest": "LAX", "cancelled": False}
TIMES = {"scheduled_at": AT, "observed_at": AT}
CRITICAL = Expectation(
    expect="expect_column_values_to_match_regex",
    kwargs={"column": "carrier", "regex": "^[A-Z0-9]{2}$"},
    on=(Subject.RECORD,),
)
PAIR = Expectation(
    expect="expect_column_pair_values_a_to_be_greater_than_b",
    kwargs={"column_A": "flight_id", "column_B": "flight", "or_equal": True},
    on=(Subject.RECORD,),
)
WARNING = Expectation(
    expect="expect_column_values_to_not_be_null",
    kwargs={"column": "tailnum"},
    severity=Severity.WARNING,
    on=(Subject.RECORD,),
)
RECORDS: list[dict[str, object]] = [
    {**FLIGHT, **TIMES, "tailnum": "N1"},
    {**FLIGHT, **TIMES},
    {**FLIGHT, **TIMES, "carrier": "united", "tailnum": "N1"},
    {**FLIGHT, **TIMES, "flight": 7, "carrier": "u"},
    {**FLIGHT, **TIMES, "origin": "LAX", "carrier": "u"},
    {"heartbeat": True, **TIMES},
]
GOOD, BAD, CONTROL = Outcome.GOOD.value, Outcome.QUARANTINED.value, Outcome.CONTROL.value


@pytest.fixture
def records(spark: SparkSession) -> DataFrame:
    moment = datetime(2013, 1, 1, 10, tzinfo=UTC)
    columns = {
        "_offset": pa.array(range(len(RECORDS)), pa.int64()),
        "_timestamp": pa.array([moment] * len(RECORDS), pa.timestamp("us", tz="UTC")),
        "_value": pa.array([json.dumps(record).encode() for record in RECORDS], pa.binary()),
    }
    return spark.createDataFrame(pa.table(columns))


def test_the_first_reason_stands_and_what_is_no_record_breaks_nothing(records: DataFrame, catalog: Catalog) -> None:
    value, rules = catalog.topics["flights"].value, catalog.pipelines["departures"].time
    validated = validate(records, value, rules, (WARNING, CRITICAL, PAIR))
    unexpected = Reason.UNEXPECTED.value
    assert sorted(map(tuple, validated.select("_offset", OUTCOME, REASON).collect())) == [
        (0, GOOD, None),
        (1, GOOD, None),
        (2, BAD, unexpected),
        (3, BAD, unexpected),
        (4, BAD, Reason.NOT_ALLOWED.value),
        (5, CONTROL, None),
    ]
    without = validate(records, value, rules).select(REASON).distinct().collect()
    assert {row[REASON] for row in without} == {None, Reason.NOT_ALLOWED.value}


def test_a_sample_is_judged_by_them_too(spark: SparkSession, catalog: Catalog) -> None:
    lines = [json.dumps(record).encode() for record in RECORDS]
    pipeline = catalog.pipelines["departures"]
    sources = sources_of(pipeline, catalog.topics, {"flights": (CRITICAL,)})
    found = preview(spark, settings().home, pipeline, sources, {"flights": lines})
    unexpected = [Reason.UNEXPECTED] * 2
    assert [line.reason for line in found.lines] == [None, None, *unexpected, Reason.NOT_ALLOWED, None]


@pytest.mark.verify
@pytest.mark.timeout(300)
def test_a_census_counts_each_of_them(drained_state: Path, spark: SparkSession, catalog: Catalog) -> None:
    raw = drained_state / "tables" / "flights_raw"
    one_airport = Expectation(
        expect="expect_column_values_to_be_in_set",
        kwargs={"column": "origin", "value_set": ["EWR", "JFK"]},
        on=(Subject.RECORD,),
    )
    found = take_census(spark, raw, catalog.topics["flights"], catalog.pipelines["departures"], (one_airport, WARNING))
    before = take_census(spark, raw, catalog.topics["flights"], catalog.pipelines["departures"])
    of_lga, without_tail = found.unexpected
    assert of_lga.records == found.reasons[Reason.UNEXPECTED] > 0
    assert without_tail.records > of_lga.records, "none of these flights has a tailnum"
    taken = {o: before.outcomes[o] - found.outcomes[o] for o in (Outcome.GOOD, Outcome.LATE)}
    assert sum(taken.values()) == of_lga.records
    assert found.records == before.records
