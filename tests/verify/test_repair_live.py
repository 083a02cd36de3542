"""A repair that nobody asked for: Airflow finds by its own schedule what came too late, and makes it good."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pandas as pd
import pytest
from kafka import KafkaProducer

from sluice.delta.log import read_log
from sluice.delta.reading import read_rows
from sluice.devstack.airflow.api import AirflowApi, succeeded, watching
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode, Only
from sluice.intervals.entries import BackfillEntry
from sluice.intervals.ledger import State
from sluice.project.project import Project
from sluice.settings import Settings
from tests.e2e.machine import Machine
from tests.integration.spark.conftest import publish_two_days, two_days_of_values, values_of
from tests.matrix.census import Census
from tests.matrix.recording import FaultRecorder
from tests.oracle import departures, differences, differing_hours, flights
from tests.walkthrough import Reader

pytestmark = [pytest.mark.verify, pytest.mark.timeout(1200)]

DAYS = ("2013-01-01", "2013-01-02")
FORGOTTEN = ("2013-01-01T15", "2013-01-01T20", "2013-01-02T13")
"""Hours whose flights of one airport are sent when both days are settled."""
REPAIR, BACKFILL = "repair_intervals", "backfill_departures"
SCHEDULE_SECONDS = 330
"""The DAG checks every five minutes."""


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A stack in a copy of the project; no repair starts yet."""
    copy = Reader.in_copy(tmp_path_factory.mktemp("repair") / "project")
    monkeypatch.setenv("SLUICE_HOME", str(copy.home))
    machine = Machine(copy.state)
    try:
        done = machine.sluice("up", deadline=400)
        assert done.returncode == 0, done.stderr[-4000:]
        yield machine
    finally:
        machine.sluice("down")


@pytest.fixture
def project(machine: Machine) -> Project:
    return Project.open_strict(Settings(home=machine.state.parent, state=machine.state))


@pytest.fixture
def airflow(machine: Machine) -> AirflowApi:
    return AirflowApi(machine.ask("status")["stack"]["airflow"])


@pytest.mark.proves("late-records")
def test_what_came_too_late_is_repaired_without_being_asked(
    machine: Machine, project: Project, airflow: AirflowApi, faults: FaultRecorder
) -> None:
    pause(airflow, paused=True)
    stream_all(machine, project, airflow)
    send_forgotten(project)
    machine.eventually(lambda: bool(dirty(machine)), 120)
    expected = departures(*DAYS)
    wrong = {start.to_pydatetime() for start in differing_hours(table(project), expected)}
    assert len(wrong) == len(FORGOTTEN)
    assert dirty(machine) == wrong
    faults.struck(f"{len(wrong)} closed intervals differ from the oracle, and exactly they are marked")
    assert repairs(airflow) == []

    pause(airflow, paused=False)
    machine.eventually(lambda: bool(repairs(airflow)), SCHEDULE_SECONDS)
    (run_id,) = repairs(airflow)
    airflow.wait(BACKFILL, run_id, succeeded, 240)

    assert dirty(machine) == set()
    faults.recovered()
    raw = read_rows(project.folder.table("flights_raw")).to_pandas()
    faults.counted(Census.of(two_days_of_values(), raw["value"]))
    assert_only_repaired(project, run_id, wrong)
    assert differences(table(project), expected) == []
    assert {run["run_type"] for run in runs(airflow, REPAIR)} == {"scheduled"}

    # There is nothing left to repair.
    version = project.tables.ledger("departures").version
    again = airflow.wait(REPAIR, airflow.trigger(REPAIR), succeeded, 120)
    assert dict(again.tasks) == {"decide": "skipped", "trigger": "skipped"}
    assert repairs(airflow) == [run_id]
    assert project.tables.ledger("departures").version == version


def stream_all(machine: Machine, project: Project, airflow: AirflowApi) -> None:
    """Fill the topic, start the stream, and wait until it has read everything and closed every interval."""
    publish_two_days(project.kafka.bootstrap()[0], without=forgotten)
    conf = {"action": "start", "reason": "a test"}
    airflow.wait("stream_flights", airflow.trigger("stream_flights", conf), watching, 120)
    last = departures(*DAYS)["hour"].max() + pd.Timedelta(hours=1)

    def settled() -> bool:
        closed = project.tables.ledger("departures").closed_until
        lags = {verdict.lag_records for verdict in project.health.verdicts("flights").values()}
        return lags == {0} and closed is not None and closed >= last

    machine.eventually(settled, 180)


def forgotten(flight: Mapping[str, object]) -> bool:
    """Whether a flight is sent only at the end: all on time, whatever their delay."""
    return str(flight["scheduled_at"]).startswith(FORGOTTEN) and flight["origin"] == "JFK"


def send_forgotten(project: Project) -> None:
    producer = KafkaProducer(bootstrap_servers=list(project.kafka.bootstrap()))
    for value in filter(forgotten, values_of(flights(*DAYS))):
        producer.send("flights", key=str(value["carrier"]).encode(), value=json.dumps(value).encode())
    producer.close()


def assert_only_repaired(project: Project, run_id: str, wrong: set[datetime]) -> None:
    """One backfill, on record as the run's, has recomputed the dirty intervals and no other."""
    (backfill,) = project.records.backfills().recent("departures")
    asked = backfill.request
    assert (asked.mode, asked.only, backfill.state) == (Mode.RECOMPUTE, Only.DIRTY, BackfillState.DONE)
    assert run_id in backfill.key
    assert asked.why.startswith("repair of ")
    entries = [logged.entry for logged in read_log(project.folder.table("departures"))]
    (published,) = [entry for entry in entries if isinstance(entry, BackfillEntry)]
    assert (published.backfill, set(published.content)) == (backfill.id, wrong)
    code, rows = project.code_of("departures"), project.tables.ledger("departures").rows
    assert {start for start, row in rows.items() if row.state(code) is State.PUBLISHED} == wrong
    assert {row.state(code) for start, row in rows.items() if start not in wrong} == {State.CLOSED}


def pause(airflow: AirflowApi, *, paused: bool) -> None:
    airflow._wait_until_known(REPAIR)
    airflow._call("PATCH", f"/dags/{REPAIR}", {"is_paused": paused})


def runs(airflow: AirflowApi, dag_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = airflow._call("GET", f"/dags/{dag_id}/dagRuns?limit=100")["dag_runs"]
    return found


def repairs(airflow: AirflowApi) -> list[str]:
    """Return the runs of the backfill's DAG that a repair has made."""
    return [run_id for run_id in airflow.runs(BACKFILL) if run_id.startswith("repair__")]


def dirty(machine: Machine) -> set[datetime]:
    """Return the intervals that the command line says are dirty."""
    listing = machine.ask("intervals", "list", "departures", "--state", "dirty")["departures"]
    return {datetime.fromisoformat(row["from"]) for row in listing["intervals"]}


def table(project: Project) -> pd.DataFrame:
    return read_rows(project.folder.table("departures")).to_pandas()
