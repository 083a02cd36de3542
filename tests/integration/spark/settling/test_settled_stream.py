"""Drivers that settle a table: drained, killed, fenced, over an empty topic, and after other outputs with a state."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sluice.delta.log import append_entry, read_log
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import SettleEntry
from sluice.settling.status import SettlingStatus
from sluice.spark.settling.computation import RawComputation
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.driver_files import settling_status
from sluice.streams.position.checkpoint import Checkpoint
from tests.editing import edit
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.integration.spark.driver.test_exactly_once import EXPECTED, assert_exact
from tests.oracle import departures, differences

SECOND_DAY = datetime(2013, 1, 2, tzinfo=UTC)


def settlements(place: DriverPlace) -> list[SettleEntry]:
    log = read_log(place.state / "tables" / "departures")
    return [logged.entry for logged in log if isinstance(logged.entry, SettleEntry)]


def test_a_settled_table_equals_the_oracle_and_its_own_batch(
    place: DriverPlace, two_days: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[str] = []
    compute = RawComputation.compute

    def computed(source: RawComputation, *given: Any) -> Any:  # noqa: ANN401 - whatever it takes and returns
        pools.append(source.sources["flights"].spark.sparkContext.getLocalProperty("spark.scheduler.pool"))
        return compute(source, *given)

    monkeypatch.setattr(RawComputation, "compute", computed)
    assert place.finish(spark, generation=1) == ExitCode.STOPPED
    assert_exact(place, two_days)
    commits = len(settlements(place))
    assert commits >= 1
    assert set(pools) == {"settling"}, "its jobs yield to those of streams"
    ledger = place.project().tables.ledger("departures")
    assert ledger.closed_until is not None
    assert not any(row.dirty for row in ledger.spans)
    status = settling_status(place.project().folder.settling_file("departures"))
    assert status is not None
    assert (status.settled_until, status.due, status.unread, status.advance) == (ledger.closed_until, 0, (), None)
    assert status.next_at is not None
    assert status.newest == status.complete
    assert status.newest is not None
    assert status.newest < status.next_at <= status.newest + timedelta(hours=1)
    assert status.disorder == timedelta(), "within a partition the feed keeps the order of arrivals"
    newest = Checkpoint(place.project().folder.checkpoint("departures")).read().newest
    assert newest is not None
    assert sum(newest.offsets.values()) == two_days

    drained = Drained(place.state, spark, place.project())
    assert drained.run(Mode.VERIFY).outcome == ParityOutcome.IDENTICAL
    assert drained.run(Mode.TRY, code=replace(drained.code, code_hash="other")).outcome == ParityOutcome.IDENTICAL
    place.project().folder.settling_file("departures").unlink()
    assert place.finish(spark, generation=2) == ExitCode.STOPPED
    assert len(settlements(place)) == commits
    by_log = settling_status(place.project().folder.settling_file("departures"))
    assert by_log is not None
    assert (by_log.settled_until, by_log.due, by_log.next_at) == (ledger.closed_until, 0, status.next_at)
    assert place.finish(spark, generation=1) == ExitCode.FENCED
    assert_exact(place, two_days)


@pytest.mark.verify
@pytest.mark.usefixtures("two_days")
def test_a_pipeline_whose_outputs_had_a_state_settles_its_new_table_from_another_checkpoint(
    place: DriverPlace, spark: SparkSession
) -> None:
    """Without an interval table its stream, of the same name, kept the state of its other outputs there."""
    (place.state / "checkpoints" / "departures" / "state").mkdir(parents=True)
    assert place.finish(spark, generation=1) == ExitCode.STOPPED
    assert [epoch.to for epoch in place.project().streams.epochs("departures").all()] == ["earliest", "open intervals"]
    assert differences(place.table("departures"), departures(*EXPECTED)) == []
    assert not any(row.dirty for row in place.project().tables.ledger("departures").spans)


@pytest.mark.verify
def test_a_driver_over_an_empty_topic_goes_on_and_settles_what_comes(
    own_broker: BrokerProcess, tmp_path: Path, spark: SparkSession
) -> None:
    feed = Feed(own_broker.bootstrap)
    own = place_at(tmp_path / "state", own_broker)
    assert own.finish(spark, generation=1) == ExitCode.STOPPED
    assert settlements(own) == []
    nothing = settling_status(own.project().folder.settling_file("departures"))
    assert nothing is not None
    assert (nothing.settled_until, nothing.newest, nothing.due, nothing.next_at) == (None, None, 0, None)
    feed.send_rest()
    assert own.finish(spark, generation=2) == ExitCode.STOPPED
    assert differences(own.table("departures"), departures(*EXPECTED)) == []


def test_a_raw_table_that_lost_records_stops_the_settler_in_words(
    place: DriverPlace, two_days: int, spark: SparkSession
) -> None:
    assert place.finish(spark, generation=1) == ExitCode.STOPPED
    newest = settlements(place)[-1]
    examined = newest.sources["flights"]
    beyond = replace(examined, offsets={partition: offset + 1 for partition, offset in examined.offsets.items()})
    lost = replace(newest, nonce="of a raw table that is gone", sources={"flights": beyond})
    append_entry(place.state / "tables" / "departures", lost)
    assert two_days
    shutil.rmtree(place.state / "checkpoints" / "departures")
    assert place.finish(spark, generation=2) == ExitCode.CORRUPT


@pytest.mark.verify
def test_a_topic_that_is_silent_settles_its_last_interval(place: DriverPlace, two_days: int) -> None:
    own = place.with_own_project()
    spec = own.home / "include" / "pipelines" / "departures.yaml"
    # Five seconds after the newest arrival, which lies on the hour, one more interval is complete: the last with rows.
    edit(spec, "disorder: 15 minutes", "disorder: 3605 seconds\n  idle: 2 seconds")

    def status() -> SettlingStatus | None:
        return settling_status(own.project().folder.settling_file("departures"))

    def until() -> datetime | None:
        found = status()
        return None if found is None else found.settled_until

    last = departures(*EXPECTED)["hour"].max().to_pydatetime()
    with own.driver(1) as driver:
        driver.eventually(lambda: until() == last + timedelta(hours=1), "the last interval is settled")
        assert driver.stop() == ExitCode.STOPPED
    found = status()
    assert found is not None
    assert found.newest == last + timedelta(hours=5)
    assert found.silence >= timedelta(seconds=5)
    silent = settlements(own)[-1]
    assert (silent.since, silent.sources["flights"].clocks.newest) == (last, found.newest), "no record has completed it"
    assert sum(silent.sources["flights"].offsets.values()) == two_days
    assert_exact(own, two_days)
