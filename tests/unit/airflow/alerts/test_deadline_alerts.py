"""Deadlines reach the journal and a service, and nobody waits for it. The project is one in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from sluice.airflow.alerts.deadline_alerts import DeadlineAlerts
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import DeliveryOutcome
from sluice.alerts.journal import Journal
from sluice.project.project import Project
from sluice.settings import settings
from sluice.streams.deadlines.deadlines import DeadlineState
from sluice.streams.deadlines.notices import Notice, Occasion
from sluice.streams.deadlines.record import Deadline
from sluice.streams.health.verdict import Health, Verdict
from tests.twins.clock import START
from tests.twins.project import InMemoryProject

DEADLINE_SECONDS = 10.0
FINDING = DeadlineState(
    Deadline.LAG, True, START, "The first unread record waits for 15 min; 10 minutes are allowed.", "look"
)
LAGS = Verdict(Health.LAGGING, "It falls behind.", "give it more cores")


@dataclass
class Service:
    """Takes alerts, if it may, and keeps them."""

    name: str = "Pager"
    fault: str = ""
    may_answer: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    took: list[Alert] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def send(self, alert: Alert) -> str:
        self.asked.set()
        assert self.may_answer.wait(DEADLINE_SECONDS)
        self.took.append(alert)
        return self.fault


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def twin() -> InMemoryProject:
    return InMemoryProject()


@pytest.fixture
def alerts(service: Service, twin: InMemoryProject) -> DeadlineAlerts:
    return DeadlineAlerts(find=lambda _: [service], clock=twin.clock)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def project(twin: InMemoryProject) -> Project:
    return cast(Project, twin)


def notice(twin: InMemoryProject, occasion: Occasion = Occasion.MISSED) -> Notice:
    record = next(iter(twin.control.deadline_records("flights")), None)
    return Notice(occasion, "flights", "departures", FINDING, LAGS, record)


def test_a_miss_is_told_with_what_why_evidence_where_and_what_to_do(
    alerts: DeadlineAlerts, service: Service, twin: InMemoryProject
) -> None:
    alerts.tell(project(twin), notice(twin))

    (alert,) = service.took
    assert alert.level is Level.DEADLINE
    assert alert.what == "Stream departures misses its deadline lag (unit flights)"
    assert alert.why == FINDING.why
    assert alert.evidence[:3] == (
        "deadline lag: missed since 2013-01-07 12:00:00 UTC",
        "verdict now: LAGGING. It falls behind.",
        "unit flights never had a driver",
    )
    assert alert.where.endswith("/dags/stream_flights")
    assert alert.what_to_do == "give it more cores"
    history = Journal(settings().folder.alerts).read()
    assert list(history.alerts) == [alert]
    assert history.deliveries[alert.id].outcome is DeliveryOutcome.DELIVERED
    (record,) = twin.control.deadline_records("flights")
    assert (record.missed, record.version, record.told_at) == (True, 2, START)


def test_its_end_is_told_as_good_news(alerts: DeadlineAlerts, service: Service, twin: InMemoryProject) -> None:
    alerts.tell(project(twin), notice(twin))
    alerts.tell(project(twin), notice(twin, Occasion.MET))

    assert service.took[-1].level is Level.RECOVERY
    assert service.took[-1].what == "Stream departures meets its deadline again: lag (unit flights)"
    assert twin.control.deadline_records("flights")[0].settled


def test_a_reminder_says_since_when(alerts: DeadlineAlerts, service: Service, twin: InMemoryProject) -> None:
    alerts.tell(project(twin), notice(twin))
    twin.clock.sleep(timedelta(days=1).total_seconds())
    alerts.tell(project(twin), notice(twin, Occasion.STILL_MISSED))

    assert service.took[-1].what.startswith("Stream departures still misses its deadline lag")
    assert service.took[-1].evidence[0] == "deadline lag: missed since 2013-01-07 12:00:00 UTC"


def test_who_comes_second_tells_nothing(alerts: DeadlineAlerts, service: Service, twin: InMemoryProject) -> None:
    same = notice(twin)
    alerts.tell(project(twin), same)
    DeadlineAlerts(find=lambda _: [service], clock=twin.clock).tell(project(twin), same)

    assert len(service.took) == 1
    assert len(Journal(settings().folder.alerts).read().alerts) == 1


def test_what_no_service_took_stays_to_be_told(alerts: DeadlineAlerts, service: Service, twin: InMemoryProject) -> None:
    service.fault = "out of order"
    alerts.tell(project(twin), notice(twin))

    (record,) = twin.control.deadline_records("flights")
    assert (record.version, record.told_at) == (1, None)


def test_an_offer_does_not_wait_for_the_service_and_is_not_taken_twice(
    alerts: DeadlineAlerts, service: Service, twin: InMemoryProject
) -> None:
    tries = []
    replace_record = twin.control.replace_deadline_record
    twin.control.replace_deadline_record = lambda after: tries.append(after) or replace_record(after)  # type: ignore[method-assign,func-returns-value]
    service.may_answer.clear()
    alerts.offer(project(twin), notice(twin))
    assert service.asked.wait(DEADLINE_SECONDS)
    assert service.took == []
    alerts.offer(project(twin), notice(twin, Occasion.STILL_MISSED))
    other = Notice(Occasion.MISSED, "weather", "storms", FINDING, LAGS, None)
    alerts.offer(project(twin), other)
    service.may_answer.set()

    until(lambda: len(service.took) == 2)
    assert [alert.what.split()[1] for alert in service.took] == ["departures", "storms"]
    until(lambda: len(tries) == 4)
    assert [(record.stream, record.version) for record in tries] == [
        ("departures", 1),
        ("departures", 2),
        ("storms", 1),
        ("storms", 2),
    ]


def test_one_that_cannot_be_told_keeps_no_other_from_it(
    alerts: DeadlineAlerts, service: Service, twin: InMemoryProject
) -> None:
    class Silent(InMemoryProject):
        def registry(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - it returns nothing
            raise RuntimeError("the control database is on fire")

    alerts.offer(project(Silent()), notice(twin))
    alerts.offer(project(twin), Notice(Occasion.MISSED, "weather", "storms", FINDING, LAGS, None))

    assert service.asked.wait(DEADLINE_SECONDS)
