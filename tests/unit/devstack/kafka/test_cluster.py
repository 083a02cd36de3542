from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.devstack.kafka.cluster import MAX_BROKERS, embedded_brokers, requested_brokers
from sluice.errors import RefusedError, SpecError
from sluice.launch.ports import choose_ports, read_ports, stored_ports, write_ports
from sluice.settings import Settings, StateFolder
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka

EMBEDDED = EmbeddedKafka()
ELSEWHERE = ExternalKafka(kind="external", bootstrap=("kafka:9092",))


@pytest.fixture
def place(tmp_path: Path) -> Settings:
    StateFolder(tmp_path).supervisor.mkdir(parents=True)
    return Settings(home=tmp_path, state=tmp_path, jars=tmp_path / "jars", deployment="local")


def test_what_was_asked_for_is_kept(place: Settings) -> None:
    assert requested_brokers(place, EMBEDDED, None) == 1
    assert requested_brokers(place, EMBEDDED, 4) == 4
    assert requested_brokers(place, EMBEDDED, None) == 4
    assert requested_brokers(place, EMBEDDED, 2) == 2, "none of the others has data yet"


def test_brokers_with_data_are_not_left_out(place: Settings) -> None:
    requested_brokers(place, EMBEDDED, 4)
    cluster = embedded_brokers(place, EMBEDDED, choose_ports({}, lambda _: True, 4))
    for broker in cluster.brokers:
        (broker.folder / "data").mkdir(parents=True)
    with pytest.raises(
        RefusedError, match="2 brokers were requested, and broker-3, broker-4 may hold replicas"
    ) as refused:
        requested_brokers(place, EMBEDDED, 2)
    assert "leave it at 4" in str(refused.value.fix)
    assert requested_brokers(place, EMBEDDED, None) == 4
    assert requested_brokers(place, EMBEDDED, 5) == 5


def test_a_cluster_of_somebody_else_has_none_of_ours(place: Settings) -> None:
    assert requested_brokers(place, ELSEWHERE, None) == 0
    assert embedded_brokers(place, ELSEWHERE, choose_ports({}, lambda _: True)).brokers == ()
    with pytest.raises(SpecError, match="has brokers of its own, kafka:9092"):
        requested_brokers(place, ELSEWHERE, 3)


def test_the_first_broker_is_where_a_single_one_is(place: Settings) -> None:
    (alone,) = embedded_brokers(place, EMBEDDED, choose_ports({}, lambda _: True)).brokers
    cluster = embedded_brokers(place, EMBEDDED, choose_ports({}, lambda _: True, 4))
    assert (cluster.brokers[0].folder, cluster.brokers[0].port) == (alone.folder, alone.port)
    assert list(cluster.by_name) == ["broker", "broker-2", "broker-3", "broker-4"]
    assert len({broker.port for broker in cluster.brokers}) == len({broker.folder for broker in cluster.brokers}) == 4
    assert cluster.bootstrap == tuple(f"127.0.0.1:{broker.port}" for broker in cluster.brokers)
    assert [broker.first for broker in cluster.brokers] == [None, *[alone.folder] * 3]


def racks(count: int) -> list[tuple[str, ...]]:
    return [tuple(BrokerProcess(Path(), 0, 0, Path(), number=number).rack.split("/")) for number in range(1, count + 1)]


@pytest.mark.parametrize("count", range(3, MAX_BROKERS + 1))
def test_three_replicas_find_three_brokers_that_share_no_domain(count: int) -> None:
    def apart(chosen: tuple[tuple[str, ...], ...]) -> bool:
        return all(len(set(values)) == 3 for values in zip(*chosen, strict=True))

    assert any(map(apart, combinations(racks(count), 3)))
    assert len(set(racks(count))) == count, "no two brokers are in the same place"


def test_ports_of_further_brokers_are_kept(tmp_path: Path) -> None:
    taken = {9094}
    ports = choose_ports({}, lambda port: port not in taken, 3)
    assert ports.further_brokers == (9095, 9096)
    write_ports(tmp_path / "ports.json", ports)
    kept = read_ports(tmp_path / "ports.json")
    assert stored_ports(kept, 3) == ports
    assert stored_ports(kept, 1) == choose_ports(kept, lambda _: True)
    with pytest.raises(KeyError):
        stored_ports(kept, 4)
    assert choose_ports(kept, lambda _: True, 4).further_brokers[:2] == ports.further_brokers
