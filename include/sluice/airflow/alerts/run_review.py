"""Asks Airflow once a minute about runs: which failures are over, and which no alert has reported."""

from __future__ import annotations

import logging
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from sluice.airflow.alerts.failure import dag_url, new_id
from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, DeliveryOutcome, DeliveryResult
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import Incident, Key, newest_about, open_incidents
from sluice.alerts.runs import RunCount, review, successes_before
from sluice.project.project import Project
from sluice.specs.catalog.dag_ids import EVERYWHERE, backfill_dag_id, mirror_unit, quality_dag_id, unit_of
from sluice.specs.model.alerting import AlertClass

log = logging.getLogger(__name__)

MAX_ASKED = 50
"""DAGs whose failed runs one round counts. Where there are more, a DAG's turn comes every few minutes."""


class Runs(Protocol):
    """Airflow's answers about runs."""

    def state(self, dag_id: str, run_id: str) -> str:
        """Return a run's state; empty if there is no such run any more."""
        ...

    def successes(self, dag_id: str) -> int:
        """Return how many runs of a DAG have succeeded."""
        ...

    def failures(self, dag_id: str) -> int:
        """Return how many runs of a DAG have failed."""
        ...


@dataclass(frozen=True)
class UnreportedRuns:
    """Failed runs of a DAG without an alert: how many, and the count to record after the alert about them."""

    runs: int
    count: RunCount


@dataclass
class Reviewed:
    """The result of a review.

    Attributes:
        over: why an incident is over.
        unreported: failed runs without an alert, one entry per DAG.
    """

    over: dict[Key, str] = field(default_factory=dict)
    unreported: list[UnreportedRuns] = field(default_factory=list)


def watched_dags(project: Project) -> Sequence[str]:
    """Return the DAGs whose failed runs are counted. The conditions of a unit's streams cover its runs."""
    pipelines = project.catalog.interval_pipelines
    of_pipelines = (*map(backfill_dag_id, pipelines), *map(quality_dag_id, pipelines))
    return (*EVERYWHERE, *of_pipelines, *map(mirror_unit, project.catalog.mirrors))


def review_runs(history: AlertHistory, watched: Collection[str], runs: Runs, dispatcher: AlertDispatcher) -> Reviewed:
    """Ask how the runs of open alerts ended, and count failed runs. It raises nothing."""
    reviewer, by_dag = _Reviewer(history, runs, dispatcher), dict[str, list[Incident]]()
    for incident in open_incidents(history).values():
        alert = incident.newest
        if alert.dag_id and not alert.subject and not unit_of(alert.dag_id):
            by_dag.setdefault(alert.dag_id, []).append(incident)
        elif alert.alert_class is AlertClass.APPROVAL and alert.run_id:
            reviewer.question(incident)
    counted = set(_in_turn(sorted(watched), dispatcher.clock.now()))
    for dag_id in sorted(counted | by_dag.keys()):
        reviewer.dag(dag_id, by_dag.get(dag_id, ()), counted=dag_id in counted)
    return reviewer.found


class _Reviewer:
    """Asks about one DAG, or one question, after the other. A run without an answer is neither over nor unreported."""

    def __init__(self, history: AlertHistory, runs: Runs, dispatcher: AlertDispatcher) -> None:
        self.found = Reviewed()
        self._history = history
        self._runs = runs
        self._dispatcher = dispatcher

    def dag(self, dag_id: str, incidents: Sequence[Incident], *, counted: bool) -> None:
        """Count a DAG's runs: those that have failed if they are counted, those that have succeeded for incidents."""
        counts = self._history.counts.get(dag_id, ())
        try:
            now = RunCount(
                dag_id,
                self._dispatcher.clock.now(),
                succeeded=self._runs.successes(dag_id) if incidents else None,
                failed=self._runs.failures(dag_id) if counted else None,
                open_alerts=tuple(incident.newest.id for incident in incidents),
            )
            for incident in incidents:
                if why := _why_over(incident, counts, now, self._runs):
                    self.found.over[incident.key] = why
            reviewed = review(counts, self._history.about_runs(dag_id), now)
            if reviewed.record is not None and reviewed.unreported:
                self.found.unreported.append(UnreportedRuns(reviewed.unreported, reviewed.record))
            elif reviewed.record is not None:
                self._dispatcher.journal.append(reviewed.record)
        except Exception as error:  # noqa: BLE001 - see the class
            log.warning("Could not query the runs of %s: %s", dag_id, error)

    def question(self, incident: Incident) -> None:
        """Check whether a run still waits for an answer: a killed one could not report that it does not."""
        alert = incident.newest
        try:
            state = self._runs.state(alert.dag_id, alert.run_id)
        except Exception as error:  # noqa: BLE001 - see the class
            log.warning("Could not query the run %s: %s", alert.run_id, error)
            return
        if state in _ENDS:
            self.found.over[incident.key] = f"The run {alert.run_id} waits no longer: it {_ENDS[state]}."


_ENDS: Mapping[str, str] = {"success": "has succeeded", "failed": "has failed", "": "is not there any more"}


def _why_over(incident: Incident, counts: Sequence[RunCount], now: RunCount, runs: Runs) -> str:
    """Return why the alert about a failed run is over; empty if it is not, or that is unknown."""
    alert = incident.newest
    if alert.run_id and runs.state(alert.dag_id, alert.run_id) == "success":
        return f"The run {alert.run_id} was cleared and has succeeded."
    before = successes_before(alert, counts)
    if before is not None and now.succeeded is not None and now.succeeded > before:
        itself = f" The run {alert.run_id} itself is still failed." if alert.run_id else ""
        return f"A later run of {alert.dag_id} has succeeded.{itself}"
    return ""


def notify_unreported(unreported: UnreportedRuns, history: AlertHistory, dispatcher: AlertDispatcher) -> None:
    """Alert about failed runs without an alert. If an alert about the DAG is open, this one is only recorded.

    Nothing is sent that the journal does not take: it would be sent each minute.
    """
    alert = _unreported_alert(unreported.count.dag_id, unreported.runs, dispatcher.clock.now())
    incident = open_incidents(history).get(alert.key)
    entered = dispatcher.claim(alert, lambda now: newest_about(alert.key, now) != newest_about(alert.key, history))
    if entered is None or entered.id not in {known.id for known in dispatcher.read().alerts}:
        return
    alert = entered
    dispatcher.journal.append(replace(unreported.count, unnamed=alert.id))
    if incident is not None and incident.reported is not None:
        known = incident.reported
        why = f"alert {known.id} of {known.at:%Y-%m-%d %H:%M} UTC reported that its runs fail, and is still open."
        dispatcher.conclude(alert, DeliveryResult(DeliveryOutcome.WITHHELD, why))
    else:
        dispatcher.dispatch(alert)


def _unreported_alert(dag_id: str, unreported: int, now: datetime) -> Alert:
    runs = "A run" if unreported == 1 else f"{unreported} runs"
    return Alert(
        id=new_id(),
        at=now,
        level=Level.DAG,
        what=f"{runs} of DAG {dag_id} failed without an alert",
        why=f"Airflow counts {unreported} more failed runs than alerts reported. The process that should have reported "
        "it has died (the task's, or the DAG processor), or a user has marked it as failed.",
        evidence=(),
        where=dag_url(dag_id),
        what_to_do=f"Open the link and check the newest failed runs of {dag_id}.",
        dag_id=dag_id,
        host=socket.gethostname(),
    )


def _in_turn(dags: Sequence[str], now: datetime) -> Iterator[str]:
    """Yield the DAGs whose turn it is in this minute."""
    turns = -(-len(dags) // MAX_ASKED)
    if turns:
        yield from dags[int(now.timestamp() // 60) % turns :: turns]
