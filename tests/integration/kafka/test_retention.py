"""What was said of a shorter retention against what a broker then does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from kafka import KafkaProducer

from sluice.clock import SystemClock
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.provisioning.retention.cut import Unread, observe_cut
from sluice.provisioning.retention.steps import lower_in_steps
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from tests.integration.brokers import free_ports, running

HOUR_MS = 3_600_000
SMALL_SEGMENTS = {"segment.ms": "60000"}
"""A record that is a minute younger than the first of its segment begins a new one."""


@pytest.fixture(scope="module")
def brisk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that looks for old segments every second."""
    broker = BrokerProcess(tmp_path_factory.mktemp("brisk"), *free_ports(), settings().jars)
    broker.prepare()
    with (broker.folder / "server.properties").open("a") as properties:
        properties.write("log.retention.check.interval.ms=1000\nlog.initial.task.delay.ms=0\n")
    with running(broker):
        yield broker


@pytest.fixture
def administration(brisk: BrokerProcess) -> Iterator[KafkaPythonAdministration]:
    with KafkaPythonAdministration([brisk.bootstrap]) as administration:
        yield administration


def fill(
    broker: BrokerProcess,
    administration: KafkaPythonAdministration,
    topic: str,
    hours: Mapping[int, list[float]],
    configs: Mapping[str, str],
) -> None:
    """Make a topic that keeps for ever, whose records are so many hours old."""
    administration.create([TopicCreation(topic, len(hours), 1, {"retention.ms": "-1", **configs})])
    now = datetime.now(UTC)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for partition, ages in hours.items():
            for age in ages:
                at = int((now - timedelta(hours=age)).timestamp() * 1000)
                producer.send(topic, b"{}", partition=partition, timestamp_ms=at).get(30)


def wait_for(administration: KafkaPythonAdministration, topic: str, firsts: Mapping[int, int]) -> None:
    deadline = time.monotonic() + 60
    while (found := administration.beginnings(topic)) != firsts:
        assert time.monotonic() < deadline, f"{topic} begins at {found}"
        time.sleep(0.1)


class Brisk(SystemClock):
    """Looks more often than it is told to."""

    def sleep(self, seconds: float) -> None:
        super().sleep(min(seconds, 0.2))


@pytest.mark.verify
def test_what_goes_is_what_was_said_to_go(
    brisk: BrokerProcess, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    ages = {0: [40.5, 30.5, 20.5, 10.5, 1.5], 1: [30.5, 1.5, 30.5], 2: [30.5, 29.5, 28.5], 3: [], 4: [2.5, 1.5]}
    fill(brisk, administration, topic_name, ages, SMALL_SEGMENTS)
    for hours, firsts in ((24, {0: 2, 1: 1, 2: 3, 3: 0, 4: 0}), (2, {0: 4, 1: 1, 2: 3, 3: 0, 4: 1})):
        position = {f"{topic_name}/{p}": min(1, len(each)) for p, each in ages.items()}
        cut = observe_cut(administration, topic_name, hours * HOUR_MS, {"slow": position}, now=datetime.now(UTC))
        assert {p: each.stays for p, each in cut.partitions.items()} == firsts
        expected = sum(first - max(1, cut.partitions[p].first) for p, first in firsts.items() if first > 1)
        assert cut.unread == (Unread("slow", expected),)
        administration.set_configs(topic_name, {"retention.ms": str(hours * HOUR_MS)})
        wait_for(administration, topic_name, firsts)
    ends = {p: len(each) for p, each in ages.items()}
    assert administration.ends(topic_name) == ends


@pytest.mark.verify
def test_a_broker_keeps_the_segment_of_a_young_record_and_nobody_waits_for_ever(
    brisk: BrokerProcess, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    fill(brisk, administration, topic_name, {0: [30.5, 29.5, 1.5]}, {})
    *_, last = lower_in_steps(administration, topic_name, 30 * HOUR_MS, 24 * HOUR_MS, Brisk(), patience_seconds=3)
    assert (last.retention_ms, last.due, last.gone) == (24 * HOUR_MS, 2, 0)
    assert administration.beginnings(topic_name) == {0: 0}


@pytest.mark.verify
def test_a_retention_is_lowered_step_by_step_as_the_broker_follows(
    brisk: BrokerProcess, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    fill(brisk, administration, topic_name, {0: [hour + 0.5 for hour in reversed(range(32))]}, SMALL_SEGMENTS)
    there, lowered = [32 - administration.beginnings(topic_name)[0]], []
    for step in lower_in_steps(administration, topic_name, -1, 4 * HOUR_MS, Brisk(), patience_seconds=30):
        there.append(32 - administration.beginnings(topic_name)[0])
        lowered.append(step)
    assert there == [32, 16, 8, 4]
    assert [each.gone for each in lowered] == [16, 8, 4]
    assert all(each.gone == each.due for each in lowered)
    assert administration.describe([topic_name])[topic_name].configs["retention.ms"] == str(4 * HOUR_MS)
