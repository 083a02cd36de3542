"""Two days of the demo, as a user runs it: real broker, real Airflow, real Spark, in a private state folder."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

from sluice.devstack.airflow.api import AirflowApi, watching
from sluice.devstack.kafka.admin import administrator
from tests.e2e.machine import Machine
from tests.oracle import departures, differences, flights

DAYS = ("2013-01-01", "2013-01-02")


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("demo") / "state")
    yield machine
    machine.sluice("down")


@pytest.mark.timeout(1200)
def test_the_demo_tells_the_truth_and_leaves_nothing_behind(machine: Machine) -> None:
    expected, sent = departures(*DAYS, with_late=True), flights(*DAYS)
    too_late = sent[sent["dep_delay"] > 180]
    late = len(too_late)

    report = machine.demo(DAYS)
    assert report["ok"] is True
    assert report["produced"] == len(sent)
    assert report["raw"] == {"records": len(sent) + 1, "undecodable": 0}
    assert report["validation"] == {"good": len(sent) - late, "quarantined": 0, "late": late, "control": 1}
    assert report["stream"]["verdict"] in {"OK", "IDLE"}
    assert report["stream"]["generation"] == 1
    hours = (expected["hour"].max() - expected["hour"].min()) // pd.Timedelta(hours=1) + 1
    assert report["intervals"] == {"closed": hours, "published": too_late["hour_utc"].nunique(), "dirty": 0}
    assert report["parity"] == {"verify": "identical", "correct": "explained", "late_records": late, "unexplained": 0}
    assert report["quality"]["passed"] >= 5
    assert report["quality"]["failed"] == 0
    assert differences(machine.table(report, "departures"), expected) == []
    assert len(machine.table(report, "flights_raw")) == len(sent) + 1
    assert machine.table(report, "departures_live").empty, "every hour is closed"

    # A second run of the stream's DAG adopts the driver.
    api = AirflowApi(machine.ask("status")["stack"]["airflow"])
    api.wait("stream_flights", api.trigger("stream_flights"), watching, 120)
    assert [attempt["generation"] for attempt in machine.ask("streams", "show", "flights")["attempts"]] == [1]

    # Its batches ran in the warm engine, which is a part of the stack.
    assert machine.ask("status")["stack"]["components"]["warm engine"] == "RUNNING"
    logs = [log.read_text() for log in machine.state.glob("logs/tasks/dag_id=backfill_departures/**/attempt=*.log")]
    assert sum("session='the warm engine'" in log for log in logs) == 2

    # A stop is graceful and on record, and `down` leaves nothing behind.
    assert machine.sluice("streams", "stop", "flights").returncode == 0
    streams = machine.ask("status")["streams"]
    assert {stream["verdict"] for stream in streams.values()} == {"STOPPED"}
    assert machine.sluice("down").returncode == 0
    assert machine.processes() == []


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_a_second_demo_goes_on_from_the_checkpoint_sends_nothing_and_ends_the_same(machine: Machine) -> None:
    report = machine.demo(DAYS)
    assert machine.sluice("streams", "stop", "flights").returncode == 0
    again = machine.demo(DAYS, "--exit")
    same = ("ok", "produced", "raw", "validation", "intervals", "quality", "tables")
    assert {key: again[key] for key in same} == {key: report[key] for key in same}
    assert again["stream"]["generation"] == report["stream"]["generation"] + 1
    assert again["parity"]["correct"] == "identical"  # what came too late is in already
    assert differences(machine.table(again, "departures"), departures(*DAYS, with_late=True)) == []
    assert len(machine.table(again, "flights_raw")) == len(flights(*DAYS)) + 1
    assert machine.processes() == []


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_the_demo_works_with_brokers_that_ask_who_connects_and_tells_nobody_the_password(machine: Machine) -> None:
    assert machine.sluice("up", "--brokers", "2", "--secure", deadline=400).returncode == 0
    report = machine.demo(DAYS)
    assert report["ok"] is True
    assert report["parity"]["verify"] == "identical"
    assert differences(machine.table(report, "departures"), departures(*DAYS, with_late=True)) == []

    # Whoever shows a plan, an error, a record or a page had many occasions by now.
    kafka = machine.state / "kafka"
    password = administrator(kafka).password
    files = (path for path in machine.state.rglob("*") if path.is_file() and password.encode() in path.read_bytes())
    known = {kafka / "admin.properties", kafka / "server.properties", kafka / "broker-2" / "server.properties"}
    assert set(files) == known

    # Opened again, everything goes on as before; a stream that was running runs.
    assert machine.sluice("up", "--no-secure", deadline=400).returncode == 0
    machine.eventually(lambda: machine.ask("status")["streams"]["departures"]["verdict"] in {"OK", "IDLE"}, 240)
    assert [attempt["generation"] for attempt in machine.ask("streams", "show", "flights")["attempts"]] == [2, 1]
    assert machine.sluice("down").returncode == 0
    assert machine.processes() == []
