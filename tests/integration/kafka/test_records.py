"""The reader of records against a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from kafka import KafkaProducer

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.records import KafkaPythonRecords
from sluice.topics.administration import TopicCreation
from sluice.topics.newest import newest, onwards
from tests.suites.topic_records_suite import NOON, Append, RecordReaderSuite

NOBODY = "127.0.0.1:1"


@pytest.fixture
def reader(broker: BrokerProcess) -> Iterator[KafkaPythonRecords]:
    with KafkaPythonRecords([broker.bootstrap]) as reader:
        yield reader


class TestKafkaPythonRecords(RecordReaderSuite):
    @pytest.fixture
    def append(self, broker: BrokerProcess) -> Iterator[Append]:
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:

            def send(
                topic: str,
                partition: int,
                value: bytes | None,
                *,
                key: bytes | None = None,
                headers: tuple[tuple[str, bytes], ...] = (),
                at: datetime = NOON,
            ) -> None:
                milliseconds = round(at.timestamp() * 1000)
                producer.send(topic, value, key, list(headers), partition=partition, timestamp_ms=milliseconds).get(30)

            yield send

    @pytest.fixture
    def elsewhere(self) -> KafkaPythonRecords:
        return KafkaPythonRecords([NOBODY])


def test_the_marks_of_transactions_are_passed_over(
    broker: BrokerProcess, administration: KafkaPythonAdministration, reader: KafkaPythonRecords, topic_name: str
) -> None:
    administration.create([TopicCreation(topic_name, 1, 1)])
    with KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=topic_name, acks="all") as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            producer.send(topic_name, str(number).encode(), partition=0)
            producer.commit_transaction()
    extent = administration.extent(topic_name)
    assert extent.ends == {0: 8}  # each transaction ends with a mark
    assert [record.value for record in newest(reader, topic_name, extent, 3).records] == [b"1", b"2", b"3"]
    first = onwards(reader, topic_name, {0: 1}, extent.ends, 2)
    assert [record.value for record in first.records] == [b"1", b"2"]
