"""What the command line says of a settled table whose driver does not run."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.delta.log import append_entry
from sluice.intervals.arrivals import ArrivalClocks, ArrivalSpan
from sluice.intervals.entries import AdvanceEntry, ExaminedSource, SettleEntry
from sluice.project.settlers import settler_source
from sluice.settling.status import HeldAdvance, SettlingStatus, to_record
from sluice.streams.health.health import Health
from tests.twins.departures_project import DeparturesProject, hour

STATUS = SettlingStatus(
    hour(9),
    hour(4),
    complete=hour(5),
    newest=hour(9),
    due=2,
    oldest_due=hour(4),
    overdue=timedelta(minutes=45),
    due_since=hour(8),
    next_at=hour(10),
    unread=("flights/1",),
    advance=HeldAdvance("flights/0", hour(9_000)),
    disorder=timedelta(minutes=16, seconds=1),
    declared_disorder=timedelta(minutes=15),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
    return DeparturesProject.create(tmp_path, monkeypatch)


def report(place: DeparturesProject, status: SettlingStatus) -> None:
    file = place.project.folder.settling_file("departures")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(to_record(status)), encoding="utf-8")


def test_a_unit_shows_what_its_settler_waited_for_though_its_driver_is_gone(place: DeparturesProject) -> None:
    report(place, STATUS)
    said = CliRunner().invoke(app, ["streams", "show", "flights"]).stdout
    for line in (
        "departures: Settled until 2013-01-01 04:00 UTC; arrival times have reached 2013-01-01 09:00:00 UTC, and",
        "and every partition has passed 2013-01-01 05:00:00 UTC.",
        "departures: 2 intervals are due, from 2013-01-01 04:00 UTC on, the oldest by 45 min; none of them was settled",
        "since 2013-01-01 08:00:00 UTC: records of flights/1 are unread.",
        "departures: The next interval is complete when arrival times reach 2013-01-01 10:00:00 UTC.",
        "See `sluice intervals advance departures`.",
        "an arrival_disorder of 15 minutes: write `arrival_disorder: 17 minutes` under `time`",
    ):
        assert line in said, said
    assert said.count("Settled until") == 1
    shown = json.loads(CliRunner().invoke(app, ["streams", "show", "flights", "-o", "json"]).stdout)
    assert shown["streams"]["departures"]["settling"]["due"] == 2
    assert shown["streams"]["raw_flights"]["settling"] is None
    status = json.loads(CliRunner().invoke(app, ["status", "-o", "json"]).stdout)
    assert status["streams"]["departures"]["settling"]["unread"] == ["flights/1"]
    assert "settling" not in status["streams"]["raw_flights"]


def test_nothing_is_said_of_a_settler_that_has_reported_nothing(place: DeparturesProject) -> None:
    assert place.home.is_dir()
    result = CliRunner().invoke(app, ["streams", "show", "flights"])
    assert result.exit_code == 0
    assert "ettled" not in result.stdout


def test_the_disorder_that_was_measured_is_said_beside_the_one_that_is_declared(place: DeparturesProject) -> None:
    report(place, replace(STATUS, disorder=timedelta(seconds=3.2), advance=None, due=0))
    said = CliRunner().invoke(app, ["streams", "show", "flights"]).stdout
    assert "departures: The greatest disorder of arrival times was 4 seconds; 15 minutes declared." in said


DAILY = """\
name: daily
sources: {hourly: {table: departures}}
transform: daily.sql
output: {table: daily, time_column: day, window: 1 day, interval: day}
driver: reports
"""
DAILY_SQL = "SELECT window.start AS day, sum(departed) AS departed FROM hourly GROUP BY window(hour, '1 day')"


def test_a_pipeline_over_a_settled_table_rests_on_the_stream_that_settles_it(place: DeparturesProject) -> None:
    (place.home / "include" / "pipelines" / "daily.yaml").write_text(DAILY)
    (place.home / "spark_jobs" / "transforms" / "daily.sql").write_text(DAILY_SQL)
    project = place.project
    source = settler_source(project.catalog, project.folder, "daily")
    assert source is not None
    assert source.upstream == ("departures",)
    verdict = project.health.verdicts("reports")["daily"]
    assert verdict.health is Health.STOPPED, "nobody started it, and judging it is no failure"


def test_a_settler_is_found_by_its_stream_and_decisions_by_the_log_of_its_table(place: DeparturesProject) -> None:
    project, far = place.project, hour(9_000)
    for stream in ("raw_flights", "departures_live", "nobody"):
        assert settler_source(project.catalog, project.folder, stream) is None
    source = settler_source(project.catalog, project.folder, "departures")
    assert source is not None
    assert (source.pipeline, source.upstream, source.status()) == ("departures", ("raw_flights",), None)
    held = ArrivalClocks({"flights/0": hour(8)}, {"flights/1": (ArrivalSpan(far, far),)})
    place.commit(
        SettleEntry(
            "settle:departures", 1, "a", hour(0), hour(4), {"flights": ExaminedSource({"flights/0": 9}, ("t",), held)}
        )
    )
    assert not source.decided(HeldAdvance("flights/1", far))
    append_entry(place.table, AdvanceEntry(far, "ada", "it is one"))
    assert source.decided(HeldAdvance("flights/1", far))
