"""What the benchmark `azure` sends is what its topic declares, as validation judges it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.azure.project import TOPIC, write_project
from benchmarks.azure.telemetry import Telemetry
from sluice.quality.reasons import Reason
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.specs.load import load_catalog

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.verify


def test_every_event_is_good_and_one_with_a_wrong_double_inside_is_not(spark: SparkSession, tmp_path: Path) -> None:
    write_project(tmp_path)
    catalog = load_catalog(tmp_path / "include")
    (pipeline,) = catalog.pipelines.values()
    telemetry = Telemetry(int(BEGIN.timestamp() * 1_000), 1_000)
    values = [telemetry.event(number).value for number in range(2_000)]
    broken = json.loads(values[0])
    broken["complexData"]["moreData7"] = "0.5"
    rows = [(value, BEGIN) for value in [*values, json.dumps(broken).encode()]]
    records = spark.createDataFrame(rows, "_value binary, _timestamp timestamp")
    judged = validate(records, catalog.topics[TOPIC].value, pipeline.topic_sources[TOPIC].time)
    found = {(row[OUTCOME], row[REASON]): row["count"] for row in judged.groupBy(OUTCOME, REASON).count().collect()}
    assert found == {("good", None): 2_000, ("quarantined", Reason.WRONG_TYPE): 1}
