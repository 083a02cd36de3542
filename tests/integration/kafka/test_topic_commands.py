"""`sluice topics check | import | describe | tail` against a real broker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from typer.testing import CliRunner, Result

from sluice.cli.checking.check import check as check_specs
from sluice.cli.topics import commands as topics
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import SpecError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from tests.editing import edit
from tests.integration.brokers import free_ports, running
from tests.unit.specs.bench import Bench, sound_project

DEPLOYMENT = """\
name: here
kafka: {{kind: external, bootstrap: ["{bootstrap}"]}}
replication: 1
"""


@dataclass
class Place:
    """A sound project in a deployment whose Kafka is a test's broker, and a topic that nobody has declared."""

    bench: Bench
    broker: BrokerProcess
    topic: str

    def send(self, *values: bytes | None, partition: int = 0, key: bytes | None = None, **more: Any) -> None:  # noqa: ANN401
        with KafkaProducer(bootstrap_servers=self.broker.bootstrap) as producer:
            for value in values:
                producer.send(self.topic, value, key, partition=partition, **more).get(30)

    def create(self, partitions: int = 2, **configs: str) -> None:
        with KafkaPythonAdministration([self.broker.bootstrap]) as administration:
            administration.create([TopicCreation(self.topic, partitions, 1, configs)])


def prepared(home: Path, broker: BrokerProcess, topic: str, monkeypatch: pytest.MonkeyPatch) -> Place:
    bench = sound_project(home)
    bench.write("include/deployments/here.yaml", DEPLOYMENT.format(bootstrap=broker.bootstrap))
    for key, value in (("HOME", str(home)), ("STATE", "state"), ("DEPLOYMENT", "here")):
        monkeypatch.setenv(f"SLUICE_{key}", value)
    settings.cache_clear()
    return Place(bench, broker, topic)


@pytest.fixture
def place(broker: BrokerProcess, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return prepared(tmp_path, broker, topic_name, monkeypatch)


BOUND = {"message.timestamp.after.max.ms": "600000"}
"""Without it, the plan of a topic that producers stamp has it to set."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(topics.app, list(arguments), catch_exceptions=False)


def said(*arguments: str) -> str:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_imported_topic_has_nothing_to_be_done(place: Place) -> None:
    place.create(3, **{"max.message.bytes": "2000000", "retention.ms": "3600000", **BOUND})
    place.send(*(b'{"id": %d, "made_at": "2013-01-07T12:00:0%dZ"}' % (n, n) for n in range(9)), key=b"k")
    done = json.loads(said("import", place.topic, "-o", "json"))
    file = place.bench.include / f"topics/{place.topic}.yaml"
    assert done == {
        "written": [{"topic": place.topic, "file": str(file), "sampled": 9, "keyed": True}],
        "refused": [],
    }
    assert "retention: 1 hour\n" in file.read_text()
    plan = json.loads(said("plan", "-o", "json"))
    assert [item["topic"] for item in plan["items"]] == ["orders"]
    assert (plan["refused"], plan["kept"]) == ([], [])
    app = topics.typer.Typer()
    app.command()(check_specs)
    assert CliRunner().invoke(app).exit_code == 0
    again = run("import", place.topic)
    assert again.exit_code == 5
    assert f"include/topics/{place.topic}.yaml declares it already" in again.stderr


def test_of_several_topics_those_that_can_be_are_imported(place: Place) -> None:
    place.create()
    place.send(b'{"at": "2013-01-07T12:00:00Z"}')
    elsewhere = place.bench.home / "proposed"
    elsewhere.mkdir()
    with KafkaPythonAdministration([place.broker.bootstrap]) as administration:
        administration.create([TopicCreation(f"{place.topic}.Odd", 1, 1)])
    names = (place.topic, f"{place.topic}.Odd", "__consumer_offsets", f"{place.topic}x")
    done = run("import", *names, "--into", str(elsewhere))
    assert done.exit_code == 5
    assert done.stdout.splitlines()[0] == f"{place.topic}: {elsewhere / place.topic}.yaml, from 1 sampled record"
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == sorted(names[1:])
    assert f"did you mean '{place.topic}'" in done.stderr


@pytest.mark.verify
def test_without_a_name_it_says_which_there_are(place: Place) -> None:
    place.create()
    with pytest.raises(SpecError, match=r"No topic is given\. Topics without a spec: .*topic_"):
        run("import")
    with pytest.raises(SpecError, match="--all cannot be combined"):
        run("import", "--all", place.topic)
    everything = json.loads(run("import", "--all", "-o", "json").stdout)
    assert place.topic in {refused["topic"] for refused in everything["refused"]}
    assert not [refused for refused in everything["refused"] if refused["topic"].startswith("__")]


def test_a_difference_is_an_exit_code_of_its_own(place: Place) -> None:
    place.create(2, **{"retention.ms": "604800000", "cleanup.policy": "delete", **BOUND})
    file = place.bench.include / "topics/orders.yaml"
    file.rename(file.with_name(f"{place.topic}.yaml"))
    for path in ("topics", "feeds", "pipelines"):
        for spec in (place.bench.include / path).glob("*.yaml"):
            edit(spec, ": orders\n", f": {place.topic}\n")
    assert said("check") == "1 topic is as declared.\n"
    with KafkaPythonAdministration([place.broker.bootstrap]) as administration:
        administration.set_configs(place.topic, {"retention.ms": "1000"})
    done = run("check", "-o", "json")
    assert done.exit_code == 5
    (difference,) = json.loads(done.stdout)["differences"]
    assert (difference["value"], difference["current"], difference["wanted"]) == ("retention.ms", "1000", "604800000")


def test_a_topic_is_described_with_every_partition(place: Place) -> None:
    place.create(2, **{"retention.ms": "-1"})
    place.send(b"a", b"b", partition=1)
    found = json.loads(said("describe", place.topic, "-o", "json"))
    assert found["declared_in"] is None
    assert found["records"] == 2
    assert found["partition_list"] == [
        {"partition": 0, "leader": 1, "replicas": [1], "in_sync": [1], "first": 0, "next": 0},
        {"partition": 1, "leader": 1, "replicas": [1], "in_sync": [1], "first": 0, "next": 2},
    ]
    shown = [line.split() for line in said("describe", place.topic).splitlines()]
    assert shown[0] == [place.topic, "2", "partitions,", "replication", "1,", "2", "records"]
    assert shown[-2:] == [["0", "1", "1", "1", "0", "0"], ["1", "1", "1", "1", "0", "2"]]
    all_of_them = run("describe")
    assert "declared but missing: orders" in all_of_them.stderr
    with pytest.raises(SpecError, match=f"did you mean '{place.topic}'"):
        run("describe", f"{place.topic}x")


def test_records_are_shown_safely_and_exactly(place: Place) -> None:
    place.create(1)
    place.send(b"old", b"older")
    place.send(b"\x1b[31m\xff", key=b"k", headers=[("h", b"\x07")], timestamp_ms=1_357_560_000_005)
    place.send(None, key=b"k", timestamp_ms=1_357_560_000_005)
    evil, tombstone = said("tail", place.topic, "-n", "2").splitlines()
    assert evil == r"2013-01-07T12:00:00.005Z  0/2  k  [h=\x07]  \x1b[31m\xff"
    assert tombstone == "2013-01-07T12:00:00.005Z  0/3  k  (tombstone)"
    exact = [json.loads(line) for line in said("tail", place.topic, "-n", "2", "-o", "json").splitlines()]
    assert exact[0]["value_base64"] == "G1szMW3/"
    assert (exact[1]["value"], exact[1]["offset"]) == (None, 3)
    assert len(said("tail", place.topic, "--key", "k").splitlines()) == 2
    from_an_offset = run("tail", place.topic, "--from", "0", "-n", "1")
    assert from_an_offset.stdout.endswith("0/0  old\n")
    assert "There may be more" in from_an_offset.stderr
    with pytest.raises(SpecError, match=f"did you mean '{place.topic}'"):
        run("tail", f"{place.topic}x")


def test_nobody_notices_who_looks(place: Place) -> None:
    place.create(1)
    place.send(b"a")
    with closing(KafkaAdminClient(bootstrap_servers=place.broker.bootstrap)) as client:
        before = {group["group_id"] for group in client.list_groups()}
        assert said("tail", place.topic)
        assert {group["group_id"] for group in client.list_groups()} == before


@contextmanager
def following(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Queue[str], Queue[str]]]:
    """Run `sluice topics tail -f` as a process, and queue its lines as they come: stdout, then stderr."""
    code = "import sys; from sluice.cli.main import main; sys.argv[0] = 'sluice'; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "topics", "tail", "-f", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    queues: tuple[Queue[str], Queue[str]] = (Queue(), Queue())
    readers = [
        Thread(target=lambda stream=stream, queue=queue: [queue.put(line) for line in stream], daemon=True)
        for stream, queue in zip((process.stdout, process.stderr), queues, strict=True)
    ]
    for reader in readers:
        reader.start()
    try:
        yield process, *queues
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join(10)


@pytest.mark.verify
def test_it_follows_through_a_restart_of_the_broker_until_it_is_interrupted(
    tmp_path: Path, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = BrokerProcess(tmp_path / "kafka", *free_ports(), settings().jars)
    broker.prepare()
    place = prepared(tmp_path / "project", broker, topic_name, monkeypatch)
    with running(broker) as first:
        place.create(1)
        place.send(b"before")
        with following(place.topic, "-n", "1") as (process, lines, notes):
            assert lines.get(timeout=120).endswith("0/0  before\n")
            place.send(b"while it follows")
            assert lines.get(timeout=120).endswith("0/1  while it follows\n")
            first.terminate()
            assert "It is tried again until a broker answers." in notes.get(timeout=120)
            first.wait(30)
            with running(broker):
                place.send(b"after")
                assert lines.get(timeout=120).endswith("0/2  after\n")
                assert notes.get(timeout=120) == "The brokers answer again.\n"
                process.send_signal(signal.SIGINT)
                assert process.wait(30) == 0
        assert (lines.empty(), notes.empty()) == (True, True)
