"""A halted unit is one alert until it works again or no spec declares it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.alerts.alert import Level
from sluice.alerts.journal import Journal
from sluice.errors import NotReadyError
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.streams.health.health import Health
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Flights, TaskInstance, still_open


def test_a_unit_that_was_resumed_is_halted_until_it_works_and_what_is_unknown_ends_nothing(airflow: Airflow) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(3, None)
    (halted,) = flights.titles()
    flights.start()
    flights.minutes(8, None)
    flights.minutes(2, Health.UNKNOWN)
    assert flights.titles() == [halted], "nobody knows yet what came of it"
    flights.minutes(7, Health.OK)
    assert flights.titles() == [halted, f"Over: {halted}"]
    assert all("UNKNOWN" not in alert.why for alert in airflow.told() if alert.level is Level.RECOVERY)
    assert still_open() == set()


@pytest.mark.parametrize("by", ["the round", "the run that watched, and then the round"])
def test_a_unit_that_halts_again_after_it_was_resumed_is_told_again_and_once(airflow: Airflow, by: str) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(2, None)
    flights.start()
    flights.dies()
    if by != "the round":
        airflow.task_callback(TaskInstance("r2", "stream_flights", "watch", succeeded=0), ValueError("it is dead"))
    flights.minutes(5, None)
    assert len(flights.titles()) == 2


def test_what_lasts_is_told_each_hour_and_not_each_minute_while_the_journal_takes_nothing(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bool:
        raise NotReadyError("The journal of alerts cannot be written: No space left on device.")

    flights = Flights(airflow)
    flights.dies()
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append_unless", full)
        flights.minutes(125, None)
        halted = flights.titles()
    assert 3 <= len(halted) <= 6, "at once, and after one hour and two"
    flights.minutes(10, None)
    assert len(flights.titles()) == len(halted) + 1, "it is on record now"


@pytest.mark.parametrize("broken", [True, False])
def test_an_alert_about_a_stream_that_no_spec_declares_any_more_is_over_unless_the_spec_is_only_broken(
    airflow: Airflow, broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(2, None)
    (halted,) = flights.titles()
    (tmp_path / "home" / "include" / "pipelines").mkdir(parents=True)
    (tmp_path / "home" / "include" / "topics").mkdir()
    if broken:
        (tmp_path / "home" / "include" / "pipelines" / "departures.yaml").write_text("name: departures\n")
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    airflow.twin.catalog = Catalog()
    airflow.rounds(2)
    assert flights.titles() == ([halted] if broken else [halted, f"Over: {halted}"])


def test_an_alert_about_a_unit_is_not_over_because_the_project_was_opened_while_its_spec_was_broken(
    airflow: Airflow,
) -> None:
    flights = Flights(airflow)
    flights.dies()
    flights.minutes(2, None)
    (halted,) = flights.titles()
    airflow.twin.catalog = Catalog()
    airflow.rounds(2)
    assert flights.titles() == [halted], "the spec is sound, and the unit is still halted"
