"""A spec that reads the times of records otherwise: the raw table that was filled before finds them by the new ones."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.conftest import DriverPlace, place_at

ALL = Interval(datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 4, tzinfo=UTC))


def by_observation(place: DriverPlace) -> None:
    """Let flights happen when they were observed, by the topic's spec and the transform."""
    for file, name in (("include/topics/flights.yaml", "event_time: "), ("spark_jobs/transforms/departures.py", '"')):
        path = place.home / file
        text = path.read_text()
        assert f"{name}scheduled_at" in text
        path.write_text(text.replace(f"{name}scheduled_at", f"{name}observed_at"))


def raw(state: Path) -> pd.DataFrame:
    """Return the raw table but for its bytes, in the order of offsets."""
    rows = read_rows(state / "tables" / "flights_raw").drop_columns(["key", "value", "headers"]).to_pandas()
    return rows.sort_values(["partition", "offset"], ignore_index=True)


@pytest.mark.verify
@pytest.mark.usefixtures("two_days")
def test_a_raw_table_finds_its_records_by_the_times_of_todays_spec(
    place: DriverPlace, broker: BrokerProcess, spark: SparkSession, tmp_path: Path
) -> None:
    own, beside = place.with_own_project(), tmp_path / "beside"
    assert own.finish(spark, generation=1) == ExitCode.STOPPED
    before = raw(own.state)
    by_observation(own)
    drained = Drained(own.state, spark, own.project())
    with pytest.raises(NotReadyError, match=r"event time scheduled_at.*event time observed_at.*restart flights"):
        drained.run(Mode.RECOMPUTE, over=ALL)

    assert own.finish(spark, generation=2) == ExitCode.STOPPED
    after = raw(own.state)
    assert before.drop(columns="event_time").equals(after.drop(columns="event_time"))
    assert (before["event_time"] != after["event_time"]).any()
    anew = DriverPlace(place_at(beside, broker).state, own.home)
    assert anew.finish(spark, generation=1) == ExitCode.STOPPED
    assert raw(beside).equals(after), "as if the spec had always read them so"

    drained = Drained(own.state, spark, own.project())
    assert drained.run(Mode.RECOMPUTE, over=ALL, why="times").outcome == ParityOutcome.RECOMPUTED
    columns = ["hour", "origin", "carrier"]
    tables = [each.table("departures").sort_values(columns, ignore_index=True) for each in (own, anew)]
    pd.testing.assert_frame_equal(*tables)
