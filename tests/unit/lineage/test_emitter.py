"""Events reach a server by OpenLineage's real client; one that hangs, fails or is not there harms nobody."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from openlineage.client.event_v2 import RunEvent
from openlineage.client.serde import Serde

from sluice.lineage.emitter import Emitter, lineage
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import AttemptState
from tests.twins.lineage_server import LineageServer, lineage_server
from tests.unit.lineage.subjects import STREAM, attempt
from tests.waiting import eventually

DEADLINE_SECONDS = 120.0
START, END = STREAM.started(attempt()), STREAM.ended(attempt(AttemptState.ENDED, FailureClass.STOPPED))


@pytest.fixture
def server() -> Iterator[LineageServer]:
    with lineage_server() as found:
        yield found


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():  # the client sets variables of its own
        del os.environ[name]


def configure(monkeypatch: pytest.MonkeyPatch, server: LineageServer, **retry: int) -> None:
    transport = {"type": "http", "url": server.address, "timeout": 5, "retry": {"total": 0, **retry}}
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT", json.dumps(transport))


def configured() -> Emitter:
    found = lineage()
    assert found is not None
    return found


def offer(emitter: Emitter, *events: RunEvent, expendable: bool = False) -> None:
    for event in events:
        emitter.offer(lambda event=event: [event], expendable=expendable)  # type: ignore[misc]


def test_events_arrive_in_their_order_as_they_were_made(server: LineageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", server.address)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "top-secret")
    emitter = configured()
    offer(emitter, START, END)
    emitter.close(DEADLINE_SECONDS)

    assert server.keys == ["Bearer top-secret"] * 2
    for event, took in zip((START, END), server.events, strict=True):
        assert took["run"]["facets"]["tags"]["tags"][0]["key"] == "openlineage_client_version"
        assert took == Serde.to_dict(event)  # the client adds its version to the event itself
    assert emitter.dropped == 0


def test_the_projects_own_file_configures_it(
    server: LineageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    assert lineage() is None
    file = tmp_path / "openlineage.yml"
    file.write_text(f"transport:\n  type: http\n  url: {server.address}\n")
    emitter = configured()
    offer(emitter, START)
    emitter.close(DEADLINE_SECONDS)
    assert server.types == [("stream.departures", "START")]


def test_a_repository_is_named_without_the_login_in_its_address(
    server: LineageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    (git / "config").write_text('[remote "origin"]\n\turl = https://ada:secret@example.org/ada/flights.git\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENLINEAGE__FACETS__SOURCE_CODE_LOCATION__DISABLED", "false")
    configure(monkeypatch, server)
    emitter = configured()
    offer(emitter, START)
    emitter.close(DEADLINE_SECONDS)
    location = server.events[0]["job"]["facets"]["sourceCodeLocation"]
    assert (location["url"], location["repoUrl"]) == ("https://example.org/ada/flights.git",) * 2


@pytest.mark.parametrize("disabled", [True, False])
def test_nothing_is_imported_where_nothing_is_configured(disabled: bool) -> None:
    code = (
        "import sys; from sluice.airflow.streams.stream_lineage import StreamLineage; "
        "from sluice.project.lineage import *; "
        "StreamLineage.configured(None).observed(None, {}); from sluice.lineage.emitter import lineage; "
        "print(lineage(), [name for name in sys.modules if name.startswith('openlineage')])"
    )
    given = {"OPENLINEAGE_URL": "http://127.0.0.1:1", "OPENLINEAGE_DISABLED": "true"} if disabled else {}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **given}
    )
    assert out.stdout.strip() == "None []"


def test_a_server_that_hangs_is_waited_for_by_nobody(
    server: LineageServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    configure(monkeypatch, server)
    server.may_answer.clear()
    emitter = configured()
    offer(emitter, START)
    assert server.asked.wait(DEADLINE_SECONDS)
    begun = time.monotonic()
    offer(emitter, *[END] * 100)
    emitter.close(0.2)
    assert time.monotonic() - begun < 2
    assert emitter.dropped == 101
    assert "101 events of lineage could not be sent within 0.2 s." in caplog.text


def test_a_server_that_fails_is_told_of_once_and_so_is_its_return(
    server: LineageServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    configure(monkeypatch, server)
    server.status = 500
    emitter = configured()
    offer(emitter, *[START] * 3)
    eventually(lambda: emitter.dropped == 3)
    server.status = 201
    offer(emitter, END, END)
    eventually(lambda: len(server.events) == 2)
    server.status = 500
    offer(emitter, START)
    emitter.close(DEADLINE_SECONDS)

    assert server.types == [("stream.departures", "COMPLETE")] * 2
    ours = [record.getMessage() for record in caplog.records if record.name == "sluice.lineage.emitter"]
    assert len(ours) == 3
    assert ours[0].startswith("An event of lineage was dropped, 1 so far; further ones are only counted. ")
    assert ours[1] == "Lineage is sent again. 3 events were lost so far."
    assert ours[2].startswith("An event of lineage was dropped, 4 so far;")


def test_what_is_logged_of_a_refusal_holds_no_password(
    server: LineageServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = 401
    server.address = server.address.replace("://", "://ada:pass-word@")
    configure(monkeypatch, server)
    emitter = configured()
    offer(emitter, START)
    eventually(lambda: "401" in caplog.text)
    assert "pass-word" not in caplog.text


def test_retries_of_the_transport_are_not_logged_one_by_one(
    server: LineageServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.address = "http://127.0.0.1:1"  # nobody listens there
    configure(monkeypatch, server, total=2, connect=2, backoff_factor=0)
    emitter = configured()
    offer(emitter, START)
    eventually(lambda: "Connection refused" in caplog.text)  # said after the event was counted
    assert emitter.dropped == 1
    assert "Retrying" not in caplog.text


class Gate:
    """Sends when it may, and keeps what it sent."""

    def __init__(self) -> None:
        self.may_send = threading.Event()
        self.asked = threading.Event()
        self.sent: list[RunEvent] = []

    def emit(self, event: RunEvent) -> None:
        self.asked.set()
        assert self.may_send.wait(DEADLINE_SECONDS)
        self.sent.append(event)

    def close(self, timeout: float) -> None:
        assert timeout > 0


def test_a_full_queue_drops_what_may_be_spared_first_and_counts_it() -> None:
    gate = Gate()
    emitter = Emitter(lambda: gate, most=4)
    offer(emitter, START)
    assert gate.asked.wait(DEADLINE_SECONDS)
    offer(emitter, *[START] * 5, expendable=True)
    assert emitter.dropped == 3
    offer(emitter, END, END, END)
    assert emitter.dropped == 4
    gate.may_send.set()
    emitter.close(DEADLINE_SECONDS)
    assert gate.sent == [START] * 3 + [END] * 2


def test_what_cannot_be_made_keeps_nothing_else_from_being_sent(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    gate.may_send.set()
    emitter = Emitter(lambda: gate)

    def broken() -> list[RunEvent]:
        raise ValueError("the embedded stack is not up")

    emitter.offer(broken)
    offer(emitter, END)
    emitter.close(DEADLINE_SECONDS)
    assert gate.sent == [END]
    assert emitter.dropped == 1
    assert "ValueError: the embedded stack is not up" in caplog.text


@pytest.mark.parametrize(
    ("text", "why"),
    [("facets: {}\n", "no transport is configured"), ("- 1\n", "holds no mapping"), ("transport: {type: no}\n", "no")],
)
def test_a_configuration_that_does_not_stand_is_told_of_and_nothing_is_sent(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "openlineage.yml").write_text(text)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    emitter = configured()
    offer(emitter, START, END)
    eventually(lambda: emitter.dropped == 2 and why in caplog.text)
