"""Alerts of the deployment that come while a proof runs: those about the proof should not, others are only named."""

from __future__ import annotations

from datetime import datetime

from sluice.alerts.alert import Alert, Level
from sluice.alerts.journal import Journal
from sluice.project.project import Project
from sluice.proof.running.place import ProofPlace

_OF_A_PROBLEM = frozenset({Level.TASK, Level.DAG, Level.STATE})


class MeanwhileAlerts:
    """What the deployment's journal of alerts has of the time since a proof began.

    Nothing watches the driver of a proof, so nothing may alert about it: an alert that names a topic of a proof asks
    people to repair what is meant to break.

    Args:
        project: the deployment's own.
        place: of the proof.
    """

    def __init__(self, project: Project, place: ProofPlace) -> None:
        self._journal = Journal(project.folder.alerts, clock=project.clock)
        self._place = place
        self._begin: datetime = project.clock.now()

    def about_the_proof(self) -> frozenset[str]:
        """Return the alerts that name a topic of the proof."""
        return frozenset(map(_title, (alert for alert in self._all() if self._names_it(alert))))

    def about_others(self) -> tuple[str, ...]:
        """Return the other ones, oldest first."""
        return tuple(_title(alert) for alert in self._all() if not self._names_it(alert))

    def _all(self) -> list[Alert]:
        alerts = self._journal.read().alerts
        return [alert for alert in alerts if alert.at >= self._begin and alert.level in _OF_A_PROBLEM]

    def _names_it(self, alert: Alert) -> bool:
        said = " ".join((alert.subject, alert.what, alert.why, *alert.evidence))
        return any(topic in said for topic in self._place.topics)


def _title(alert: Alert) -> str:
    return f"{alert.alert_class}: {alert.what}"
