"""A standalone cluster with a master that stands by: both elect the leader through a ZooKeeper of Spark's own jars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sluice.devstack.spark_cluster import MASTER, SparkCluster
from sluice.errors import UnreachableError
from sluice.launch.master import leading_capacity
from sluice.launch.ports import HOST
from tests.integration.brokers import free_ports
from tests.integration.clusters import RunningCluster
from tests.waiting import eventually

ZOOKEEPER, SECOND_MASTER = "zookeeper", "spark-master-2"
_MASTER_CLASS, _ZOOKEEPER_CLASS = (
    "org.apache.spark.deploy.master.Master",
    "org.apache.zookeeper.server.ZooKeeperServerMain",
)
_OF_MASTERS = ("-Dspark.deploy.recoveryMode=", "-Dspark.deploy.recoveryDirectory=")


@dataclass(frozen=True)
class StandbyCluster(SparkCluster):
    """A cluster with two masters.

    Attributes:
        second_port: of the second master.
        second_page_port: of the second master's page.
        zookeeper_port: where both elect a leader, and keep what the next one has to know.
    """

    second_port: int = 0
    second_page_port: int = 0
    zookeeper_port: int = 0

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self.port},{HOST}:{self.second_port}"

    @property
    def pages(self) -> tuple[str, str]:
        return self.page, f"http://{HOST}:{self.second_page_port}"

    def commands(self) -> Mapping[str, tuple[str, ...]]:
        first = super().commands()
        second = SparkCluster(self.folder, self.second_port, self.second_page_port, 0).commands()[MASTER]
        masters = {MASTER: self._electing(first[MASTER]), SECOND_MASTER: self._electing(second)}
        return {ZOOKEEPER: self._zookeeper(first[MASTER]), **first, **masters}

    def registered(self) -> int:
        try:
            return len(leading_capacity(self.pages).workers)
        except UnreachableError:
            return -1

    def write_settings(self) -> None:
        """Write ZooKeeper's file: a session ends ten seconds after its master has died."""
        settings = {
            "dataDir": self.folder / ZOOKEEPER,
            "clientPort": self.zookeeper_port,
            "clientPortAddress": HOST,
            "tickTime": 500,
            "admin.enableServer": "false",
        }
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    @property
    def _settings(self) -> Path:
        return self.folder / "zookeeper.properties"

    def _electing(self, command: tuple[str, ...]) -> tuple[str, ...]:
        main = command.index(_MASTER_CLASS)
        kept = [each for each in command[: main - 2] if not each.startswith(_OF_MASTERS)]
        election = (
            "-Dspark.deploy.recoveryMode=ZOOKEEPER",
            f"-Dspark.deploy.zookeeper.url={HOST}:{self.zookeeper_port}",
        )
        return (*kept, *election, *command[main - 2 :])

    def _zookeeper(self, master: tuple[str, ...]) -> tuple[str, ...]:
        main = master.index(_MASTER_CLASS)
        java = [each for each in master[:main] if not each.startswith("-Dspark.")]
        return (*java, _ZOOKEEPER_CLASS, str(self._settings))


@contextmanager
def running_standby_cluster(folder: Path, workers: int) -> Iterator[tuple[StandbyCluster, RunningCluster]]:
    """Run it on free ports, the first master leading; on the way out it is gone, whatever happened."""
    port, page, second, second_page, zookeeper = free_ports(5)
    cluster = StandbyCluster(
        folder, port, page, workers, second_port=second, second_page_port=second_page, zookeeper_port=zookeeper
    )
    running = RunningCluster(cluster)
    cluster.prepare(forget=True)
    cluster.write_settings()
    try:
        running.start(ZOOKEEPER)
        running.start(MASTER)
        eventually(lambda: cluster.registered() >= 0, "no master leads")
        for name in (SECOND_MASTER, *cluster.worker_names):
            running.start(name)
        cluster.wait_ready(60)
        yield cluster, running
    finally:
        running.end()
