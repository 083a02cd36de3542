"""A missed deadline is one alert, repeated daily, until the stream meets it again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import Deadline
from sluice.streams.health.health import Health
from sluice.streams.health.snapshots import DeadlineState, StreamSnapshot
from sluice.streams.health.verdict import Verdict
from tests.unit.airflow.alerts.alerting_airflow import Airflow, Flights, Pager


class Deadlines:
    """A watcher of departures, which misses a deadline or meets it again."""

    def __init__(self, airflow: Airflow) -> None:
        self.airflow, self.clock = airflow, airflow.twin.clock
        self.flights = Flights(airflow)

    def minutes(self, count: int, *, missed: bool | None, since: datetime | None = None) -> None:
        """Let minutes pass, each with an observation that says this of the deadline, and a round."""
        since = since or self.clock.now()
        for _ in range(count):
            verdict, at = Verdict(Health.LAGGING, "It falls behind.", "give it more cores"), self.clock.now()
            lasts = f"The first unread record waits for {(at - since).total_seconds():.0f} s."
            states = () if missed is None else (DeadlineState(Deadline.LOSS_RISK, missed, since, lasts, "look"),)
            snapshot = StreamSnapshot("flights", "departures", 1, at, verdict, since=since, deadlines=states)
            cast(Project, self.airflow.twin).records.snapshots().store([snapshot])
            self.airflow.rounds()

    def alerts(self) -> list[Alert]:
        return [alert for alert in self.airflow.told() if alert.alert_class is AlertClass.DEADLINE]


def test_a_missed_deadline_is_told_with_what_why_evidence_where_and_what_to_do(airflow: Airflow) -> None:
    watched = Deadlines(airflow)
    watched.minutes(2, missed=True)
    (alert,) = watched.alerts()
    assert alert.level is Level.STATE
    assert alert.what == "Stream departures misses its deadline loss_risk (unit flights)"
    assert alert.why == "The first unread record waits for 0 s."
    assert alert.evidence[:2] == (
        f"since {watched.clock.now() - timedelta(minutes=2):%Y-%m-%d %H:%M:%S} UTC",
        "verdict now: LAGGING. It falls behind.",
    )
    assert alert.where.endswith("/dags/stream_flights")
    assert (alert.what_to_do, alert.owner) == ("give it more cores", "flight-operations")
    history = Journal(settings().folder.alerts).read()
    assert history.deliveries[alert.id].outcome is DeliveryOutcome.DELIVERED


def test_meeting_a_deadline_again_is_told_as_good_news_and_what_is_not_known_ends_nothing(airflow: Airflow) -> None:
    watched = Deadlines(airflow)
    watched.minutes(3, missed=True)
    watched.minutes(10, missed=None)
    assert len(watched.alerts()) == 1
    watched.minutes(3, missed=False)
    _, met = watched.alerts()
    assert met.level is Level.RECOVERY
    assert met.what == "Stream departures meets its deadline again: loss_risk (unit flights)"
    assert (met.why, met.what_to_do) == ("The first unread record waits for 0 s.", "Nothing.")
    watched.minutes(2, missed=True)
    assert [alert.level for alert in watched.alerts()] == [Level.STATE, Level.RECOVERY, Level.STATE]


def test_a_deadline_that_stays_missed_is_repeated_daily_with_what_is_so_now(airflow: Airflow) -> None:
    watched = Deadlines(airflow)
    since = watched.clock.now()
    watched.minutes(3, missed=True)
    watched.clock.sleep((24 * 60 - 6) * 60)
    watched.minutes(6, missed=True, since=since)
    _, again = watched.alerts()
    assert again.what == "Still: Stream departures misses its deadline loss_risk (unit flights)"
    assert again.why == "The first unread record waits for 86400 s."
    assert again.evidence[0].startswith("a reminder: it began at ")


def test_a_missed_deadline_that_no_service_takes_is_told_as_soon_as_one_does(airflow: Airflow) -> None:
    pager, airflow.pager = airflow.pager, Pager(fault="out of order")
    watched = Deadlines(airflow)
    watched.minutes(7, missed=True)
    assert len(watched.alerts()) == 2, "at once, and after five minutes"
    airflow.pager = pager
    watched.minutes(6, missed=True)
    assert len(watched.alerts()) == 1
    watched.minutes(20, missed=True)
    assert len(watched.alerts()) == 1
