"""A producer that aborts transactions, or leaves one open: nobody reads what was aborted, or what is still open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.live_records import KafkaLiveRecords
from sluice.kafka.newest_keys import KafkaPythonKeyReader
from sluice.kafka.reader import KafkaPythonReader
from sluice.kafka.records import KafkaPythonRecords
from sluice.spark.records.kafka_source import KafkaTopic, read_between, read_stream
from sluice.topics.administration import TopicCreation, TopicExtent

# One transaction is aborted, one committed, one aborted: each ends in a mark, which takes an offset and is no record.
COMMITTED, WRITTEN = [3, 4, 5], 12


@contextmanager
def transactions(broker: BrokerProcess, topic: str) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(
        bootstrap_servers=[broker.bootstrap], transactional_id=topic, transaction_timeout_ms=60_000
    )
    producer.init_transactions()
    try:
        yield producer
    finally:
        producer.close(timeout=5)


def send(producer: KafkaProducer, topic: str, numbers: range, *, commit: bool) -> None:
    begin(producer, topic, numbers)
    (producer.commit_transaction if commit else producer.abort_transaction)()


def begin(producer: KafkaProducer, topic: str, numbers: range) -> None:
    producer.begin_transaction()
    for number in numbers:
        producer.send(topic, value=b'{"n":%d}' % number, key=b"%d" % number, partition=0)
    producer.flush()


@pytest.fixture
def aborted(broker: BrokerProcess, topic_name: str) -> tuple[str, str]:
    """A topic whose last transaction was aborted; its address and name."""
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(topic_name, 1, 1)])
    with transactions(broker, topic_name) as producer:
        send(producer, topic_name, range(3), commit=False)
        send(producer, topic_name, range(3, 6), commit=True)
        send(producer, topic_name, range(6, 9), commit=False)
    return broker.bootstrap, topic_name


def extent_of(bootstrap: str, topic: str) -> TopicExtent:
    with KafkaPythonAdministration([bootstrap]) as administration:
        return administration.extent(topic)


def test_readers_in_python_see_committed_records_only(aborted: tuple[str, str]) -> None:
    bootstrap, topic = aborted
    extent = extent_of(bootstrap, topic)
    assert (extent.ends, extent.held) == ({0: WRITTEN}, {})
    with KafkaPythonRecords([bootstrap], patience_seconds=10) as reader:
        found = list(reader.read(topic, {0: 0}, extent.ends))
        assert [record.key for record in found] == [b"%d" % number for number in COMMITTED]
        assert list(reader.read(topic, {0: 8}, extent.ends)) == [], "only an aborted transaction and its mark is left"
    with KafkaPythonAdministration([bootstrap]) as administration:
        assert KafkaPythonKeyReader(administration).newest_keys(topic, 100).keys == {0: [b"3", b"4", b"5"]}
        assert administration.stamps(topic, {0: 0}).keys() == {0}
    live = KafkaLiveRecords([bootstrap], {}, topic)
    try:
        batch = live.read(1)
        while not batch.caught_up:
            batch = live.read(1)
        assert batch.unreadable == 0
    finally:
        live.close()


def test_an_open_transaction_is_told_and_nobody_waits_for_it(broker: BrokerProcess, aborted: tuple[str, str]) -> None:
    bootstrap, topic = aborted
    with transactions(broker, topic) as producer:
        begin(producer, topic, range(9, 11))
        extent = extent_of(bootstrap, topic)
        assert (extent.ends, extent.held) == ({0: WRITTEN}, {0: 2})
        with KafkaPythonAdministration([bootstrap]) as administration:
            assert administration.ends(topic) == {0: WRITTEN}
            assert KafkaPythonReader(administration, topic).extent().held == {0: 2}
        with KafkaPythonRecords([bootstrap], patience_seconds=10) as reader:
            assert len(list(reader.read(topic, {0: 0}, extent.ends))) == len(COMMITTED)
        producer.commit_transaction()
    extent = extent_of(bootstrap, topic)
    assert (extent.ends, extent.held) == ({0: WRITTEN + 3}, {})


def test_a_stream_takes_committed_records_and_has_nothing_unread_behind_marks(
    spark: SparkSession, broker: BrokerProcess, aborted: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap, name = aborted
    extent = extent_of(bootstrap, name)
    topic = KafkaTopic((bootstrap,), name, extent.topic_id, partitions=1)
    batch = read_between(spark, topic, {f"{name}/0": 0}, {f"{name}/0": extent.ends[0]})
    assert sorted(row["_offset"] for row in batch.select("_offset").collect()) == [4, 5, 6]

    def read() -> tuple[int, int]:
        """Return what a stream that goes on has read: records of this run, and its end offset."""
        query = (
            read_stream(spark, topic)
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        progress = query.recentProgress
        ended = [json.loads(str(each.sources[0].endOffset).replace("'", '"'))[name]["0"] for each in progress]
        return sum(each.numInputRows for each in progress), max(ended, default=0)

    assert read() == (len(COMMITTED), WRITTEN)
    with transactions(broker, name) as producer:
        begin(producer, name, range(9, 11))
        assert read()[0] == 0, "what is open is read by nobody"
        producer.abort_transaction()
    assert read() == (0, WRITTEN + 3), "the position goes on behind marks, so nothing is unread"
