"""Outcomes of deliveries, and the rules by which one execution of a run, and a lasting state, alert once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import AwareDatetime

from sluice.alerts.alert import Alert, Level
from sluice.alerts.json_record import JsonRecord
from sluice.alerts.runs import RunCount
from sluice.wording import ExplainedEnum

IN_FLIGHT = timedelta(seconds=20)
"""Longer than any delivery may take: an alert without an outcome after this never gets one."""


class DeliveryOutcome(ExplainedEnum):
    """How a delivery ended."""

    DELIVERED = "delivered", "every service accepted it"
    FAILED = "failed", "at least one service did not accept it", "it is sent again; see what the service answered"
    NOT_CONFIGURED = (
        "not configured",
        "no service is configured: the journal is the only record",
        "add the Airflow connection",
    )
    WITHHELD = "withheld", "not sent: an earlier alert covers the same subject, or the problem ended first"
    HELD = "held", "the policy sends it later, if the problem lasts until then"
    MUTED = "muted", "the policy does not send it"


NOTIFIED = frozenset({DeliveryOutcome.DELIVERED, DeliveryOutcome.NOT_CONFIGURED})
"""Outcomes that count as notified. Where no service is configured, recording an alert does."""


@dataclass(frozen=True)
class DeliveryResult:
    """How a delivery ended.

    Attributes:
        outcome: for all channels together.
        detail: one sentence about it that holds no secret.
        reached: the identities of the channels whose services all took it.
    """

    outcome: DeliveryOutcome
    detail: str
    reached: tuple[str, ...] = ()


@dataclass(frozen=True)
class Delivery(JsonRecord):
    """The outcome of one alert's delivery.

    Attributes:
        alert_id: the alert's.
        at: when (UTC).
        outcome: how it ended.
        detail: one sentence about it without any secret.
        reached: the identities of the channels whose services all took it, in this attempt or an earlier one.
    """

    alert_id: str
    at: AwareDatetime
    outcome: DeliveryOutcome
    detail: str = ""
    reached: tuple[str, ...] = ()


@dataclass(frozen=True)
class AlertHistory:
    """What is on record, oldest first.

    Attributes:
        alerts: all of them.
        deliveries: the latest outcome by alert id; without one, a delivery is under way or was cut off.
        notes: what could not be read, or is gone.
        counts: how many runs had ended, by DAG, oldest first.
    """

    alerts: Sequence[Alert] = ()
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    notes: Sequence[str] = ()
    counts: Mapping[str, Sequence[RunCount]] = field(default_factory=dict)

    def tasks_of(self, alert: Alert) -> list[Alert]:
        """Return the other alerts about tasks of the same execution of the same run."""
        return [a for a in self.alerts if a.level is Level.TASK and a.id != alert.id and a.same_run(alert)]

    def about_runs(self, dag_id: str) -> list[Alert]:
        """Return the alerts about runs of a DAG that have failed, and their tasks."""
        return [a for a in self.alerts if a.dag_id == dag_id and a.level in {Level.TASK, Level.DAG}]

    def notified(self, alert: Alert) -> bool:
        """Whether an alert was delivered, or recorded where no service is configured."""
        delivery = self.deliveries.get(alert.id)
        return delivery is not None and delivery.outcome in NOTIFIED

    def lasting(self, dag_id: str) -> Mapping[str, Alert]:
        """Return the newest alert about each subject of a DAG that is not over."""
        newest = {alert.subject: alert for alert in self.alerts if alert.subject and alert.dag_id == dag_id}
        return {subject: alert for subject, alert in newest.items() if alert.level is not Level.RECOVERY}

    def in_flight(self, alert: Alert, now: datetime) -> bool:
        """Whether the outcome of a delivery is still to come."""
        return alert.id not in self.deliveries and under_way(alert, now)


def under_way(alert: Alert, now: datetime) -> bool:
    """Whether the delivery of an alert without an outcome can still have one. One from the future has none to come."""
    return abs(now - alert.at) < IN_FLIGHT


def already_notified(alert: Alert, history: AlertHistory, now: datetime) -> Alert | None:
    """Return the alert that was delivered about this execution of this run by now (UTC); None if none was.

    Of tasks that fail together the first one alerts. The others rely on it while its delivery is under way. If that
    fails, the alert of the DAG's level, which comes last and relies only on outcomes, is sent instead: at least once.
    Tasks about different subjects do not rely on each other.
    """
    order = {other.id: place for place, other in enumerate(history.alerts)}
    for other in history.tasks_of(alert):
        if alert.level is Level.TASK and other.subject != alert.subject:
            continue
        if history.notified(other):
            return other
        first = order[other.id] < order.get(alert.id, len(order))
        if alert.level is Level.TASK and first and history.in_flight(other, now):
            return other
    return None


def already_known(alert: Alert, history: AlertHistory) -> Alert | None:
    """Return the alert that reported the same state of the same subject; None if this is news.

    It is news if nothing was reported of the subject, or something else, or its end. An alert that the policy holds
    back or mutes counts as reported, and so does a recorded one where no service is configured. So does one that some
    channel has not taken: the minute's round tries it again.
    """
    newest = history.lasting(alert.dag_id).get(alert.subject)
    if newest is None or newest.why != alert.why:
        return None
    return newest if newest.id in history.deliveries else None
