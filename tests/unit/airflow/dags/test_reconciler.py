"""Which run the reconciler triggers, and whether somebody was told of a HALT already."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from sluice.airflow.dags.reconciler import notified, run_to_trigger
from sluice.alerts.journal import Journal
from sluice.settings import settings
from sluice.streams.life.reconcile import ActionKind, Correction
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
