from __future__ import annotations

from pathlib import Path

import pytest

from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.master_address import MasterAddress, cluster_settings, master_address, on_this_machine, page_tls
from sluice.settings import StateFolder
from sluice.specs.deployments.deployment import PageTls, SparkPlace

EMBEDDED = MasterAddress("spark://127.0.0.1:7078", ("http://127.0.0.1:8083",))
REMOTE = "spark://spark-master:7077"


@pytest.fixture
def alone(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "alone")


@pytest.fixture
def clustered(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "clustered")
    write_endpoints(folder, Endpoints(("127.0.0.1:9092",), "http://127.0.0.1:8080", EMBEDDED.master, EMBEDDED.pages[0]))
    return folder


def test_without_a_cluster_a_driver_takes_its_cores_from_this_machine(alone: StateFolder) -> None:
    assert master_address("", SparkPlace(), alone) == MasterAddress("local")
    write_endpoints(alone, Endpoints(("127.0.0.1:9092",), "http://127.0.0.1:8080"))
    assert master_address("", SparkPlace(), alone) == MasterAddress("local")


def test_the_cluster_of_the_embedded_stack_is_found(clustered: StateFolder) -> None:
    assert master_address("", SparkPlace(), clustered) == EMBEDDED


def test_the_cluster_of_a_secured_stack_is_asked_by_files_of_the_state_folders(clustered: StateFolder) -> None:
    page = "https://127.0.0.1:8083"
    write_endpoints(clustered, Endpoints((), "", EMBEDDED.master, page, kafka_secured=True))
    found = master_address(EMBEDDED.master, SparkPlace(), clustered)
    assert (found.master, found.pages, found.settings) == (EMBEDDED.master, (page,), cluster_settings(clustered))
    assert found.tls == page_tls(cluster_settings(clustered))
    assert master_address("local", SparkPlace(), clustered).settings is None
    assert master_address(REMOTE, SparkPlace(), clustered).settings is None


def test_the_settings_go_first(clustered: StateFolder) -> None:
    assert master_address("local", SparkPlace(), clustered) == MasterAddress("local")
    assert master_address(EMBEDDED.master, SparkPlace(master=REMOTE), clustered) == EMBEDDED


def test_a_deployment_goes_before_the_embedded_stack(clustered: StateFolder) -> None:
    assert master_address("", SparkPlace(master=REMOTE), clustered) == MasterAddress(
        REMOTE, ("http://spark-master:8080",)
    )
    said = SparkPlace(master=REMOTE, page="http://spark-master:18080")
    assert master_address("", said, clustered).pages == ("http://spark-master:18080",)


def test_of_several_masters_each_may_be_asked(alone: StateFolder) -> None:
    several = "spark://a:7077,b:7077"
    assert master_address("", SparkPlace(master=several), alone).pages == ("http://a:8080", "http://b:8080")
    said = SparkPlace(master=several, page=("http://a:1", "http://b:2"))
    assert master_address("", said, alone).pages == ("http://a:1", "http://b:2")
    files = PageTls(ca="/etc/ca.pem")
    encrypted = SparkPlace(master=REMOTE, page="https://spark-master:8480", tls=files)
    assert master_address("", encrypted, alone) == MasterAddress(REMOTE, ("https://spark-master:8480",), files)
    assert master_address("spark://c:7077,d:7077", said, alone).pages == ("http://c:8080", "http://d:8080")


def test_only_a_standalone_master_has_room_to_be_asked_for(alone: StateFolder) -> None:
    assert master_address("", SparkPlace(master=REMOTE), alone).standalone
    for other in ("local", "local[4]", "local[*]"):
        assert not master_address("", SparkPlace(master=other), alone).standalone


@pytest.mark.parametrize(
    ("master", "here"),
    [
        *((one, True) for one in ("local", "local[2]", EMBEDDED.master, "spark://127.0.0.1:7077,127.0.0.1:7078")),
        *((one, False) for one in (REMOTE, "spark://127.0.0.10:7077", "spark://127.0.0.1:7077,b:7077")),
    ],
)
def test_the_embedded_cluster_shares_this_machines_disk_and_others_do_not(master: str, *, here: bool) -> None:
    assert on_this_machine(master) == here
