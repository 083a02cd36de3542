"""Machines are lost with all that is on them: what is in the bucket and in Kafka is enough to go on exactly."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.delta.versions import next_version
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.launch.processes import wait_until
from sluice.storage.bucket_folder import BucketFolder
from sluice.streams.desired_copy import LEFT_ALONE
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.attempts import Desired
from tests.buckets import BucketServer
from tests.integration.following import follow
from tests.integration.spark.backfill.backfills import RANGE
from tests.integration.spark.conftest import DriverPlace, Feed, place_at
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]


def on_a_new_machine(folder: Path, broker: BrokerProcess, bucket: BucketFolder, *, collected: str) -> DriverPlace:
    """Return an empty state folder and a project whose tables are in a bucket."""
    place = place_at(folder / "state", broker).with_departures(
        f'spark: {{spark.sluice.collect.records: "{collected}"}}'
    )
    deployment = place.home / "include" / "deployments" / "local.yaml"
    deployment.write_text(f"{deployment.read_text()}storage: {bucket}\n")
    return place


def table(bucket: BucketFolder, name: str) -> pd.DataFrame:
    return read_rows(bucket / "tables" / name).to_pandas()


@pytest.mark.parametrize("collected", ["50000", "0"], ids=["committed from memory", "written by Spark"])
def test_a_new_machine_goes_on_where_the_lost_one_was(
    own_broker: BrokerProcess, tmp_path: Path, store: BucketServer, collected: str
) -> None:
    bucket, feed = store.new_bucket() / "of sluice", Feed(own_broker.bootstrap)
    feed.send(0.5)
    lost = on_a_new_machine(tmp_path / "lost", own_broker, bucket, collected=collected)
    killed = lost.run(failpoint="after_write_before_commit@flights_raw")
    assert killed.returncode == -9, killed.stdout[-3000:]
    shutil.rmtree(lost.state.parent)
    assert len(table(bucket, "flights_raw")) > 0

    feed.send_rest()
    new = on_a_new_machine(tmp_path / "new", own_broker, bucket, collected=collected)
    finished = new.run(generation=2)
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    assert not (new.state / "tables").exists()
    assert differences(table(bucket, "departures"), departures("2013-01-01", "2013-01-02")) == []
    raw = table(bucket, "flights_raw")
    assert len(raw) == feed.sent
    assert not raw.duplicated(["topic_id", "partition", "offset"]).any()


class Later(SystemClock):
    """A clock that is ahead, for a check that need not wait."""

    def now(self) -> datetime:
        return super().now() + LEFT_ALONE


def eventually(condition: Callable[[], bool], what: str) -> None:
    assert wait_until(condition, SystemClock(), deadline_seconds=300), f"not so in time: {what}"


@pytest.mark.proves("machine-lost")
def test_everything_but_bucket_and_kafka_is_dropped_and_nobody_starts_the_stream(
    own_broker: BrokerProcess, tmp_path: Path, store: BucketServer, faults: FaultRecorder
) -> None:
    bucket, feed = store.new_bucket() / "of sluice", Feed(own_broker.bootstrap)
    feed.send(0.5)
    lost = on_a_new_machine(tmp_path / "lost", own_broker, bucket, collected="50000")
    begun = lost.project().streams.life("flights").start("ada", "first start").attempt
    assert begun is not None
    raw = bucket / "tables" / "flights_raw"
    eventually(lambda: next_version(raw) > 0 and len(read_rows(raw)) == feed.sent, "half is read")
    killed = lost.project().processes.launcher().kill(begun.key)
    shutil.rmtree(lost.state.parent)
    faults.struck(f"the driver ended with {killed.exit_code}, and its machine's folder is gone")

    feed.send_rest()
    new = on_a_new_machine(tmp_path / "new", own_broker, bucket, collected="50000")
    assert follow(new.project(), SystemClock()) == [], "the lost deployment may live: it was there a moment ago"
    started = follow(new.project(), Later())
    life = new.project().streams.life("flights")
    try:
        assert started == ["start flights: it has never run"]
        (attempt,) = new.project().records.registry().attempts("flights")
        assert attempt.generation == 2
        expected = departures("2013-01-01", "2013-01-02")
        eventually(lambda: not differences(table(bucket, "departures"), expected), "all is published")
        faults.recovered()
        assert life.observe().alive
    finally:
        stopped = life.stop("bob", "enough", 60)
    assert stopped.exit_code == ExitCode.STOPPED
    rows = table(bucket, "flights_raw")
    faults.counted(Census.of(feed.sent_values, rows["value"]))
    assert len(rows) == feed.sent
    assert not rows.duplicated(["topic_id", "partition", "offset"]).any()
    third = on_a_new_machine(tmp_path / "third", own_broker, bucket, collected="50000")
    assert follow(third.project(), Later()) == [], "what was stopped stays so"
    desired = third.project().records.registry().desired("flights")
    assert desired is not None
    assert (desired.state, desired.by, desired.why) == (Desired.STOPPED, "bob", "enough")


def test_a_backfill_compares_and_publishes_in_the_bucket_from_a_machine_without_a_record(
    own_broker: BrokerProcess, tmp_path: Path, store: BucketServer
) -> None:
    bucket = store.new_bucket() / "of sluice"
    Feed(own_broker.bootstrap).send_rest()
    first = on_a_new_machine(tmp_path / "first", own_broker, bucket, collected="50000")
    finished = first.run()
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    shutil.rmtree(first.state.parent)

    second = on_a_new_machine(tmp_path / "second", own_broker, bucket, collected="50000")
    bounds = ("--from", f"{RANGE.start:%FT%RZ}", "--to", f"{RANGE.end:%FT%RZ}")
    ended = second.sluice("backfill", "run", "departures", *bounds, "--mode", "correct")
    assert (ended["state"], ended["outcome"], ended["result"]["unexplained"]) == ("done", "explained", 0)
    assert ended["result"]["published"] > 0
    assert differences(table(bucket, "departures"), departures("2013-01-01", "2013-01-02", with_late=True)) == []
    assert second.project().streams.life("flights").marked("flights") == 1
    assert not (second.state / "tables").exists()
