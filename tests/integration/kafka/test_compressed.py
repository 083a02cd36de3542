"""Records are read whatever their compression is: the broker compresses as a topic's configuration says."""

from __future__ import annotations

import json

import pytest
from kafka import KafkaProducer

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.live_records import KafkaLiveRecords
from sluice.kafka.records import KafkaPythonRecords
from sluice.kafka.stored_records import KafkaPythonStoredRecords
from sluice.topics.administration import TopicCreation
from tests.waiting import eventually

VALUES = [{"k": str(number), "text": "flights" * 20} for number in range(50)]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_read(
    broker: BrokerProcess, administration: KafkaPythonAdministration, topic_name: str, codec: str
) -> None:
    administration.create([TopicCreation(topic_name, 1, 1, {"compression.type": codec})])
    with KafkaProducer(bootstrap_servers=broker.bootstrap, linger_ms=100) as producer:
        for value in VALUES:
            producer.send(topic_name, json.dumps(value).encode())
    with KafkaPythonRecords([broker.bootstrap]) as reader:
        found = [json.loads(record.value or b"") for record in reader.read(topic_name, {0: 0}, {0: len(VALUES)})]
    assert found == VALUES
    assert administration.stamps(topic_name, {0: 7}).keys() == {0}
    with KafkaPythonStoredRecords([broker.bootstrap], {}, topic_name, patience_seconds=10) as stored:
        assert [offset for _, offset, _ in stored.records({0: [(3, 4)]})] == [3, 4]
    live = KafkaLiveRecords([broker.bootstrap], {}, topic_name)
    try:
        assert rows_of(live, len(VALUES)) == VALUES
    finally:
        live.close()


def rows_of(live: KafkaLiveRecords, count: int) -> list[dict[str, object]]:
    rows = list[dict[str, object]]()

    def all_read() -> bool:
        rows.extend(dict(row.fields) for row in live.read(0.2).rows)
        return len(rows) >= count

    eventually(all_read)
    return rows
