"""A deployment at a service: what would fail there is refused at its line, and what is declared for others is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.kafka.client.connection import client_arguments, producer_arguments
from sluice.project.project import Project
from sluice.settings import Settings
from sluice.specs.deployments.services import SERVICES, KafkaService
from tests.unit.specs.bench import DEPLOYMENT_FILE, STREAM, STREAM_FILE, TOPIC_FILE, Bench, sound_project
from tests.unit.specs.case import Case, assert_one_fault, words

LOGIN = "{user: $ConnectionString, password_variable: SLUICE_PASSWORD_HUBS, mechanism: PLAIN}"
EVENT_HUBS = f"""\
name: prod
kafka:
  kind: external
  profile: event_hubs
  bootstrap: ["shop.servicebus.windows.net:9093"]
  login: {LOGIN}
"""
CONFLUENT = """\
name: prod
replication: 3
kafka:
  kind: external
  profile: confluent_cloud
  bootstrap: ["pkc-1.eu.confluent.cloud:9092"]
  login: {user: KEY, password_variable: SLUICE_PASSWORD_KEY, mechanism: PLAIN}
"""


@pytest.fixture
def hubs(bench: Bench) -> Bench:
    bench.write(DEPLOYMENT_FILE, EVENT_HUBS)
    return bench


@pytest.mark.parametrize("text", [EVENT_HUBS, CONFLUENT])
def test_a_deployment_that_connects_as_its_service_asks_is_sound(bench: Bench, text: str) -> None:
    bench.write(DEPLOYMENT_FILE, text)
    assert bench.scan().faults == ()


@pytest.mark.parametrize(
    "case",
    [
        ("net:9093", "net:9092", 5, "kafka.bootstrap[0]", "write shop.servicebus.windows.net:9093."),
        ("event_hubs", "event_hub", 4, "kafka.profile", "did you mean 'event_hubs'"),
        (f"  login: {LOGIN}\n", "", 4, "kafka.profile", "Azure Event Hubs lets nobody in without a login"),
        ("mechanism: PLAIN", "mechanism: SCRAM-SHA-256", 6, "kafka.login.mechanism", "write mechanism: PLAIN."),
        ("$ConnectionString", "RootManageSharedAccessKey", 6, "kafka.login.user", "write user: $ConnectionString"),
        (
            "  login:",
            "  client: {security.protocol: PLAINTEXT}\n  login:",
            6,
            'kafka.client["security.protocol"]',
            "only",
        ),
    ],
    ids=words,
)
def test_what_event_hubs_would_refuse_is_refused_at_its_line(hubs: Bench, case: Case) -> None:
    assert_one_fault(hubs, DEPLOYMENT_FILE, case)


def test_users_with_passwords_of_kafkas_own_cannot_log_in_at_event_hubs(hubs: Bench) -> None:
    hubs.write(STREAM_FILE, STREAM)
    case = (
        "  login:",
        "  users: {stream: stream}\n  login:",
        6,
        "kafka.users.stream",
        "give each process a connection",
    )
    assert_one_fault(hubs, DEPLOYMENT_FILE, case)


def test_what_topics_and_principals_declare_is_no_fault_of_a_service_without_it(hubs: Bench) -> None:
    hubs.write(STREAM_FILE, STREAM)
    hubs.edit(TOPIC_FILE, "partitions: 2\n", "partitions: 2\nreplication: 3\nplacement: balanced-leaders\n")
    assert hubs.scan().faults == ()


def test_confluent_cloud_keeps_three_replicas_of_every_topic(bench: Bench) -> None:
    bench.write(DEPLOYMENT_FILE, CONFLUENT)
    case = ("replication: 3", "replication: 2", 2, "replication", "write replication: 3.")
    assert_one_fault(bench, DEPLOYMENT_FILE, case)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    bench = sound_project(tmp_path / "project")
    bench.write(DEPLOYMENT_FILE, EVENT_HUBS)
    monkeypatch.setenv("SLUICE_PASSWORD_HUBS", "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKey=aGk=")
    return Project.open_strict(Settings(home=bench.home, deployment="prod"))


def test_the_profile_gives_the_settings_that_microsoft_recommends(project: Project) -> None:
    client = project.kafka.client()
    arguments = producer_arguments(client)
    assert arguments["security_protocol"] == "SASL_SSL"
    assert arguments["sasl_mechanism"] == "PLAIN"
    assert arguments["sasl_plain_username"] == "$ConnectionString"
    assert arguments["sasl_plain_password"].endswith("SharedAccessKey=aGk=")
    assert arguments["metadata_max_age_ms"] < 240_000
    assert arguments["connections_max_idle_ms"] < 240_000
    assert arguments["request_timeout_ms"] == 60_000
    assert arguments["max_request_size"] < 1_046_528
    assert "max_request_size" not in client_arguments(client)


@pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.title)
def test_every_setting_of_a_profile_is_known_to_pythons_client(service: KafkaService) -> None:
    assert len(producer_arguments(service.client)) == len(service.client)
