"""Two rounds at once send each alert once."""

from __future__ import annotations

from typing import cast

import pytest

from sluice.airflow.alerts.alert_round import alert_round
from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.alerts.alert import Level
from sluice.alerts.delivery import DeliveryOutcome, DeliveryResult
from sluice.project.project import Project
from sluice.specs.model.alerting import AlertClass
from sluice.streams.life.attempts import Desired
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Flights
from tests.unit.alerts.examples import make_alert


def test_two_rounds_at_once_tell_once(airflow: Airflow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read the journal before either has written to it."""

    def both() -> None:
        airflow.twin.clock.sleep(60)
        dispatchers = [airflow_dispatcher(airflow.twin.clock, airflow.find) for _ in range(2)]
        before = dispatchers[0].read()
        for dispatcher in dispatchers:
            first = [before]
            read = dispatcher.read
            monkeypatch.setattr(dispatcher, "read", lambda first=first, read=read: first.pop() if first else read())
            alert_round(lambda: cast(Project, airflow.twin), airflow, dispatcher)

    dispatcher = airflow_dispatcher(airflow.twin.clock, airflow.find)
    drift = {"subject": "topic t1", "alert_class": AlertClass.DRIFT, "dag_id": "topic_drift"}
    again = dispatcher.enter(make_alert("f1", at=airflow.twin.clock.now(), **drift))
    dispatcher.conclude(again, DeliveryResult(DeliveryOutcome.FAILED, "nobody answered."))
    airflow.twin.clock.sleep(600)
    both()
    assert [alert.id for alert in airflow.told()] == ["f1"]
    airflow.told().clear()

    flights = Flights(airflow)
    flights.dies()
    both()
    (halted,) = flights.titles()
    airflow.twin.clock.sleep(86_400)
    both()
    assert flights.titles() == [halted, f"Still: {halted}"]
    airflow.twin.records.registry().set_desired_state("flights", Desired.STOPPED, by="ada", why="enough")
    both()
    assert flights.titles() == [halted, f"Still: {halted}", f"Over: {halted}"]
    airflow.ends("topics", "r1", "failed")
    for _ in range(10):
        both()
    lost = [alert.what for alert in airflow.told() if alert.level is Level.DAG]
    assert lost == ["A run of DAG topics failed without an alert"]
