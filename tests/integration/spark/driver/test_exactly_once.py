"""Drivers that die at the worst moments, real ones, against a real broker; the table must equal the oracle."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession

from sluice.delta.log import read_log
from sluice.intervals.entries import SettleEntry
from sluice.streams.failures.exits import ExitCode
from tests.integration.spark.conftest import DriverPlace, two_days_of_values
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences

EXPECTED = ("2013-01-01", "2013-01-02")


def assert_exact(place: DriverPlace, records: int) -> None:
    """Nothing lost and nothing twice, in both tables; and every hour is closed."""
    assert differences(place.table("departures"), departures(*EXPECTED)) == []
    if (place.state / "tables" / "departures_live").exists():
        assert place.table("departures_live").empty
    raw = place.table("flights_raw")
    assert len(raw) == records
    assert not raw.duplicated(["topic_id", "partition", "offset"]).any()
    for _, offsets in raw.groupby("partition")["offset"]:
        assert sorted(offsets) == list(range(len(offsets)))


WRITTEN = ["after_write_before_commit@flights_raw", "before_write@departures", "after_write_before_commit@departures"]


@pytest.mark.parametrize(
    "failpoints",
    [
        pytest.param(WRITTEN[1:], id="written"),
        pytest.param(["before_write@flights_raw", *WRITTEN], id="planned and written", marks=pytest.mark.verify),
    ],
)
@pytest.mark.timeout(600)
@pytest.mark.proves("driver-killed")
def test_kills_around_every_commit_lose_nothing_and_repeat_nothing(
    place: DriverPlace, two_days: int, spark: SparkSession, failpoints: list[str], faults: FaultRecorder
) -> None:
    for failpoint in failpoints:
        killed = place.run(failpoint=failpoint)
        assert killed.returncode == -9, killed.stdout[-2000:]
        assert place.fired(failpoint)
        faults.struck(f"exit code -9 at {failpoint}, with its marker")
    assert place.finish(spark, generation=2) == ExitCode.STOPPED
    faults.recovered()
    faults.counted(place.census(two_days_of_values()))
    assert_exact(place, two_days)
    log = read_log(place.state / "tables" / "departures")
    entries = [logged.entry for logged in log if isinstance(logged.entry, SettleEntry)]
    assert len({entry.nonce for entry in entries}) == len(entries)
    assert all(a.settled_until == b.since for a, b in pairwise(entries))

    # A zombie: the generation before the last comes back and may publish nothing.
    versions = {name: len(place.table(name)) for name in ("departures", "flights_raw")}
    assert place.finish(spark, generation=1) == ExitCode.FENCED
    assert {name: len(place.table(name)) for name in versions} == versions
    assert_exact(place, two_days)


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.proves("checkpoint-damaged")
def test_a_lost_checkpoint_reads_everything_again_and_writes_nothing_again(
    place: DriverPlace, two_days: int, faults: FaultRecorder
) -> None:
    for generation in (1, 2):
        finished = place.run(generation=generation)
        assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
        assert_exact(place, two_days)
        read = len(list((place.state / "checkpoints").rglob("commits/[0-9]*")))
        shutil.rmtree(place.state / "checkpoints")
        faults.struck(f"{read} commits of checkpoints are gone")
    faults.counted(place.census(two_days_of_values()))


def written_by_spark(place: DriverPlace, table: str) -> bool:
    """Whether every file of a table comes from a draft, as those of Spark do, and there is one."""
    log = (place.state / "tables" / table / "_delta_log").glob("*.json")
    files = [path for file in log for path in re.findall(r'"add":{"path":"([^"]*)"', file.read_text())]
    return bool(files) and all(re.match("[0-9a-f]{32}-part-", path) for path in files)


def with_setting(place: DriverPlace, setting: str) -> DriverPlace:
    return place.with_departures(f"spark: {{{setting}}}")


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_the_same_kills_where_spark_writes_lose_and_repeat_nothing_either(place: DriverPlace, two_days: int) -> None:
    own = with_setting(place, 'spark.sluice.collect.records: "0"')
    for failpoint in ("mid_write@flights_raw", "before_write@departures", "after_write_before_commit@departures"):
        killed = own.run(failpoint=failpoint)
        assert killed.returncode == -9, killed.stdout[-2000:]
        assert own.fired(failpoint)
    finished = own.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    assert_exact(own, two_days)
    assert written_by_spark(own, "flights_raw")


TIGHT = "spark.driver.maxResultSize: 45k"  # more than the metrics of two tasks, less than two days of rows


@pytest.mark.verify
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("two_days")
def test_newest_rows_that_outgrow_the_driver_end_it_with_what_to_raise(place: DriverPlace) -> None:
    own = with_setting(place, TIGHT)
    ended = own.run()
    assert ended.returncode == ExitCode.CODE, ended.stdout[-2000:]
    assert "the rows of a batch for departures_live do not fit into the driver" in ended.stderr
    assert "spark.driver.maxResultSize (45k)" in ended.stderr
    assert own.table("departures_live").empty


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_rows_that_outgrow_the_driver_are_settled_all_the_same(place: DriverPlace, two_days: int) -> None:
    own = with_setting(place, TIGHT)
    spec = own.home / "include" / "pipelines" / "departures.yaml"
    before, latest, rest = spec.read_text().partition("  - kind: latest")
    assert latest
    spec.write_text(before + rest[rest.index("driver:") :])
    finished = own.run()
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    assert_exact(own, two_days)
    assert written_by_spark(own, "flights_raw")
