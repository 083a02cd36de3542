"""Two real masters, of which one leads: when it dies, the other does, and every driver and every claim finds it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.spark_cluster import MASTER
from sluice.errors import UnreachableError
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.master import leading_capacity, read_capacity
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from tests.integration.clusters import RunningCluster
from tests.integration.spark.cluster.standby_masters import SECOND_MASTER, StandbyCluster, running_standby_cluster
from tests.integration.spark.cluster.test_standalone import UNIT, Stream
from tests.integration.spark.conftest import DriverPlace, Feed
from tests.integration.spark.driver.test_exactly_once import assert_exact

APPLICATION = "sluice-local-flights"


@pytest.fixture
def masters(tmp_path: Path) -> Iterator[tuple[StandbyCluster, RunningCluster]]:
    with running_standby_cluster(tmp_path / "cluster", 2) as masters:
        yield masters


@pytest.fixture
def stream(
    tmp_path: Path, own_broker: BrokerProcess, masters: tuple[StandbyCluster, RunningCluster]
) -> Iterator[Stream]:
    cluster, _ = masters
    place = DriverPlace(tmp_path / "state").with_own_project()
    deployment = place.home / "include" / "deployments" / "local.yaml"
    pages = ", ".join(f'"{page}"' for page in cluster.pages)
    deployment.write_text(f'{deployment.read_text()}spark: {{master: "{cluster.master}", page: [{pages}]}}\n')
    write_endpoints(Settings(state=place.state).folder, Endpoints((own_broker.bootstrap,), ""))
    stream = Stream(place)
    yield stream
    for generation in (1, 2):
        stream.project.processes.launcher().kill(f"local.{UNIT}.g{generation}")


@pytest.mark.verify
@pytest.mark.timeout(900)
def test_a_stream_goes_on_when_the_next_master_leads_and_a_later_one_starts_there(
    stream: Stream, masters: tuple[StandbyCluster, RunningCluster], own_broker: BrokerProcess
) -> None:
    cluster, running = masters
    feed, (first, _) = Feed(own_broker.bootstrap), cluster.worker_names
    with pytest.raises(UnreachableError, match="says that it is STANDBY"):
        read_capacity(cluster.pages[1])
    feed.send(0.2)
    stream.start()
    stream.has_executors(2)
    stream.has_read(feed.sent)

    running.kill(MASTER)
    feed.send(0.2)
    stream.has_read(feed.sent)  # without any master
    stream.eventually(lambda: cluster.registered() == 2, "is led by the other master, with both workers")
    (application,) = leading_capacity(cluster.pages).applications
    assert application.name == APPLICATION
    assert read_capacity(cluster.pages[1]).address.endswith(f":{cluster.second_port}")

    (executor,) = running.executors(first)
    os.kill(executor, signal.SIGKILL)
    stream.eventually(lambda: running.executors(first) not in ([], [executor]), "gets executors from the next master")
    stream.has_executors(2)

    # The first of the addresses is dead now: a new attempt is claimed, submitted and given cores all the same.
    life = stream.project.streams.life(UNIT)
    assert life.stop("test", "the next attempt finds the master that leads", 60).exit_code == ExitCode.STOPPED
    feed.send_rest()
    claim = life.start("test", "the first master is dead")
    assert claim.attempt is not None, claim.why
    stream.has_read(feed.sent)
    stream.has_published_all()
    assert life.stop("test", "all is read", 60).exit_code == ExitCode.STOPPED, stream.log(2)[-3000:]
    assert_exact(stream.place, feed.sent)

    # Without a master nothing is known, and nothing is submitted.
    running.kill(SECOND_MASTER)
    assert "none of 2 Spark masters leads" in life.start("test", "nobody leads").why
