"""A Kafka from before topics had ids behaves as the port says, but for the ids: the administration's suite again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from sluice.topics.administration import KafkaAdministration, TopicCreation
from sluice.topics.identity import is_by_name
from tests.integration.brokers import add_listeners, free_ports, running
from tests.integration.kafka.older_protocol import WITHOUT_IDS, older_protocol
from tests.integration.kafka.test_administration import TestKafkaPythonAdministration as _Suite

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, str]]:
    """Yield a broker, and the address where it speaks the older protocol."""
    port, controller, behind, listening = free_ports(4)
    broker = BrokerProcess(tmp_path_factory.mktemp("older"), port, controller, settings().jars)
    broker.prepare()
    add_listeners(broker, {"PROXIED": (behind, f"127.0.0.1:{listening}")})
    with running(broker), older_protocol(listening, behind, WITHOUT_IDS):
        yield broker, f"127.0.0.1:{listening}"


@pytest.fixture
def broker(older: tuple[BrokerProcess, str]) -> BrokerProcess:
    return older[0]


class TestOlderProtocol(_Suite):
    @pytest.fixture
    def administration(self, older: tuple[BrokerProcess, str]) -> Iterator[KafkaPythonAdministration]:
        with KafkaPythonAdministration([older[1]]) as administration:
            yield administration

    def test_each_topic_has_its_own_id(self, administration: KafkaAdministration, name: str) -> None:
        other = name + "_b"
        administration.create([TopicCreation(name, 1, 1), TopicCreation(other, 1, 1)])
        ids = [state.topic_id for state in administration.describe([name, other]).values()]
        assert all(map(is_by_name, ids))
        assert len(set(ids)) == 2
        assert administration.extent(name).topic_id in ids
