"""Incidents: the alerts about one lasting condition, from its first to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import NOTIFIED, AlertHistory, Delivery, DeliveryOutcome
from sluice.specs.model.alerting import AlertClass

Key: TypeAlias = tuple[str, AlertClass]
"""A subject and a class: while a condition of both lasts, it alerts once."""


@dataclass(frozen=True)
class Incident:
    """Something that lasts.

    Attributes:
        alerts: all about it, oldest first; never empty.
        deliveries: the recorded outcome of each.
        end: the alert that says that it is over; None while it lasts.
    """

    alerts: tuple[Alert, ...]
    deliveries: Mapping[str, Delivery]
    end: Alert | None = None

    @property
    def key(self) -> Key:
        """Its subject and class."""
        return self.newest.key

    @property
    def since(self) -> datetime:
        """Since when it is so, as its first alert says; if that is not on record, when that alert was (UTC)."""
        return self.alerts[0].began_at

    @property
    def newest(self) -> Alert:
        """Its newest alert."""
        return self.alerts[-1]

    @property
    def notified(self) -> Alert | None:
        """The newest alert that was delivered to all of its channels; None if none was."""
        known = (alert for alert in reversed(self.alerts) if self.outcome(alert) in NOTIFIED)
        return next(known, None)

    @property
    def reported(self) -> Alert | None:
        """The newest alert that was delivered, be it to some of its channels only; None if none was.

        The minute's round tries the other channels again.
        """
        known = (a for a in reversed(self.alerts) if self.outcome(a) in NOTIFIED or self._reached(a))
        return next(known, None)

    @property
    def reached(self) -> frozenset[str]:
        """The identities of the channels that have any of its alerts."""
        return frozenset(identity for alert in self.alerts for identity in self._reached(alert))

    @property
    def undelivered(self) -> Alert | None:
        """The newest alert that some channel has not taken, unless a later one was delivered to all; None if none."""
        for alert in reversed(self.alerts):
            if (outcome := self.outcome(alert)) in NOTIFIED:
                return None
            if outcome is DeliveryOutcome.FAILED:
                return alert
        return None

    @property
    def known_as(self) -> Alert:
        """The newest alert that was delivered; if none was, the newest of all."""
        return self.reported or self.newest

    @property
    def notified_at(self) -> datetime | None:
        """When the newest of them was delivered (UTC)."""
        return None if self.notified is None else self.deliveries[self.notified.id].at

    def _reached(self, alert: Alert) -> tuple[str, ...]:
        delivery = self.deliveries.get(alert.id)
        return () if delivery is None else delivery.reached

    def outcome(self, alert: Alert) -> DeliveryOutcome | None:
        """Return the outcome of one of its alerts; None if it is not on record."""
        delivery = self.deliveries.get(alert.id)
        return None if delivery is None else delivery.outcome


def open_incidents(history: AlertHistory) -> dict[Key, Incident]:
    """Return the incidents that are not over, oldest first."""
    return {incident.key: incident for incident in _newest_incidents(history) if incident.end is None}


def ended_incidents(history: AlertHistory) -> dict[Key, Incident]:
    """Return the newest incident of each subject and class if it is over, oldest first."""
    return {incident.key: incident for incident in _newest_incidents(history) if incident.end is not None}


def _newest_incidents(history: AlertHistory) -> Iterator[Incident]:
    alerts_by_key: dict[Key, list[Alert]] = {}
    ends: dict[Key, Alert] = {}
    for alert in history.alerts:
        if alert.alert_class is AlertClass.TEST:
            continue
        if alert.level is Level.RECOVERY:
            ends.setdefault(alert.key, alert)
        else:
            if ends.pop(alert.key, None):
                alerts_by_key.pop(alert.key, None)
            alerts_by_key.setdefault(alert.key, []).append(alert)
    for key, alerts in alerts_by_key.items():
        yield Incident(tuple(alerts), history.deliveries, ends.get(key))


def is_repetition(alert: Alert, incident: Incident) -> bool:
    """Whether a new alert says nothing new about an open incident.

    All deaths of one unit count as one, however often it is restarted: each names another generation. For other runs
    the reason decides. A run that was cleared alerts again, and so does a unit that halts again: see `halted_again`.
    """
    same_run = [a for a in incident.alerts if (a.dag_id, a.run_id) == (alert.dag_id, alert.run_id)]
    if same_run and all(a.clearing != alert.clearing for a in same_run):
        return False
    if halted_again(alert.alert_class, alert.since, incident):
        return False
    before = next((a for a in reversed(incident.alerts) if a.level is alert.level), None)
    return alert.concerns.startswith("unit ") or (before is not None and alert.why == before.why)


def halted_again(alert_class: AlertClass, since: datetime | None, incident: Incident) -> bool:
    """Whether a unit is HALTED again: only a request ends a halt, and the requester needs the result."""
    return alert_class is AlertClass.HALTED and since is not None and incident.newest.at < since


def recorded_by_another(alert: Alert, history: AlertHistory) -> bool:
    """Whether a beginning or an end that several processes observe is on record already.

    They observe the same transitions of one subject, one of them later than the other. So the newest record either
    agrees with this alert, or is younger.

    Args:
        alert: not on record; its `since` is the time of the transition.
        history: what is on record.
    """
    newest = next((other for other in reversed(history.alerts) if other.key == alert.key), None)
    ends = alert.level is Level.RECOVERY
    if newest is None:
        return ends
    if (newest.level is Level.RECOVERY) == ends:
        return True
    return alert.since is not None and newest.since is not None and alert.since < newest.since


def newest_about(key: Key, history: AlertHistory) -> str:
    """Return the id of the newest alert about a subject and class, an end included; empty if there is none.

    A decision that was made by an earlier reading is checked by it under the journal's lock: of two concurrent rounds
    one alerts.
    """
    return next((alert.id for alert in reversed(history.alerts) if alert.key == key), "")
