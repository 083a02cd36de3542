"""The adapter against a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.topics.administration import TopicCreation
from tests.suites.kafka_administration_suite import Consuming, KafkaAdministrationSuite, ReadGroup, Send

NOBODY = "127.0.0.1:1"


class TestKafkaPythonAdministration(KafkaAdministrationSuite):
    @pytest.fixture
    def administration(self, broker: BrokerProcess) -> Iterator[KafkaPythonAdministration]:
        with KafkaPythonAdministration([broker.bootstrap]) as administration:
            yield administration

    @pytest.fixture
    def send(self, broker: BrokerProcess) -> Send:
        def append(topic: str, partition: int, stamps: Sequence[datetime]) -> None:
            with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
                for stamp in stamps:
                    milliseconds = int(stamp.timestamp() * 1000)
                    producer.send(topic, b"{}", partition=partition, timestamp_ms=milliseconds).get(30)

        return append

    @pytest.fixture
    def read_group(self, broker: BrokerProcess) -> ReadGroup:
        def read(group: str) -> Mapping[str, int]:
            with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as client:
                found = client.list_group_offsets(group)[group]
            return {f"{at.topic}/{at.partition}": held.offset for at, held in found.items()}

        return read

    @pytest.fixture
    def consuming(self, broker: BrokerProcess) -> Consuming:
        @contextmanager
        def consume(topic: str, group: str) -> Iterator[None]:
            with closing(
                # A consumer that asked before the topic was known everywhere asks again only after this age.
                KafkaConsumer(
                    topic,
                    group_id=group,
                    bootstrap_servers=broker.bootstrap,
                    enable_auto_commit=False,
                    metadata_max_age_ms=1_000,
                )
            ) as consumer:
                deadline = time.monotonic() + 120
                while not consumer.assignment():
                    assert time.monotonic() < deadline, f"{group} was given no partition of {topic}"
                    consumer.poll(timeout_ms=1_000)
                yield

        return consume

    @pytest.fixture
    def elsewhere(self) -> KafkaPythonAdministration:
        return KafkaPythonAdministration([NOBODY])


def test_one_dead_address_does_not_hide_a_living_broker(broker: BrokerProcess) -> None:
    with KafkaPythonAdministration([NOBODY, "nobody.invalid:9092", broker.bootstrap]) as administration:
        assert administration.brokers() == [1]


def test_every_dead_address_is_named_with_its_reason() -> None:
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1: Connection refused; nobody\.invalid:9092: "):
        KafkaPythonAdministration([NOBODY, "nobody.invalid:9092"]).brokers()


def test_a_closed_administration_connects_again(broker: BrokerProcess, topic_name: str) -> None:
    administration = KafkaPythonAdministration([broker.bootstrap])
    administration.create([TopicCreation(topic_name, 1, 1)])
    administration.close()
    assert topic_name in administration.describe([topic_name])
    administration.close()
