"""Keys of newest records against a real broker, and where its producers put them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kafka import KafkaProducer

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.newest_keys import KafkaPythonKeyReader
from sluice.provisioning.growth.keys import most_of_each, moves, partition_of
from sluice.topics.administration import TopicCreation
from tests.suites.topic_keys_suite import Fill, KeyReaderSuite


class TestKafkaPythonKeyReader(KeyReaderSuite):
    @pytest.fixture
    def reader(self, administration: KafkaPythonAdministration) -> KafkaPythonKeyReader:
        return KafkaPythonKeyReader(administration)

    @pytest.fixture
    def fill(self, broker: BrokerProcess, administration: KafkaPythonAdministration) -> Fill:
        def fill(topic: str, keys: Sequence[Sequence[bytes | None]]) -> None:
            administration.create([TopicCreation(topic, len(keys), 1)])
            with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
                for partition, each in enumerate(keys):
                    for key in each:
                        producer.send(topic, b"{}", key=key, partition=partition).get(30)

        return fill


def test_what_a_growth_moves_is_what_the_producer_then_does(
    broker: BrokerProcess, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    administration.create([TopicCreation(topic_name, 4, 1)])
    keys = [f"key-{number}".encode() for number in range(300)]

    def sent() -> dict[bytes, int]:
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            answers = {key: producer.send(topic_name, b"{}", key=key) for key in keys}
            return {key: answer.get(30).partition for key, answer in answers.items()}

    before = sent()
    assert before == {key: partition_of(key, 4) for key in keys}
    found = moves(KafkaPythonKeyReader(administration).newest_keys(topic_name, most_of_each(4)), 4, 6)
    administration.grow(topic_name, 6)
    after = sent()
    moved = sum(before[key] != after[key] for key in keys) / len(keys)
    assert found.of_keys == found.of_records == pytest.approx(moved)
