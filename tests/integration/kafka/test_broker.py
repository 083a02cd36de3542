"""The embedded broker: what it needs, what it keeps, and what it says when it cannot run."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import NotReadyError, UnreachableError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.producer import KafkaPythonProducer
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from sluice.topics.records import RecordTooLargeError
from tests.integration.brokers import free_ports, running


@pytest.fixture
def stopped(tmp_path: Path) -> BrokerProcess:
    return BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars)


@pytest.mark.verify
def test_a_killed_broker_keeps_its_records_and_its_topics_id_on_other_ports(stopped: BrokerProcess) -> None:
    stopped.prepare()
    with running(stopped) as process, KafkaPythonAdministration([stopped.bootstrap]) as administration:
        administration.create([TopicCreation("flights", 2, 1)])
        before = administration.describe(["flights"])["flights"]
        with KafkaPythonProducer([stopped.bootstrap], "flights") as producer:
            assert producer.send(b"AA", b"{}", partition=1).wait().offset == 0
        process.kill()

    port, controller_port = free_ports()
    moved = replace(stopped, port=port, controller_port=controller_port)
    moved.prepare()
    with running(moved), KafkaPythonAdministration([moved.bootstrap]) as administration:
        assert administration.describe(["flights"])["flights"] == before
        assert administration.ends("flights") == {0: 0, 1: 1}


def test_a_topic_is_not_created_by_sending_to_it(broker: BrokerProcess, topic_name: str) -> None:
    with (
        KafkaPythonProducer([broker.bootstrap], topic_name, delivery_seconds=2) as producer,
        pytest.raises(UnreachableError, match=topic_name),
    ):
        producer.send(b"AA", b"{}")
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        assert administration.describe([topic_name]) == {}


def test_a_record_that_is_too_large_for_its_topic_takes_no_other_with_it(
    broker: BrokerProcess, administration: KafkaPythonAdministration, topic_name: str
) -> None:
    administration.create([TopicCreation(topic_name, 1, 1, {"max.message.bytes": "2000"})])
    with KafkaPythonProducer([broker.bootstrap], topic_name, largest_batch=2_000) as producer:
        sent = [producer.send(None, b"x" * 100)]
        with pytest.raises(RecordTooLargeError, match="5,000 bytes"):
            producer.send(None, b"x" * 5_000)
        sent.append(producer.send(None, b"x" * 100))
        assert [each.wait().offset for each in sent] == [0, 1]
    with (
        KafkaPythonProducer([broker.bootstrap], topic_name) as producer,
        pytest.raises(UnreachableError, match="as too large for"),
    ):
        producer.send(None, b"x" * 5_000).wait()
    assert administration.ends(topic_name) == {0: 2}


def test_preparing_again_keeps_the_data_and_its_identity(stopped: BrokerProcess) -> None:
    stopped.prepare()
    identity = (stopped.folder / "data" / "meta.properties").read_text()
    stopped.prepare()
    assert (stopped.folder / "data" / "meta.properties").read_text() == identity


def test_it_listens_on_this_machine_alone(stopped: BrokerProcess) -> None:
    stopped.prepare()
    lines = (stopped.folder / "server.properties").read_text().splitlines()
    settings_of = dict(line.split("=", 1) for line in lines)
    assert all("://127.0.0.1:" in listener for listener in settings_of["listeners"].split(","))
    assert settings_of["auto.create.topics.enable"] == "false"


def test_missing_jars_are_told_with_the_command_that_fetches_them(stopped: BrokerProcess, tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match=r"jars are not in .* Fix: run `make setup`"):
        replace(stopped, jars=tmp_path / "nothing").prepare()


def test_a_missing_java_is_told_with_what_to_install(stopped: BrokerProcess) -> None:
    with pytest.raises(NotReadyError, match=r"there is no no-such-java\. Fix: install a JDK 17"):
        replace(stopped, java="no-such-java").prepare()


def test_a_folder_that_cannot_be_written_is_told(stopped: BrokerProcess) -> None:
    stopped.folder.write_text("a file where a folder belongs")
    with pytest.raises(NotReadyError, match=r"cannot be written: File exists"):
        stopped.prepare()


def test_a_taken_port_is_told(stopped: BrokerProcess) -> None:
    with socket.create_server(("127.0.0.1", stopped.controller_port)):
        stopped.prepare()
        process = subprocess.Popen(stopped.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with pytest.raises(NotReadyError, match="another process listens"):
                stopped.wait_ready(60)
        finally:
            process.kill()
            process.wait()


def test_a_full_disk_is_told(stopped: BrokerProcess) -> None:
    stopped.prepare()
    stopped.log.write_text("ERROR LogManager java.io.IOException: No space left on device\n")
    with pytest.raises(NotReadyError, match=r"the disk is full .* Fix: free some space"):
        stopped.wait_ready(60)


def test_a_fault_of_an_earlier_start_is_not_this_ones(stopped: BrokerProcess) -> None:
    stopped.prepare()
    stopped.log.write_text("java.io.IOException: No space left on device\n")
    stopped.prepare()
    with pytest.raises(NotReadyError, match="did not answer within 0 s"):
        stopped.wait_ready(0)
