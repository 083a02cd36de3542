from __future__ import annotations

import json
from pathlib import Path
from typing import Self

import pytest
import typer
from typer.testing import CliRunner, Result

from sluice.cli.topics.check import check
from sluice.errors import NotReadyError
from sluice.project.kafka import ProjectKafka
from sluice.topics.administration import TopicCreation
from tests.twins.kafka_administration import InMemoryKafkaAdministration
from tests.unit.specs.bench import DEPLOYMENT_FILE, FEED_FILE, TOPIC_FILE, Bench, sound_project

KEPT = {"retention.ms": "604800000", "cleanup.policy": "delete", "message.timestamp.after.max.ms": "600000"}


class Cluster(InMemoryKafkaAdministration):
    """A cluster that is closed when it is no longer asked."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    monkeypatch.setenv("SLUICE_DEPLOYMENT", "prod")
    return sound_project(tmp_path)


@pytest.fixture
def cluster(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    assert bench
    cluster = Cluster()
    monkeypatch.setattr(ProjectKafka, "administration", lambda _: cluster)
    return cluster


@pytest.fixture
def nobody(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever asks a cluster be refused."""

    def refuse(_kafka: ProjectKafka) -> None:
        raise NotReadyError("The stack is not up.")

    assert bench
    monkeypatch.setattr(ProjectKafka, "administration", refuse)


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(check)
    return CliRunner().invoke(app, list(arguments))


def test_topics_as_declared_are_well(cluster: Cluster) -> None:
    cluster.create([TopicCreation("orders", 2, 1, KEPT)])
    result = run()
    assert (result.exit_code, result.stdout) == (0, "1 topic is as declared.\n")
    result = run("-o", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (
        0,
        {"ok": True, "declared": 1, "differences": [], "unable": [], "faults": []},
    )


def test_every_difference_is_reported_and_nothing_is_changed(cluster: Cluster, bench: Bench) -> None:
    text = (bench.include / "topics/orders.yaml").read_text().replace("orders", "lost")
    bench.write("include/topics/lost.yaml", text.replace("driver: shop", "driver: lost"))
    cluster.create([TopicCreation("orders", 3, 1, {"retention.ms": "1000", "cleanup.policy": "delete"})])
    before = dict(cluster.topics)
    result = run()
    assert result.exit_code == 5
    shape = "cleanup.policy=delete, message.timestamp.after.max.ms=600000, retention.ms=604800000"
    assert result.stdout.splitlines() == [
        f"lost: create with 2 partitions, replication 1, {shape}",
        "orders: message.timestamp.after.max.ms is unset, declared 600000",
        "orders: partitions is 3, declared 2",
        "orders: retention.ms is 1000, declared 604800000",
        "2 topics differ from the specs; `sluice topics plan` says what each change risks.",
    ]
    result = run("-o", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["ok"], found["declared"]) == (5, False, 2)
    assert [(d["topic"], d["value"], d["current"], d["risk"]) for d in found["differences"]] == [
        ("lost", "topic", "absent", "safe"),
        ("orders", "message.timestamp.after.max.ms", "unset", "safe"),
        ("orders", "partitions", "3", "refused"),
        ("orders", "retention.ms", "1000", "safe"),
    ]
    assert cluster.topics == before


@pytest.mark.usefixtures("nobody")
def test_offline_no_cluster_is_asked() -> None:
    result = run("--offline")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "The specs are sound; no cluster was checked.\n"
    assert json.loads(run("--offline", "-o", "json").stdout) == {
        "ok": True,
        "declared": 1,
        "differences": None,
        "unable": None,
        "faults": [],
    }


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("where", [("--offline",), ()])
def test_all_faults_of_all_files_are_reported_without_a_cluster(bench: Bench, where: tuple[str, ...]) -> None:
    bench.edit(TOPIC_FILE, "partitions: 2", "partitions: 0")
    bench.edit(FEED_FILE, "topic: orders", "topic: orderz")
    bench.write(DEPLOYMENT_FILE, (bench.home / DEPLOYMENT_FILE).read_text() + "topology: racks.json\n")
    result = run(*where)
    assert result.exit_code == 2
    told = result.stderr.splitlines()
    assert [line.partition(": ")[0] for line in told[:-1]] == [
        f"{DEPLOYMENT_FILE}:1",
        f"{FEED_FILE}:2",
        f"{TOPIC_FILE}:2",
    ]
    assert "racks.json cannot be read" in told[0]
    assert told[-1] == "3 faults in the specs; no cluster was checked."
    result = run(*where, "-o", "json")
    assert result.exit_code == 2
    assert [fault["file"] for fault in json.loads(result.stdout)["faults"]] == [DEPLOYMENT_FILE, FEED_FILE, TOPIC_FILE]


def test_a_cluster_that_does_not_answer_is_no_difference(cluster: Cluster) -> None:
    cluster.reachable = False
    result = run()
    assert result.exit_code != 5
    assert "could be reached" in str(result.exception)


def test_what_the_service_does_not_do_is_named_and_no_difference(bench: Bench, cluster: Cluster) -> None:
    login = "login: {user: $ConnectionString, password_variable: SLUICE_PASSWORD_HUBS, mechanism: PLAIN}"
    bench.edit(DEPLOYMENT_FILE, "[kafka:9092]", f'["a.servicebus.windows.net:9093"]\n  profile: event_hubs\n  {login}')
    cluster.create([TopicCreation("orders", 1, 1, {"retention.ms": "1000"})])
    result = run()
    assert result.exit_code == 0
    *lines, last = result.stdout.splitlines()
    assert lines[2].startswith("- orders: partitions is 1, declared 2: not attempted, Event Hubs does not manage")
    assert last == (
        "1 topic is as declared, as far as Sluice can do it here: 4 declarations above must be seen to elsewhere."
    )
    found = json.loads(run("-o", "json").stdout)
    assert (found["ok"], found["differences"]) == (True, [])
    assert [each["value"] for each in found["unable"]] == [
        "cleanup.policy",
        "message.timestamp.after.max.ms",
        "partitions",
        "retention.ms",
    ]
