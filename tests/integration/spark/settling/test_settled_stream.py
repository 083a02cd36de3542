"""Drivers whose interval table is settled: drained, killed, fenced, and taken over from the append engine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sluice.clock import SystemClock
from sluice.delta.log import append_entry, read_log
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.backfill.request import Mode
from sluice.intervals.entries import SettleEntry
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.settings import Settings
from sluice.spark.settling.raw_source import RawTableSource
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.driver_files import settling_status
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import Epoch
from tests.integration.spark.backfill.backfills import Drained
from tests.integration.spark.conftest import DriverPlace, Feed
from tests.integration.spark.driver.test_exactly_once import EXPECTED, assert_exact
from tests.oracle import departures, differences


def settled(place: DriverPlace) -> DriverPlace:
    """Return the place with a copy of the project in which `departures` is settled."""
    own = place.with_own_project()
    spec = own.home / "include" / "pipelines" / "departures.yaml"
    text = spec.read_text(encoding="utf-8")
    text = text.replace("    interval: hour\n", "    interval: hour\n    engine: settle\n")
    text = text.replace("time:\n", "time:\n  arrival_disorder: 15 minutes\n")
    spec.write_text(text, encoding="utf-8")
    return own


def settlements(place: DriverPlace) -> list[SettleEntry]:
    log = read_log(place.state / "tables" / "departures")
    return [logged.entry for logged in log if isinstance(logged.entry, SettleEntry)]


def test_a_settled_table_equals_the_oracle_and_its_own_batch(
    place: DriverPlace, two_days: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, pools = settled(place), []
    compute = RawTableSource.compute

    def computed(source: RawTableSource, *given: Any) -> Any:  # noqa: ANN401 - whatever it takes and returns
        pools.append(source.spark.sparkContext.getLocalProperty("spark.scheduler.pool"))
        return compute(source, *given)

    monkeypatch.setattr(RawTableSource, "compute", computed)
    assert own.finish(spark, generation=1) == ExitCode.STOPPED
    assert_exact(own, two_days)
    commits = len(settlements(own))
    assert commits >= 1
    assert set(pools) == {"settling"}, "its jobs yield to those of streams"
    ledger = own.project().tables.ledger("departures")
    assert ledger.closed_until is not None
    assert not any(row.dirty for row in ledger.spans)
    status = settling_status(own.project().folder.settling_file("departures"))
    assert status is not None
    assert (status.settled_until, status.due, status.unread, status.advance) == (ledger.closed_until, 0, (), None)
    assert status.next_at is not None
    assert status.newest == status.complete
    assert status.newest is not None
    assert status.newest < status.next_at <= status.newest + timedelta(hours=1)
    assert status.disorder == timedelta(), "within a partition the feed keeps the order of arrivals"
    newest = Checkpoint(own.project().folder.checkpoint("departures")).read().newest
    assert newest is not None
    assert sum(newest.offsets.values()) == two_days

    drained = Drained(own.state, spark, own.project())
    assert drained.run(Mode.VERIFY).outcome == ParityOutcome.IDENTICAL
    assert drained.run(Mode.TRY, code=replace(drained.code, code_hash="other")).outcome == ParityOutcome.IDENTICAL
    own.project().folder.settling_file("departures").unlink()
    assert own.finish(spark, generation=2) == ExitCode.STOPPED
    assert len(settlements(own)) == commits
    by_log = settling_status(own.project().folder.settling_file("departures"))
    assert by_log is not None
    assert (by_log.settled_until, by_log.due, by_log.next_at) == (ledger.closed_until, 0, status.next_at)
    assert own.finish(spark, generation=1) == ExitCode.FENCED
    assert_exact(own, two_days)


@pytest.mark.timeout(600)
def test_kills_around_the_commit_of_a_settlement_lose_nothing_and_repeat_nothing(
    place: DriverPlace, two_days: int, spark: SparkSession
) -> None:
    own = settled(place)
    for failpoint in ("before_write@departures", "after_write_before_commit@departures"):
        killed = own.run(failpoint=failpoint)
        assert killed.returncode == -9, killed.stdout[-2000:]
        assert own.fired(failpoint)
    assert own.finish(spark, generation=2) == ExitCode.STOPPED
    assert_exact(own, two_days)
    entries = settlements(own)
    assert len({entry.nonce for entry in entries}) == len(entries)
    assert all(a.settled_until == b.since for a, b in pairwise(entries))


def test_a_table_of_the_append_engine_is_taken_over_after_a_reset(
    drained_state: Path, tmp_path: Path, spark: SparkSession
) -> None:
    shutil.copytree(drained_state, tmp_path / "state")
    own = settled(DriverPlace(tmp_path / "state"))
    before = own.project().tables.ledger("departures")
    assert own.finish(spark, generation=5) == ExitCode.INCOMPATIBLE_STATE
    assert settlements(own) == []

    epochs = own.project().streams.epochs("departures")
    newest = epochs.newest()
    assert newest is not None
    start = dict.fromkeys(newest.offsets, 0)
    number, now = newest.number + 1, SystemClock().now()
    epochs.record(Epoch(number, newest.topic_id, start, "earliest", "ann", "to be settled", now))
    assert own.finish(spark, generation=6) == ExitCode.STOPPED
    assert differences(own.table("departures"), departures(*EXPECTED)) == []
    ledger = own.project().tables.ledger("departures")
    assert ledger.closed_until == before.closed_until
    assert {start: row.current for start, row in ledger.rows.items()} == {
        start: row.current for start, row in before.rows.items()
    }


def test_a_driver_over_an_empty_topic_goes_on_and_settles_what_comes(
    own_broker: BrokerProcess, tmp_path: Path, spark: SparkSession
) -> None:
    feed = Feed(own_broker.bootstrap)
    own = settled(DriverPlace(tmp_path / "state"))
    endpoints = Endpoints(kafka_bootstrap=(own_broker.bootstrap,), airflow_url="")
    write_endpoints(Settings(state=own.state).folder, endpoints)
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
    own = settled(place)
    assert own.finish(spark, generation=1) == ExitCode.STOPPED
    newest = settlements(own)[-1]
    beyond = {partition: offset + 1 for partition, offset in newest.examined.items()}
    append_entry(
        own.state / "tables" / "departures", replace(newest, nonce="of a raw table that is gone", examined=beyond)
    )
    assert two_days
    shutil.rmtree(own.state / "checkpoints" / "departures")
    assert own.finish(spark, generation=2) == ExitCode.CORRUPT
