from __future__ import annotations

from pathlib import Path

import pytest

from sluice.devstack.jars import own_jar
from sluice.devstack.spark_authentication import AUTHENTICATION_FIRST
from sluice.devstack.spark_cluster import MASTER, SparkCluster, embedded_cluster
from sluice.errors import NotReadyError, SpecError
from sluice.launch.ports import Ports
from sluice.settings import Settings
from sluice.specs.deployments.deployment import SparkPlace

PORTS = Ports(8080, 9092, 9093, 7077, 8081)


@pytest.fixture
def place(tmp_path: Path) -> Settings:
    place = Settings(state=tmp_path / "with a blank")
    place.folder.supervisor.mkdir(parents=True)
    return place


def workers(place: Settings, asked: int | None) -> int:
    cluster = embedded_cluster(place, SparkPlace(), PORTS, asked)
    return 0 if cluster is None else cluster.workers


def test_a_stack_has_no_workers_until_somebody_asks_for_them_and_keeps_them_until_somebody_does_not(
    place: Settings,
) -> None:
    assert [workers(place, asked) for asked in (None, 2, None, 3, None, 0, None)] == [0, 2, 2, 3, 3, 0, 0]


def test_a_deployment_with_a_master_of_its_own_gets_no_second_one(place: Settings) -> None:
    remote = SparkPlace(master="spark://spark-master:7077")
    assert embedded_cluster(place, remote, PORTS, None) is None
    with pytest.raises(SpecError, match=r"has a Spark master of its own, spark://spark-master:7077\. Fix: leave out"):
        embedded_cluster(place, remote, PORTS, 2)


def test_everything_answers_on_this_machine_alone(place: Settings) -> None:
    cluster = SparkCluster(place.folder.spark, 7077, 8081, 2)
    commands = cluster.commands()
    assert list(commands) == [MASTER, "spark-worker-1", "spark-worker-2"]
    for command in commands.values():
        assert "SPARK_LOCAL_IP=127.0.0.1" in command
        assert command[command.index("--host") + 1] == "127.0.0.1"
    assert "-Dspark.master.rest.enabled=false" in commands[MASTER]
    assert all(commands[name][-1] == cluster.master == "spark://127.0.0.1:7077" for name in cluster.worker_names)


def test_in_a_secured_stack_no_part_answers_before_it_knows_who_asks(place: Settings) -> None:
    cluster = embedded_cluster(place, SparkPlace(), PORTS, 1, secured=True)
    assert cluster is not None
    assert cluster.security is not None
    assert cluster.page == "https://127.0.0.1:8081"
    for name, command in cluster.commands().items():
        assert AUTHENTICATION_FIRST in command
        assert command[command.index("-cp") + 1].startswith(f"{own_jar(place).path}:")
        assert command[command.index("--properties-file") + 1] == str(cluster.security.settings)
        assert command[command.index("--webui-port") + 1] == "0"
        assert f"-Dspark.ssl.standalone.port={8081 if name == MASTER else 0}" in command
        assert command.index(AUTHENTICATION_FIRST) < command.index("-cp")
    assert cluster.commands()["spark-worker-1"][-1] == cluster.master


def test_a_cluster_that_asks_nobody_has_nothing_of_that(place: Settings) -> None:
    cluster = embedded_cluster(place, SparkPlace(), PORTS, 1)
    assert cluster is not None
    assert cluster.page == "http://127.0.0.1:8081"
    words = " ".join(word for command in cluster.commands().values() for word in command)
    assert not any(part in words for part in (AUTHENTICATION_FIRST, "--properties-file", "spark.ssl", "sluice-"))


def test_a_worker_offers_one_core_and_room_for_one_executor(place: Settings) -> None:
    command = SparkCluster(place.folder.spark, 7077, 8081, 1).commands()["spark-worker-1"]
    assert command[command.index("--cores") + 1] == "1"
    assert command[command.index("--memory") + 1] == "1g"


def test_what_a_master_remembers_is_forgotten_only_if_nobody_needs_it(place: Settings) -> None:
    cluster = SparkCluster(place.folder.spark, 7077, 8081, 1, java="true")
    cluster.prepare(forget=False)
    remembered = cluster.folder / "recovery" / "app_1"
    remembered.touch()
    cluster.prepare(forget=False)
    assert remembered.exists()
    cluster.prepare(forget=True)
    assert not remembered.exists()


def test_without_java_there_is_no_cluster(place: Settings) -> None:
    with pytest.raises(NotReadyError, match="needs Java"):
        SparkCluster(place.folder.spark, 7077, 8081, 1, java="no-such-java").prepare(forget=True)


def test_a_master_that_nobody_hears_has_no_workers_not_even_none(place: Settings) -> None:
    assert SparkCluster(place.folder.spark, 1, 1, 1).registered() == -1
