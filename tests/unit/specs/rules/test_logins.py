"""Who processes connect as: said once, by principals of their roles."""

from __future__ import annotations

import pytest

from tests.unit.specs.bench import DEPLOYMENT_FILE, STREAM, STREAM_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

DEPLOYMENT = """\
name: prod
kafka:
  kind: external
  bootstrap: ["kafka:9092"]
  client: {security.protocol: SSL}
  login: {user: sluice, password_variable: SLUICE_PASSWORD_ALL, mechanism: PLAIN}
  users: {stream: stream}
"""


@pytest.fixture
def secured(bench: Bench) -> Bench:
    bench.write(DEPLOYMENT_FILE, DEPLOYMENT)
    bench.write(STREAM_FILE, STREAM)
    return bench


def test_a_deployment_with_logins_is_sound(secured: Bench) -> None:
    assert secured.scan().faults == ()


@pytest.mark.parametrize(
    "case",
    [
        ("{stream: stream}", "{stream: straem}", 7, "kafka.users.stream", "no principal 'straem'"),
        ("{stream: stream}", "{feed: stream}", 7, "kafka.users.feed", "'stream' is a stream. Fix: name a principal of"),
        (
            "{stream: stream}",
            "{backfill: stream}",
            7,
            "kafka.users.backfill",
            "'stream' is a stream. Fix: name a principal of",
        ),
        (
            "{security.protocol: SSL}",
            "{sasl.mechanism: PLAIN}",
            5,
            'kafka.client["sasl.mechanism"]',
            "say who connects",
        ),
        (
            "SLUICE_PASSWORD_ALL",
            "secret",
            6,
            "kafka.login.password_variable",
            "it must be the name of a variable, in capitals",
        ),
        ("PLAIN}", "GSSAPI}", 6, "kafka.login.mechanism", "it must be 'PLAIN'"),
    ],
    ids=words,
)
def test_a_login_that_leads_nowhere_is_refused(secured: Bench, case: Case) -> None:
    assert_one_fault(secured, DEPLOYMENT_FILE, case)


@pytest.mark.parametrize("edit", ["deployments: [other]\n", "state: absent\n"])
def test_a_login_of_somebody_who_is_not_there_is_refused(secured: Bench, edit: str) -> None:
    secured.write("include/deployments/other.yaml", "name: other\nkafka: {kind: embedded}\n")
    secured.write(STREAM_FILE, STREAM + edit)
    (fault,) = secured.scan().faults
    assert "'stream' is not declared for prod" in str(fault)


def test_nobody_takes_the_embedded_clusters_administrator_away(secured: Bench) -> None:
    secured.write("include/deployments/here.yaml", "name: here\nkafka: {kind: embedded}\n")
    secured.write(STREAM_FILE, STREAM.replace("user: sluice-stream", "user: admin"))
    (fault,) = [fault for fault in secured.scan().faults if fault.where == "user"]
    assert "'admin' is the administrator of the embedded cluster of" in str(fault)
    secured.write(STREAM_FILE, STREAM.replace("user: sluice-stream", "user: admin") + "deployments: [prod]\n")
    assert secured.scan().faults == ()
