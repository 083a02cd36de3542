"""Executors of the declared size on one large worker of a real cluster: several side by side, each in one piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.spark_cluster import SparkCluster
from sluice.launch.master import read_capacity
from sluice.specs.catalog.needs import need_of
from sluice.streams.failures.capacity import ResourceRequest, shortage
from sluice.streams.failures.exits import ExitCode
from tests.editing import edit
from tests.integration.clusters import RunningCluster, running_cluster
from tests.integration.spark.cluster.test_standalone import UNIT, Stream, place_on
from tests.integration.spark.conftest import Feed
from tests.integration.spark.driver.test_exactly_once import assert_exact

CORES, EACH, MEMORY = 5, 2, "2g"


@dataclass(frozen=True)
class LargeWorker(SparkCluster):
    """Its workers have room for two executors of two cores, and a core more."""

    def commands(self) -> dict[str, tuple[str, ...]]:
        larger = {"--cores": str(CORES), "--memory": MEMORY}
        return {
            name: tuple(
                larger[before] if before in larger and name in self.worker_names else part
                for before, part in zip(("", *command), command, strict=False)
            )
            for name, command in super().commands().items()
        }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path / "cluster", 1, LargeWorker) as cluster:
        yield cluster


@pytest.fixture
def stream(tmp_path: Path, own_broker: BrokerProcess, cluster: RunningCluster) -> Iterator[Stream]:
    place = place_on(tmp_path, own_broker, cluster).with_own_project()
    pipeline = place.home / "include" / "pipelines" / "departures.yaml"
    size = f"cores: {2 * EACH}, executor_cores: {EACH}, executor_memory: 500m"
    edit(pipeline, "cores: 2", size)
    stream = Stream(place)
    yield stream
    stream.project.processes.launcher().kill(f"local.{UNIT}.g1")


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_large_worker_has_executors_of_the_declared_size_beside_each_other(
    stream: Stream, cluster: RunningCluster, own_broker: BrokerProcess
) -> None:
    (worker,), feed = cluster.cluster.worker_names, Feed(own_broker.bootstrap)
    need = need_of(stream.project.catalog, "local", UNIT)
    assert need is not None
    assert shortage(need, read_capacity(cluster.cluster.page)) == ""
    too_large = ResourceRequest("larger", 1, 500, ("larger",), CORES + 1)
    assert f"free: 0 ({CORES} more without" in shortage(too_large, read_capacity(cluster.cluster.page))

    feed.send(0.5)
    stream.start()
    stream.has_executors(2)
    executors = cluster.executors(worker)
    assert [cores_of(pid) for pid in executors] == [EACH, EACH]
    other = ResourceRequest("other", 1, 500, ("other",), EACH)  # one core is left, and half an executor is none
    assert "free: 0 (1 more without" in shortage(other, read_capacity(cluster.cluster.page))

    feed.send_rest()
    stream.has_published_all()
    stopped = stream.project.streams.life(UNIT).stop("test", "it had two executors", 60)
    assert stopped.exit_code == ExitCode.STOPPED, stream.log()[-3000:]
    assert_exact(stream.place, feed.sent)


def cores_of(pid: int) -> int:
    """Return how many tasks an executor runs at once, as its worker has started it."""
    arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return int(arguments[arguments.index("--cores") + 1])
