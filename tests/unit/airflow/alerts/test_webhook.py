"""Webhooks, at a real HTTP server: what a program gets, how it recognises a repetition, and which answers count."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from airflow.sdk import Connection

from sluice.airflow.alerts.delivery import deliver
from sluice.airflow.alerts.webhook import Webhook
from sluice.alerts.alert import Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.errors import SluiceError
from sluice.specs.model.alerting import AlertClass, Channel
from tests.integration.sink import Sink, running_sink
from tests.unit.alerts.examples import NOW, make_alert

TOKEN = "token-8271"  # noqa: S105 - of no service
ROW = {"payment": "p1", "card": "4711", "amount": 950.0, "reasons": ["velocity"]}
SUSPICION = make_alert(
    "3f9a",
    level=Level.STATE,
    subject='pipeline judged_payments, alert suspicious_payment ["p1"]',
    alert_class=AlertClass.DATA,
    since=NOW,
    row=ROW,
)


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as sink:
        yield sink


def connection(sink: Sink, **fields: Any) -> Connection:  # noqa: ANN401 - those of Connection
    given = {"host": "127.0.0.1", "port": sink.server_port, **fields}
    return Connection(conn_id="bank", conn_type="http", **given)


def test_a_program_gets_the_row_under_the_id_of_the_alert(sink: Sink) -> None:
    hook = Webhook(connection(sink))
    assert [hook.send(SUSPICION), hook.send(SUSPICION)] == ["", ""]
    first, again = sink.received
    assert first == again
    assert first["row"] == ROW
    expected = ("3f9a", "begun", "data", SUSPICION.subject, NOW.isoformat())
    assert (first["id"], first["state"], first["class"], first["subject"], first["since"]) == expected
    assert [headers["idempotency-key"] for _, headers in sink.requests] == ["3f9a", "3f9a"]
    assert {headers["content-type"] for _, headers in sink.requests} == {"application/json"}


@pytest.mark.parametrize(
    ("level", "state"),
    [(Level.RECOVERY, "over"), (Level.TEST, "test"), (Level.STATE, "begun"), (Level.TASK, "begun")],
)
def test_the_state_says_whether_it_has_begun(sink: Sink, level: Level, state: str) -> None:
    Webhook(connection(sink)).send(make_alert(level=level))
    assert (sink.received[0]["state"], sink.received[0]["row"]) == (state, None)


def test_login_token_and_headers_are_those_of_the_connection(sink: Sink) -> None:
    Webhook(connection(sink, login="ada", password=TOKEN)).send(SUSPICION)
    Webhook(connection(sink, password=TOKEN, extra=json.dumps({"X-Tenant": "eu"}))).send(SUSPICION)
    Webhook(connection(sink, extra=json.dumps({"headers": {"X-Tenant": "us"}}))).send(SUSPICION)
    basic, bearer, neither = (headers for _, headers in sink.requests)
    assert basic["authorization"] == "Basic " + base64.b64encode(f"ada:{TOKEN}".encode()).decode()
    assert (bearer["authorization"], bearer["x-tenant"]) == (f"Bearer {TOKEN}", "eu")
    assert (neither["authorization"], neither["x-tenant"]) == (None, "us")


@pytest.mark.parametrize("host", ["http://127.0.0.1/hooks/in?v=1", "127.0.0.1/hooks/in?v=1"])
def test_an_address_may_have_a_path(sink: Sink, host: str) -> None:
    assert Webhook(connection(sink, host=host)).send(SUSPICION) == ""
    assert sink.requests[0][0] == "/hooks/in?v=1"


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 500, 503])
def test_only_a_2xx_counts_and_a_redirect_is_not_followed(sink: Sink, status: int) -> None:
    sink.status, sink.answer = status, f"no: {TOKEN} is not known".encode()
    failure = Webhook(connection(sink, password=TOKEN)).send(SUSPICION)
    assert failure == f"it answered {status}: no: *** is not known"
    assert len(sink.received) == 1


def test_a_server_that_is_gone_is_a_failure_that_quotes_no_address() -> None:
    with running_sink() as gone:
        hook = Webhook(connection(gone, host="http://127.0.0.1/secret-path-8271"))
    failure = hook.send(SUSPICION)
    assert failure.startswith("ConnectError: ")
    assert "8271" not in failure


@pytest.mark.parametrize("host", ["http://[::1/x", "http://a\nb/", "ftp://127.0.0.1/x"])
def test_an_address_that_is_none_is_a_failure_and_no_crash(sink: Sink, host: str) -> None:
    assert Webhook(connection(sink, host=host)).send(SUSPICION)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"host": ""}, "the HTTP connection bank has no host."),
        ({"extra": json.dumps({"verify": False})}, "the extra of the HTTP connection bank is no object of headers."),
        ({"extra": json.dumps({"headers": ["a"]})}, "the extra of the HTTP connection bank is no object of headers."),
    ],
)
def test_a_connection_that_is_none_is_refused(sink: Sink, fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(SluiceError) as caught:
        Webhook(connection(sink, **fields))
    assert str(caught.value) == fault


def test_a_channel_of_an_http_connection_is_a_webhook(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = {"conn_type": "http", "host": "127.0.0.1", "port": sink.server_port}
    monkeypatch.setenv("AIRFLOW_CONN_BANK", json.dumps(bank))
    finding = deliver(SUSPICION, [Channel(connection="bank")])
    assert (finding.outcome, finding.detail) == (DeliveryOutcome.DELIVERED, "delivered to HTTP.")
    assert [each["id"] for each in sink.received] == ["3f9a"]
