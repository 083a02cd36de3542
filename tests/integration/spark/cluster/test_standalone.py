"""A real Spark cluster: the driver is here, under its keeper, and the executors are with the workers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sluice.clock import SystemClock
from sluice.delta.reading import read_rows
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.spark_cluster import MASTER
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.master import read_capacity
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.streams.failures.capacity import ResourceRequest, shortage
from sluice.streams.failures.exits import ExitCode
from sluice.streams.health.health import Health
from sluice.streams.life.launcher import DriverReport
from tests.integration.clusters import RunningCluster, running_cluster
from tests.integration.spark.conftest import DriverPlace, Feed
from tests.integration.spark.driver.test_exactly_once import assert_exact
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences
from tests.waiting import eventually

DAYS = ("2013-01-01", "2013-01-02")
UNIT = "flights"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path / "cluster", 2) as cluster:
        yield cluster


def place_on(tmp_path: Path, broker: BrokerProcess, cluster: RunningCluster) -> DriverPlace:
    """Return a state folder whose stack has this broker and this cluster."""
    place, spark = DriverPlace(tmp_path / "state"), cluster.cluster
    write_endpoints(Settings(state=place.state).folder, Endpoints((broker.bootstrap,), "", spark.master, spark.page))
    return place


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_two_days_are_read_by_executors_on_two_workers_and_equal_the_oracle(
    broker: BrokerProcess, two_days: int, cluster: RunningCluster, tmp_path: Path
) -> None:
    place = place_on(tmp_path, broker, cluster)

    finished = place.run()

    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-2000:]
    assert_exact(place, two_days)
    (application,) = cluster.page()["completedapps"]
    assert application["name"] == "sluice-local-flights"
    for worker in cluster.cluster.worker_names:
        assert list((cluster.cluster.folder / worker).glob("app-*/*/stderr")), f"{worker} ran no executor"


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_a_stream_moves_to_a_cluster_and_back_with_its_checkpoint_and_nothing_is_lost_or_repeated(
    own_broker: BrokerProcess, cluster: RunningCluster, tmp_path: Path
) -> None:
    place, feed = place_on(tmp_path, own_broker, cluster), Feed(own_broker.bootstrap)
    half_done = "after_write_before_commit@flights_raw"

    feed.send(0.3)
    assert place.run(generation=1, master="local").returncode == ExitCode.STOPPED
    feed.send(0.3)
    assert place.run(generation=2, failpoint=half_done).returncode == -signal.SIGKILL
    assert place.fired(half_done)
    eventually(lambda: len(cluster.page()["completedapps"]) == 1, "the master knows that the driver has gone")
    back = place.run(generation=3, master="local")  # what the cluster had begun is ended here
    assert back.returncode == ExitCode.STOPPED, back.stdout[-2000:]
    assert len(place.table("flights_raw")) == feed.sent
    feed.send_rest()
    again = place.run(generation=4)

    assert again.returncode == ExitCode.STOPPED, again.stdout[-2000:]
    eventually(lambda: len(cluster.page()["completedapps"]) == 2, "the master knows that its second driver has gone")
    assert_exact(place, feed.sent)


class Later(SystemClock):
    """A clock that is ahead, for a check that need not wait."""

    def now(self) -> datetime:
        return super().now() + timedelta(minutes=2)


class Stream:
    """A unit whose driver goes on under its keeper while its cluster is taken apart."""

    def __init__(self, place: DriverPlace) -> None:
        self.place = place
        self.project = place.project()

    def start(self) -> DriverReport:
        claim = self.project.streams.life(UNIT).start("test", "it is about to be hurt")
        assert claim.attempt is not None, claim.why
        return self.project.processes.launcher().find(claim.attempt.key)

    def has_executors(self, count: int) -> None:
        """Wait until the driver says that it has so many executors."""
        self.eventually(lambda: self.executors() == count, f"has {count} executors")

    def has_read(self, records: int) -> None:
        """Wait until the raw table holds so many records."""
        raw = self.place.state / "tables" / "flights_raw"
        begun = raw / "_delta_log" / f"{0:020}.json"
        self.eventually(lambda: begun.exists() and len(read_rows(raw)) == records, f"has read {records}")

    def has_published_all(self) -> None:
        """Wait until the interval table equals the oracle."""
        expected = departures(*DAYS)
        self.eventually(lambda: not differences(self.place.table("departures"), expected), "has published all")

    def log(self, generation: int = 1) -> str:
        return self.project.processes.launcher().log(f"local.{UNIT}.g{generation}").read_text(errors="replace")

    def eventually(self, condition: Callable[[], bool], what: str) -> None:
        in_time = wait_until(condition, SystemClock(), deadline_seconds=240)
        assert in_time, f"not so in time: it {what}. Its log ends: {self.log()[-3000:]}"

    def executors(self) -> int | None:
        """Return how many executors the driver says that it has."""
        file = self.project.folder.unit_file(UNIT)
        return json.loads(file.read_text())["executors"] if file.exists() else None


@pytest.fixture
def stream(tmp_path: Path, own_broker: BrokerProcess, cluster: RunningCluster) -> Iterator[Stream]:
    stream = Stream(place_on(tmp_path, own_broker, cluster))
    yield stream
    stream.project.processes.launcher().kill("local.flights.g1")


@pytest.mark.verify
@pytest.mark.timeout(1200)
@pytest.mark.proves("executor-killed", "workers-killed")
def test_a_stream_outlives_its_executors_workers_and_master_and_loses_and_repeats_nothing(
    stream: Stream, cluster: RunningCluster, own_broker: BrokerProcess, faults: FaultRecorder
) -> None:
    feed, (first, second) = Feed(own_broker.bootstrap), cluster.cluster.worker_names
    feed.send(0.2)
    driver = stream.start()
    stream.has_executors(2)
    stream.has_read(feed.sent)
    assert "free: 0, used by sluice-local-flights (2)" in shortage(
        ResourceRequest("sluice-local-weather", 1, 700, ("weather",)), read_capacity(cluster.cluster.page)
    )

    # An executor: its task is run again, elsewhere, and the worker starts another.
    (executor,) = cluster.executors(first)
    feed.send(0.2)
    os.kill(executor, signal.SIGKILL)
    faults.struck(f"the executor with the process id {executor} was killed", "executor-killed")
    stream.has_read(feed.sent)
    stream.eventually(lambda: cluster.executors(first) not in ([], [executor]), "has a new executor")
    stream.has_executors(2)
    faults.recovered("executor-killed")
    assert "Lost executor" in stream.log()

    # A worker, with its executor: what is left goes on; a new worker is used.
    cluster.kill(second)
    stream.has_executors(1)
    feed.send(0.2)
    stream.has_read(feed.sent)
    cluster.start(second)
    stream.has_executors(2)

    # The master: nobody needs it to go on, and the next one knows the application again.
    (before,) = cluster.page()["activeapps"]
    faults.struck(f"the master with the process id {cluster.kill(MASTER)} was killed", "workers-killed")
    feed.send(0.2)
    stream.has_read(feed.sent)
    cluster.start(MASTER)
    cluster.cluster.wait_ready(120)
    (after,) = cluster.page()["activeapps"]
    assert (after["id"], after["state"]) == (before["id"], "RUNNING")
    (executor,) = cluster.executors(second)
    os.kill(executor, signal.SIGKILL)
    stream.eventually(lambda: cluster.executors(second) not in ([], [executor]), "gets executors from the new master")

    # Everything that works: it does not look as if it were well, and goes on as soon as it can.
    for worker in (first, second):
        cluster.kill(worker)
    stream.has_executors(0)
    faults.struck("the driver said that it had no executor: both workers were killed", "workers-killed")
    feed.send_rest()
    verdict = Project(stream.project.settings, stream.project.catalog, Later()).health.verdicts(UNIT)["departures"]
    assert verdict.health is Health.STALLED
    assert "has had no executor for" in verdict.why
    for worker in (first, second):
        cluster.start(worker)
    stream.has_read(feed.sent)
    stream.has_published_all()
    faults.recovered("workers-killed")

    stopped = stream.project.streams.life(UNIT).stop("test", "it was hurt enough", 60)
    assert (stopped.pid, stopped.exit_code) == (driver.pid, ExitCode.STOPPED), stream.log()[-3000:]
    faults.counted(stream.place.census(feed.sent_values))
    assert_exact(stream.place, feed.sent)


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_stop_waits_for_no_batch_that_nobody_is_left_to_finish(
    stream: Stream, cluster: RunningCluster, own_broker: BrokerProcess
) -> None:
    feed = Feed(own_broker.bootstrap)
    stream.start()
    stream.has_executors(2)
    for worker in cluster.cluster.worker_names:
        cluster.kill(worker)
    stream.has_executors(0)
    feed.send(0.1)
    stream.eventually(
        lambda: stream.project.streams.checkpoint("departures").read().running is not None, "plans a batch"
    )

    stopped = stream.project.streams.life(UNIT).stop("test", "it waits for nobody", 45)

    assert stopped.exit_code == ExitCode.STOPPED, stream.log()[-3000:]
