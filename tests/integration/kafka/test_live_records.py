"""A topic output on a real broker, followed: newest values, repetitions, what is no row, and a broker that goes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka import KafkaProducer

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import RefusedError
from sluice.kafka import live_records as module
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.live_records import KafkaLiveRecords
from sluice.live.follower import Follower
from sluice.live.rules import RuleWatch
from sluice.live.source import Row
from sluice.live.values import LiveValues
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from sluice.topics.deduplication import GENERATION, ID, POSITION
from tests.integration.brokers import free_ports, running
from tests.waiting import eventually

DEADLINE_SECONDS = 120.0


@pytest.fixture
def topic(broker: BrokerProcess, topic_name: str) -> str:
    create(broker, topic_name)
    return topic_name


def create(broker: BrokerProcess, topic: str) -> None:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(topic, 2, 1)])


def send(broker: BrokerProcess, topic: str, *values: object, position: int | None = None) -> None:
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number, value in enumerate(values):
            headers = [] if position is None else headers_of(str(number), position)
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.send(topic, text, key=b"k", headers=headers).get(30)


def headers_of(name: str, position: int) -> list[tuple[str, bytes]]:
    return [(ID, name.encode()), (GENERATION, b"1"), (POSITION, str(position).encode())]


def read_all(source: KafkaLiveRecords) -> tuple[list[Row], int]:
    rows, unreadable, deadline = list[Row](), 0, time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        batch = source.read(0.2)
        rows += batch.rows
        unreadable += batch.unreadable
        if batch.caught_up and not batch.rows:
            return rows, unreadable
    raise AssertionError("it is never at the end")


@pytest.fixture
def source(broker: BrokerProcess, topic: str) -> Iterator[Callable[[], KafkaLiveRecords]]:
    opened: list[KafkaLiveRecords] = []

    def open_source() -> KafkaLiveRecords:
        opened.append(KafkaLiveRecords([broker.bootstrap], {}, topic))
        return opened[-1]

    yield open_source
    for each in opened:
        each.close()


def test_what_there_is_and_what_comes_is_read_in_order(
    broker: BrokerProcess, topic: str, source: Callable[[], KafkaLiveRecords]
) -> None:
    send(broker, topic, {"k": "a", "v": 1}, {"k": "a", "v": 2})
    followed = source()
    rows, unreadable = read_all(followed)
    assert ([row.fields for row in rows], unreadable) == ([{"k": "a", "v": 1}, {"k": "a", "v": 2}], 0)
    send(broker, topic, {"k": "a", "v": 3})
    assert [row.fields["v"] for row in read_all(followed)[0]] == [3]


def test_what_a_crash_has_repeated_is_no_news_and_what_is_no_row_is_counted(
    broker: BrokerProcess, topic: str, source: Callable[[], KafkaLiveRecords]
) -> None:
    send(broker, topic, {"v": 1}, {"v": 2}, position=5)
    send(broker, topic, {"v": 1}, {"v": 2}, {"v": 3}, position=5)
    send(broker, topic, b"no json", [1, 2], b"[" * 100_000)
    rows, unreadable = read_all(source())
    assert ([row.fields["v"] for row in rows], unreadable) == ([1, 2, 3], 3)


def test_of_a_long_topic_the_newest_records_are_read(
    broker: BrokerProcess, topic: str, source: Callable[[], KafkaLiveRecords], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not source().read(0.1).partial
    monkeypatch.setattr(module, "MAX_RECORDS", 4)
    send(broker, topic, *({"v": number} for number in range(10)))
    assert [row.fields["v"] for row in read_all(source())[0]] == [8, 9]
    assert source().read(0.1).partial


def test_a_topic_that_is_not_there_is_refused(broker: BrokerProcess, topic_name: str) -> None:
    with pytest.raises(RefusedError, match=topic_name):
        KafkaLiveRecords([broker.bootstrap], {}, topic_name)


@pytest.mark.verify
def test_a_broker_that_goes_and_comes_back_costs_nothing(tmp_path: Path, topic_name: str) -> None:
    ports = free_ports()
    broker = BrokerProcess(tmp_path, *ports, settings().jars)
    broker.prepare()
    values = LiveValues(["k"])
    follower = Follower(
        topic_name,
        lambda: KafkaLiveRecords([broker.bootstrap], {}, topic_name),
        values,
        RuleWatch([]),
        lambda _: None,
        lambda: None,
        SystemClock(),
    )
    with running(broker):
        create(broker, topic_name)
        send(broker, topic_name, {"k": "a", "v": 1})
        follower.start()
        eventually(lambda: values.keys_held() == {("a",)})
    eventually(lambda: bool(follower.condition.trouble))
    assert values.keys_held() == {("a",)}, "what was read stays"
    with running(broker):
        send(broker, topic_name, {"k": "b", "v": 2})
        eventually(lambda: values.keys_held() == {("a",), ("b",)})
        eventually(lambda: not follower.condition.trouble)
        follower.stop()
