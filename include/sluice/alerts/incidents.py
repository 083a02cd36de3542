"""Incidents: what has been told, or is to be told, of something that lasts, from its first alert to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import TOLD, AlertHistory, Delivery, DeliveryOutcome
from sluice.specs.model.alerting import AlertClass

Key: TypeAlias = tuple[str, AlertClass]
"""A subject and a class: what is told once while it lasts."""


@dataclass(frozen=True)
class Incident:
    """Something that lasts.

    Attributes:
        alerts: all about it, oldest first; never empty.
        deliveries: what became of each, as far as that is on record.
    """

    alerts: tuple[Alert, ...]
    deliveries: Mapping[str, Delivery]

    @property
    def key(self) -> Key:
        """Its subject and class."""
        return self.newest.key

    @property
    def since(self) -> datetime:
        """When its first alert was (UTC)."""
        return self.alerts[0].at

    @property
    def newest(self) -> Alert:
        """Its newest alert."""
        return self.alerts[-1]

    @property
    def told(self) -> Alert | None:
        """The newest alert that somebody got; None if nobody knows."""
        known = (alert for alert in reversed(self.alerts) if self.outcome(alert) in TOLD)
        return next(known, None)

    @property
    def known_as(self) -> Alert:
        """The alert by which people know it: the newest that somebody got, or the newest of all."""
        return self.told or self.newest

    @property
    def told_at(self) -> datetime | None:
        """When somebody was last told (UTC)."""
        return None if self.told is None else self.deliveries[self.told.id].at

    def outcome(self, alert: Alert) -> DeliveryOutcome | None:
        """Return what became of one of its alerts; None if that is not on record."""
        delivery = self.deliveries.get(alert.id)
        return None if delivery is None else delivery.outcome


def open_incidents(history: AlertHistory) -> dict[Key, Incident]:
    """Return what is not over, oldest first.

    Args:
        history: what is on record.
    """
    found: dict[Key, list[Alert]] = {}
    for alert in history.alerts:
        if alert.alert_class is AlertClass.TEST:
            continue
        if alert.level is Level.RECOVERY:
            found.pop(alert.key, None)
        else:
            found.setdefault(alert.key, []).append(alert)
    incidents = (Incident(tuple(alerts), history.deliveries) for alerts in found.values())
    return {incident.key: incident for incident in incidents}


def same_happening(alert: Alert, incident: Incident) -> bool:
    """Whether an alert says nothing new of an incident that is open.

    The deaths of one unit are one happening, however often it is started again: each names another generation. Of
    other runs it is the reason that tells. Who has cleared a run wants to hear of it again, and so does who has asked
    a HALTED unit to run: see `halted_again`.

    Args:
        alert: the new one.
        incident: open, under the same key, without it.
    """
    same_run = [a for a in incident.alerts if (a.dag_id, a.run_id) == (alert.dag_id, alert.run_id)]
    if same_run and all(a.clearing != alert.clearing for a in same_run):
        return False
    if halted_again(alert.alert_class, alert.since, incident):
        return False
    before = next((a for a in reversed(incident.alerts) if a.level is alert.level), None)
    return alert.concerns.startswith("unit ") or (before is not None and alert.why == before.why)


def halted_again(alert_class: AlertClass, since: datetime | None, incident: Incident) -> bool:
    """Whether a unit is HALTED anew: only a person's word ends a halt, and that person wants to know what came of it.

    Args:
        alert_class: what it is about.
        since: since when it is so (UTC); None if that is not known.
        incident: open, under the same key.
    """
    return alert_class is AlertClass.HALTED and since is not None and incident.newest.at < since


def told_by_another(alert: Alert, history: AlertHistory) -> bool:
    """Whether a beginning or an end that several processes see is on record already.

    They see the same turns of one subject, one of them later than the other. So what is on record of it is as this
    alert says, or it is younger.

    Args:
        alert: not on record; its `since` is the time of the happening, not of the telling.
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

    Who has decided on what was on record may ask again, with the journal's lock, whether that is still so: two rounds
    at once then tell once.
    """
    return next((alert.id for alert in reversed(history.alerts) if alert.key == key), "")
