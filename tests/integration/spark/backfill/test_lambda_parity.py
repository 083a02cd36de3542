"""The same function over the raw table as a batch: what a backfill will publish must be what the stream published."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sluice.project.project import Project
from sluice.quality.reasons import Outcome, Reason
from sluice.settings import Settings
from sluice.spark.checks.census import take_census
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.records.pipeline import result_rows
from sluice.spark.sinks.raw import raw_records
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import BAD_VALUES, DriverPlace
from tests.oracle import departures, differences, flights


@pytest.mark.timeout(400)
def test_stream_batch_and_oracle_agree_and_every_record_is_accounted_for(
    place: DriverPlace, two_days: int, spark: SparkSession
) -> None:
    assert place.finish(spark, generation=1) is ExitCode.STOPPED
    project = Project.open_strict(Settings(state=place.state))
    pipeline, topic = project.catalog.pipelines["departures"], project.catalog.topics["flights"]
    expected = departures("2013-01-01", "2013-01-02")

    records = raw_records(spark.read.format("delta").load(str(project.folder.table("flights_raw"))))
    batch = result_rows({"flights": records}, pipeline_code(project, spark, pipeline)).toPandas()
    batch["hour"] = batch["hour"].dt.tz_localize("UTC")
    assert differences(place.table("departures"), expected) == []
    assert differences(batch, expected) == []

    census = take_census(spark, project.folder.table("flights_raw"), topic, pipeline)
    late = int((flights("2013-01-01", "2013-01-02")["dep_delay"] > 180).sum())
    assert census.records == two_days
    assert census.outcomes == {
        Outcome.GOOD: two_days - late - len(BAD_VALUES) - 1,
        Outcome.LATE: late,
        Outcome.QUARANTINED: len(BAD_VALUES),
        Outcome.CONTROL: 1,
    }
    assert census.reasons == {Reason(kind): 1 for kind in BAD_VALUES}
    assert census.undecodable == 4
    assert {sample.reason for sample in census.samples} == set(census.reasons)
