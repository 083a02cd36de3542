"""An error budget that burns is one alert, which ends when it burns no longer, and never for lack of evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import cast

import pytest
from sqlalchemy.exc import OperationalError

from sluice.alerts.alert import Alert, Level
from sluice.objectives.standing import OutputObjective, output_objectives
from sluice.project.project import Project
from sluice.specs.catalog.objectives import declared_objectives
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import Objective, StreamDeadlines
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Desired
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Flights

FAST, SLOW = AlertClass.FAST_BURN, AlertClass.SLOW_BURN


class Burning:
    """A unit whose pipeline has an objective, and a watcher that sees how long records wait."""

    def __init__(self, airflow: Airflow) -> None:
        self.airflow, self.twin = airflow, airflow.twin
        departures = self.twin.catalog.pipelines["departures"]
        promised = departures.model_copy(
            update={
                "objective": Objective(share=Decimal("99.9")),
                "deadlines": StreamDeadlines(lag=timedelta(minutes=10)),
            }
        )
        pipelines = {**self.twin.catalog.pipelines, "departures": promised}
        self.twin.catalog = replace(self.twin.catalog, pipelines=pipelines)
        Flights(airflow)

    def minutes(self, count: int, *, waits: float | None, health: Health = Health.OK) -> None:
        """Let minutes pass; for None the watcher is gone."""
        since = self.twin.clock.now()
        for _ in range(count):
            if waits is not None:
                verdict = Verdict(health, "Seen.", lag_records=1, lag_seconds=waits)
                at = self.twin.clock.now()
                snapshots = [
                    StreamSnapshot("flights", s, 1, at, verdict, since=since) for s in ("departures", "departures_live")
                ]
                cast(Project, self.twin).records.snapshots().store(snapshots)
            self.airflow.rounds()

    def alerts(self, alert_class: AlertClass, output: str = "departures/departures") -> list[Alert]:
        ours = [alert for alert in self.airflow.told() if alert.alert_class is alert_class]
        return [alert for alert in ours if alert.subject == f"output {output}"]

    def outputs(self) -> dict[str, OutputObjective]:
        project = cast(Project, self.twin)
        declared = declared_objectives(project.catalog)
        found = output_objectives(declared, project.records.objectives(), self.twin.clock.now())
        return {each.declared.name: each for each in found}


def test_a_budget_that_burns_fast_is_told_once_and_its_end_when_it_burns_no_longer(airflow: Airflow) -> None:
    burning = Burning(airflow)
    burning.minutes(10, waits=0.0)
    assert burning.alerts(FAST) == burning.alerts(SLOW) == []
    burning.minutes(10, waits=900.0)
    (alert,) = burning.alerts(FAST)
    assert (alert.level, alert.owner) == (Level.STATE, "flight-operations")
    assert alert.what == "Output departures/departures quickly uses up its error budget (99.9 % over 30 days)"
    assert "Burn rate: " in alert.why
    assert "x over 1h and " in alert.why
    assert alert.what_to_do.endswith("sluice streams show flights")
    assert alert.runbook.endswith("#error-budget")
    assert len(burning.alerts(FAST, "departures/departures_live")) == 1
    burning.minutes(6, waits=0.0)
    assert len(burning.alerts(FAST)) == 1, "six hours and thirty minutes still burn"
    burning.minutes(30, waits=0.0)
    _, end = burning.alerts(FAST)
    assert end.level is Level.RECOVERY
    assert end.why.startswith("It burns no longer. Of its error budget of 43 min 3")
    assert [alert.level for alert in burning.alerts(SLOW)] == [Level.STATE], "the three days still do"


def test_a_watcher_that_is_gone_ends_no_alert_and_its_minutes_are_unknown(airflow: Airflow) -> None:
    burning = Burning(airflow)
    burning.minutes(10, waits=900.0)
    burning.minutes(120, waits=None)
    assert [alert.level for alert in burning.alerts(FAST)] == [Level.STATE]
    window = burning.outputs()["departures/departures"].standing.window
    assert timedelta(minutes=9) <= window.bad <= timedelta(minutes=14)
    assert window.good == timedelta()
    assert window.bad + window.unknown == timedelta(days=30)


def test_a_unit_that_a_person_stops_burns_nothing_any_more(airflow: Airflow) -> None:
    burning = Burning(airflow)
    burning.minutes(10, waits=900.0)
    registry = burning.twin.records.registry()
    registry.set_desired_state("flights", Desired.STOPPED, by="ada", why="not needed")
    registry.end("flights", 1, exit_code=0, reason="stopped")
    burning.minutes(60, waits=None)
    assert [alert.level for alert in burning.alerts(FAST)] == [Level.STATE, Level.RECOVERY]
    assert burning.outputs()["departures/departures"].standing.window.unwanted >= timedelta(minutes=55)


def test_an_output_says_for_itself_what_is_asked_of_it(airflow: Airflow) -> None:
    burning = Burning(airflow)
    catalog = burning.twin.catalog
    departures = catalog.pipelines["departures"]
    own = Objective(share=Decimal(95), window=timedelta(days=7), counts="fresh")
    table, live = departures.outputs
    outputs = (table, live.model_copy(update={"objective": own}))
    pipelines = {"departures": departures.model_copy(update={"outputs": outputs})}
    found = {each.name: each for each in declared_objectives(replace(catalog, pipelines=pipelines))}
    assert found["departures/departures_live"].objective == own
    assert found["departures/departures_live"].stream == "departures_live"
    assert found["departures/departures"].objective == departures.objective


def test_a_record_that_cannot_be_written_holds_back_no_other_alert(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    burning = Burning(airflow)

    def refuse(*_arguments: object) -> None:
        raise OperationalError("", {}, OSError("the disk is full"))

    monkeypatch.setattr("sluice.control.objectives.SqlObjectiveLog.observe", refuse)
    burning.minutes(5, waits=900.0, health=Health.STALLED)
    assert AlertClass.STALLED in {alert.alert_class for alert in airflow.told()}
    assert burning.outputs()["departures/departures"].standing.window.bad == timedelta()
