"""Which run the reconciler triggers, and whether somebody was told of a HALT already."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sluice.airflow.dags import reconciler
from sluice.airflow.dags.reconciler import notified, reconcile_round, run_to_trigger
from sluice.alerts.journal import Journal
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.load import scan
from sluice.streams.desired_copy import LEFT_ALONE
from sluice.streams.life.attempts import Desired
from sluice.streams.life.reconcile import ActionKind, Correction
from tests.twins.clock import ManualClock
from tests.unit.alerts.examples import NOW, make_alert


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    return Journal(settings().folder.alerts)


def test_the_run_that_tells_of_a_halt_has_the_same_id_whenever_it_is_triggered() -> None:
    halted = Correction(ActionKind.NOTIFY, "HALTED: it failed", "local.flights.g7")
    runs = [run_to_trigger("flights", halted, NOW + timedelta(minutes=n)) for n in range(2)]
    assert runs[0] == runs[1]
    assert runs[0]["trigger_run_id"] == "halted__local.flights.g7"
    assert runs[0]["conf"] == {"action": "follow", "reason": "reconciler: notify, because HALTED: it failed"}


def test_other_runs_have_an_id_of_their_minute() -> None:
    start = Correction(ActionKind.START, "it never ran")
    ids = {run_to_trigger("flights", start, NOW + timedelta(minutes=n))["trigger_run_id"] for n in range(2)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("dag_id", "since", "expected"),
    [
        ("stream_flights", NOW, True),
        ("stream_flights", NOW + timedelta(seconds=1), False),
        ("stream_weather", NOW, False),
    ],
)
def test_somebody_was_told_if_an_alert_of_the_units_dag_is_on_record_since(
    journal: Journal, dag_id: str, since: datetime, expected: bool
) -> None:
    journal.append(make_alert("a1", dag_id=dag_id, at=NOW))
    assert notified("flights", since) is expected


def test_without_a_journal_nobody_was_told(journal: Journal) -> None:
    assert not notified("flights", NOW)
    journal.folder.mkdir(parents=True)
    (journal.folder / "journal-00000001.jsonl").mkdir()
    assert not notified("flights", NOW)


class NoRuns:
    """Airflow without a run."""

    def get_dr_count(self, dag_id: str, *, run_ids: list[str] | None = None, states: list[str] | None = None) -> int:
        assert dag_id
        assert run_ids or states
        return 0

    def get_dagrun_state(self, dag_id: str, run_id: str) -> str:
        raise AssertionError(f"there is no run {run_id} of {dag_id}")


def test_a_round_restores_what_a_lost_database_wanted_before_it_decides(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert not journal.folder.exists()
    monkeypatch.setattr(reconciler, "at_connection", lambda project: project)
    monkeypatch.setattr(reconciler, "alert_round", lambda *_: None)
    clock, place = ManualClock(), settings()

    def opened() -> Project:
        return Project(place, scan(place.home / "include").catalog, clock)

    def triggered() -> list[str]:
        return [run["trigger_dag_id"] for run in reconcile_round(NoRuns(), opened, clock)]

    opened().records.registry().set_desired_state("flights", Desired.RUNNING, by="ada", why="first start")
    for file in place.state.glob("control.db*"):
        file.unlink()
    assert triggered() == []
    assert "set SLUICE_CONTROL_URL to it" in caplog.text
    clock.sleep(LEFT_ALONE.total_seconds())
    assert triggered() == ["stream_flights"]
    assert "Desired states are on record again that the control database had lost: ('flights',)" in caplog.text
    (place.state / "desired" / "units.json").write_text("nonsense")
    assert triggered() == ["stream_flights"], "a copy that cannot be read stops no round"
    assert "The desired states were not compared with their copy" in caplog.text
