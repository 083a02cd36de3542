"""The records that a raw table is compared with, read from a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import UnreachableError
from sluice.intervals.backfill.conservation import KafkaRecords
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.stored_records import KafkaPythonStoredRecords
from sluice.topics.administration import TopicCreation
from tests.suites.stored_records_suite import SENT, KafkaRecordsSuite, OpenStored


@pytest.fixture
def opened(broker: BrokerProcess, topic_name: str) -> Iterator[OpenStored]:
    with ExitStack() as stack:

        def opened(count: int) -> KafkaRecords:
            with KafkaPythonAdministration([broker.bootstrap]) as administration:
                administration.create([TopicCreation(topic_name, 2, 1, {"retention.ms": "-1"})])
            with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
                for offset in range(count):
                    for partition in (0, 1):
                        value, headers = b"%d" % offset, [("h", b"\xff")]
                        producer.send(topic_name, value, b"k", headers, partition=partition, timestamp_ms=SENT)
            topic = KafkaPythonStoredRecords([broker.bootstrap], {}, topic_name, patience_seconds=10)
            return stack.enter_context(topic)

        yield opened


class TestKafkaPythonStoredRecords(KafkaRecordsSuite):
    @pytest.fixture
    def elsewhere(self) -> KafkaRecords:
        return KafkaPythonStoredRecords(["127.0.0.1:1"], {}, "flights", patience_seconds=1)


def test_what_was_deleted_is_not_held_and_asking_for_it_is_refused(
    broker: BrokerProcess, topic_name: str, opened: OpenStored
) -> None:
    topic = opened(300)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    try:
        admin.delete_records({TopicPartition(topic_name, 0): 120})
    finally:
        admin.close()
    assert topic.held().ranges == {0: (120, 299), 1: (0, 299)}
    with pytest.raises(UnreachableError, match="could not be read"):
        list(topic.records({0: [(0, 5)]}))
