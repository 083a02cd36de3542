"""A feed sent to a real broker, and everything consumed back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import RefusedError, UnreachableError
from sluice.feeds.manifest import ManifestStore
from sluice.feeds.nycflights13 import Nycflights13
from sluice.feeds.pace import Pace
from sluice.feeds.publish import Feed, Sending, SendProgress
from sluice.feeds.record import encode
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.feed import open_feed
from sluice.kafka.producer import KafkaPythonProducer
from sluice.kafka.reader import KafkaPythonReader
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.topics.administration import TopicCreation
from tests.editing import copy_project
from tests.integration.brokers import free_ports, running

FIRST, SECOND = date(2013, 1, 1), date(2013, 1, 2)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(settings().home / "include")


@pytest.fixture(scope="module")
def source() -> Nycflights13:
    return Nycflights13.load()


@pytest.fixture
def topic(administration: KafkaPythonAdministration, topic_name: str) -> str:
    administration.create([TopicCreation(topic_name, 4, 1, {"retention.ms": "-1"})])
    return topic_name


def opened(catalog: Catalog, broker: BrokerProcess, topic: str, folder: Path) -> AbstractContextManager[Feed]:
    pipelines = [p.model_copy(update={"source": topic}) for p in catalog.pipelines.values()]
    return open_feed(
        catalog.feeds["flights"],
        catalog.topics["flights"].model_copy(update={"name": topic}),
        pipelines,
        bootstrap=[broker.bootstrap],
        client={},
        folder=folder,
        include=settings().home / "include",
    )


def consumed(broker: BrokerProcess, topic: str) -> list[ConsumerRecord]:
    """Return every record of the topic."""
    consumer = KafkaConsumer(bootstrap_servers=[broker.bootstrap], auto_offset_reset="earliest")
    partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    found: list[ConsumerRecord] = []
    while any(consumer.position(p) < ends[p] for p in partitions):
        found += [record for batch in consumer.poll(1000).values() for record in batch]
    consumer.close()
    return found


def test_two_days_arrive_once_in_order_and_keyed_by_carrier(
    catalog: Catalog, broker: BrokerProcess, topic: str, source: Nycflights13, tmp_path: Path
) -> None:
    with opened(catalog, broker, topic, tmp_path) as feed:
        assert feed.send(FIRST, FIRST).sent == 842
        assert feed.send(FIRST, SECOND).sent == 943
        assert feed.send(FIRST, SECOND).sent == 0
    records = consumed(broker, topic)
    flights = [record for record in records if record.key is not None]
    assert Counter(r.value for r in flights) == Counter(encode(r.value) for r in source.records(FIRST, SECOND))

    partitions, arrivals = defaultdict(set), defaultdict(list)
    for record in flights:
        value = json.loads(record.value)
        assert record.key.decode() == value["carrier"]
        partitions[record.key].add(record.partition)
        if value["flight_id"] < 842:
            arrivals[record.partition].append((value["observed_at"], value["flight_id"]))
    assert {len(found) for found in partitions.values()} == {1}
    assert len(arrivals) > 1
    assert all(found == sorted(found) for found in arrivals.values())


def test_each_range_ends_with_the_heartbeat_that_closes_its_last_hour(
    catalog: Catalog, broker: BrokerProcess, topic: str, tmp_path: Path
) -> None:
    with opened(catalog, broker, topic, tmp_path) as feed:
        done = feed.send(FIRST, FIRST)
    (beat,) = [record for record in consumed(broker, topic) if record.key is None]
    at = "2013-01-02T09:00:00Z"
    assert json.loads(beat.value) == {"heartbeat": True, "scheduled_at": at, "observed_at": at}
    assert done.heartbeat == datetime(2013, 1, 2, 9, tzinfo=UTC)


def test_the_manifest_has_the_topics_own_offsets_and_id(
    catalog: Catalog, broker: BrokerProcess, topic: str, administration: KafkaPythonAdministration, tmp_path: Path
) -> None:
    with opened(catalog, broker, topic, tmp_path) as feed:
        feed.send(FIRST, FIRST)
    manifest = ManifestStore(tmp_path).load()
    assert manifest is not None
    assert manifest.topic_id == administration.describe([topic])[topic].topic_id
    assert manifest.known_offsets == manifest.ranges[0].end == administration.ends(topic)
    assert manifest.keys() == Counter(r.key.decode() for r in consumed(broker, topic) if r.key)


def test_records_carry_the_time_of_sending(catalog: Catalog, broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    before = datetime.now(UTC).timestamp()
    with opened(catalog, broker, topic, tmp_path) as feed:
        feed.send(FIRST, FIRST)
    after = datetime.now(UTC).timestamp()
    assert all(before - 1 <= record.timestamp / 1000 <= after for record in consumed(broker, topic))


@pytest.mark.parametrize(
    ("where", "count"),
    [
        pytest.param("sends", 0, id="before the first record", marks=pytest.mark.verify),
        pytest.param("sends", 300, id="with records in flight"),
        pytest.param("saves", 1, id="with everything sent and nothing counted", marks=pytest.mark.verify),
    ],
)
def test_a_killed_sender_resumes_and_sends_nothing_twice(
    catalog: Catalog, broker: BrokerProcess, topic: str, source: Nycflights13, tmp_path: Path, *, where: str, count: int
) -> None:
    script = Path(__file__).with_name("dying_sender.py")
    argv = [sys.executable, str(script), broker.bootstrap, topic, str(tmp_path), where, str(count)]
    died = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr
    left = ManifestStore(tmp_path).load()
    assert left is not None
    assert (left.sending, left.records) == (True, 0)
    there = len(consumed(broker, topic))
    assert there > 0 or count == 0

    with opened(catalog, broker, topic, tmp_path) as feed:
        done = feed.send(FIRST, FIRST)

    assert done.recovered == there
    assert done.sent == 842 - there
    flights = Counter(record.value for record in consumed(broker, topic) if record.key is not None)
    assert flights == Counter(encode(record.value) for record in source.records(FIRST, FIRST))


@pytest.mark.verify
def test_a_killed_sender_of_a_file_resumes_and_sends_each_line_once_as_it_is(
    broker: BrokerProcess, topic: str, source: Nycflights13, tmp_path: Path
) -> None:
    home = tmp_path / "project"
    copy_project(home)
    (home / "include" / "data").mkdir()
    lines = [json.dumps(json.loads(record.payload), indent=None).encode() for record in source.records(FIRST, FIRST)]
    (home / "include" / "data" / "day.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (home / "include" / "feeds" / "flights.yaml").write_text(
        "name: flights\ntopic: flights\nsource: file\npath: data/day.jsonl\nkey: carrier\n"
    )
    folder, catalog = tmp_path / "feed", load_catalog(home / "include")
    script = Path(__file__).with_name("dying_sender.py")
    for where, count in (("sends", 300), ("saves", 1)):
        argv = [sys.executable, str(script), broker.bootstrap, topic, str(folder), where, str(count)]
        environment = {**os.environ, "SLUICE_HOME": str(home)}
        died = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=120, env=environment)
        assert died.returncode == -signal.SIGKILL, died.stderr
    there = len(consumed(broker, topic))

    with open_feed(
        catalog.feeds["flights"],
        catalog.topics["flights"].model_copy(update={"name": topic}),
        [],
        bootstrap=[broker.bootstrap],
        client={},
        folder=folder,
        include=home / "include",
    ) as feed:
        done = feed.send()

    assert 300 < there < len(lines)
    assert done.sent == len(lines) - there
    assert Counter(record.value for record in consumed(broker, topic)) == Counter(lines)
    assert {record.key for record in consumed(broker, topic)} == {
        json.loads(line)["carrier"].encode() for line in lines
    }


def test_a_missing_topic_is_refused_with_the_command_that_creates_it(
    catalog: Catalog, broker: BrokerProcess, topic_name: str, tmp_path: Path
) -> None:
    with opened(catalog, broker, topic_name, tmp_path) as feed, pytest.raises(RefusedError, match="topics apply"):
        feed.send(FIRST, FIRST)


@pytest.mark.verify
def test_when_the_broker_dies_in_the_middle_the_feed_says_so_and_resumes(
    catalog: Catalog, source: Nycflights13, tmp_path: Path
) -> None:
    broker = BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars)
    spec = catalog.topics["flights"]
    broker.prepare()

    def send(administration: KafkaPythonAdministration, report: Callable[[SendProgress], None]) -> Sending:
        with KafkaPythonProducer([broker.bootstrap], spec.name, delivery_seconds=4) as producer:
            feed = Feed(
                catalog.feeds["flights"],
                spec,
                [],
                source=source,
                producer=producer,
                reader=KafkaPythonReader(administration, spec.name),
                store=ManifestStore(tmp_path / "feed"),
                clock=SystemClock(),
            )
            return feed.send(FIRST, FIRST, pace=Pace(rate=400), report=report)

    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        with running(broker) as process:
            administration.create([TopicCreation(spec.name, 4, 1, {"retention.ms": "-1"})])
            with pytest.raises(UnreachableError, match=r"not acknowledged|could be sent"):
                send(administration, lambda _: process.kill())
        with running(broker):
            done = send(administration, lambda _: None)
            flights = Counter(record.value for record in consumed(broker, spec.name) if record.key is not None)
    assert 0 < done.sent < 842
    assert flights == Counter(encode(record.value) for record in source.records(FIRST, FIRST))
