"""A unit on a real cluster gets executors while it has a backlog, and gives them back; what is frozen stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from kafka import KafkaProducer

from sluice.clock import SystemClock
from sluice.delta.reading import open_table
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.streams.failures.exits import ExitCode
from sluice.streams.health.batch_log import newest_batch
from tests.editing import edit
from tests.integration.clusters import RunningCluster, running_cluster
from tests.integration.spark.cluster.test_standalone import UNIT, Stream, place_on
from tests.integration.spark.conftest import Feed
from tests.integration.spark.driver.test_exactly_once import assert_exact
from tests.oracle import flights

LEAST, MOST, TASKS = 1, 4, 16
FEW = range(LEAST, MOST // 2 + 1)
"""How many are enough for a few records depends on how fast the machine is; all of them are too many on any."""
EVERY_SECONDS = 4.0
"""How often a few records come: several times within the time after which Spark gives back what is idle."""
BACKLOG = 600_000
PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path / "cluster", MOST) as cluster:
        yield cluster


@pytest.fixture
def stream(tmp_path: Path, own_broker: BrokerProcess, cluster: RunningCluster) -> Iterator[Stream]:
    place = place_on(tmp_path, own_broker, cluster).with_own_project()
    edit(place.home / "include/pipelines/departures.yaml", "cores: 2", f"cores: {{least: {LEAST}, most: {MOST}}}")
    edit(place.home / "include/topics/flights.yaml", "raw:\n", f"raw:\n  min_partitions: {TASKS}\n")
    stream = Stream(place)
    yield stream
    stream.project.processes.launcher().kill(f"local.{UNIT}.g1")


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_executors_come_with_a_backlog_and_go_after_it_and_state_keeps_its_partitions(
    stream: Stream, own_broker: BrokerProcess
) -> None:
    feed, more = Feed(own_broker.bootstrap), Heartbeats(own_broker)
    feed.send(0.3)
    stream.start()
    stream.has_executors(LEAST)
    stream.has_read(feed.sent)
    stream.has_executors(LEAST)

    feed.send_rest()
    more.send(BACKLOG)
    stream.has_executors(MOST)
    stream.eventually(lambda: raw_rows(stream) == feed.sent + BACKLOG, "has read the backlog")
    stream.has_published_all()

    # Spark spreads the tasks of each small batch over all executors, and none is ever idle for long enough.
    stream.eventually(
        lambda: more.trickle() and stream.executors() in FEW, "has given back executors while records come"
    )
    records = feed.sent + more.sent
    stream.eventually(lambda: raw_rows(stream) == records, "has read what came meanwhile")

    stopped = stream.project.streams.life(UNIT).stop("test", "it has grown and shrunk", 60)
    assert stopped.exit_code == ExitCode.STOPPED, stream.log()[-3000:]
    assert_exact(stream.place, records)
    batch = newest_batch(stream.project.folder.batch_log("raw_flights"))
    assert batch is not None
    assert (batch.executor_seconds or 0) > 1, "those that were given back have worked, too"
    assert (batch.memory_bytes or 0) > 1e8
    assert frozen(stream.place.state / "checkpoints") == {str(MOST)}


class Heartbeats:
    """Sends records that are in no result and are read like any: all say what the heartbeat of `send_rest` says."""

    def __init__(self, broker: BrokerProcess) -> None:
        at = flights("2013-01-01", "2013-01-02")["hour_utc"].max() + timedelta(hours=5)
        time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._value = json.dumps({"heartbeat": True, "scheduled_at": time, "observed_at": time}).encode()
        self._producer = KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=20, batch_size=256 * 1024)
        self.sent = 0
        self._clock, self._next = SystemClock(), 0.0

    def trickle(self) -> bool:
        """Send a few, if it is time for some; return that it was seen to."""
        if self._clock.monotonic() >= self._next:
            self._next = self._clock.monotonic() + EVERY_SECONDS
            self.send(8)
        return True

    def send(self, count: int) -> None:
        """Send so many to two of the four partitions, and wait until they are there."""
        for number in range(count):
            self._producer.send("flights", value=self._value, partition=number % 2)
        self._producer.flush()
        self.sent += count


def raw_rows(stream: Stream) -> int:
    return int(open_table(stream.place.state / "tables" / "flights_raw").to_pyarrow_dataset().count_rows())


def frozen(checkpoints: Path) -> set[str]:
    """Return every number of shuffle partitions that any batch of any stream was planned with."""
    found = [
        json.loads(line)["conf"][PARTITIONS]
        for file in checkpoints.rglob("offsets/*")
        if file.name.isdigit()
        for line in file.read_text().splitlines()[1:2]
    ]
    assert found
    return set(found)
