"""What became of runs, asked of Airflow once a minute: failures that are over, and such as nobody was told of."""

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
from sluice.specs.catalog.dag_ids import EVERYWHERE, backfill_dag_id, quality_dag_id, unit_of
from sluice.specs.model.alerting import AlertClass

log = logging.getLogger(__name__)

MOST_ASKED = 50
"""DAGs whose failed runs one round counts. Where there are more, a DAG's turn comes every few minutes."""


class Runs(Protocol):
    """What Airflow knows of runs."""

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
class Lost:
    """Runs of a DAG that have failed without a word: how many, and the count to put on record once that was told."""

    runs: int
    count: RunCount


@dataclass
class Reviewed:
    """What was found.

    Attributes:
        over: of what is over, the reason.
        lost: runs that have failed of which nothing on record tells, one for each DAG.
    """

    over: dict[Key, str] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)


def watched_dags(project: Project) -> Sequence[str]:
    """Return the DAGs whose failed runs are counted. Of a unit's driver its streams tell, see `alerts.conditions`."""
    pipelines = project.catalog.interval_pipelines
    return (*EVERYWHERE, *map(backfill_dag_id, pipelines), *map(quality_dag_id, pipelines))


def review_runs(history: AlertHistory, watched: Collection[str], runs: Runs, desk: AlertDispatcher) -> Reviewed:
    """Ask what became of the runs that alerts tell of, and count those that have failed. It raises nothing.

    Args:
        history: what is on record.
        watched: the DAGs whose failed runs are counted.
        runs: what Airflow knows.
        desk: keeps the counts.
    """
    reviewer, by_dag = _Reviewer(history, runs, desk), dict[str, list[Incident]]()
    for incident in open_incidents(history).values():
        alert = incident.newest
        if alert.dag_id and not alert.subject and not unit_of(alert.dag_id):
            by_dag.setdefault(alert.dag_id, []).append(incident)
        elif alert.alert_class is AlertClass.APPROVAL and alert.run_id:
            reviewer.question(incident)
    counted = set(_in_turn(sorted(watched), desk.clock.now()))
    for dag_id in sorted(counted | by_dag.keys()):
        reviewer.dag(dag_id, by_dag.get(dag_id, ()), counted=dag_id in counted)
    return reviewer.found


class _Reviewer:
    """Asks for one DAG, or one question, after the other. What cannot be asked is neither over nor lost."""

    def __init__(self, history: AlertHistory, runs: Runs, desk: AlertDispatcher) -> None:
        self.found = Reviewed()
        self._history = history
        self._runs = runs
        self._desk = desk

    def dag(self, dag_id: str, incidents: Sequence[Incident], *, counted: bool) -> None:
        """Count a DAG's runs: those that have failed if they are counted, those that have succeeded for incidents."""
        counts = self._history.counts.get(dag_id, ())
        try:
            now = RunCount(
                dag_id,
                self._desk.clock.now(),
                succeeded=self._runs.successes(dag_id) if incidents else None,
                failed=self._runs.failures(dag_id) if counted else None,
                open_alerts=tuple(incident.newest.id for incident in incidents),
            )
            for incident in incidents:
                if why := _why_over(incident, counts, now, self._runs):
                    self.found.over[incident.key] = why
            reviewed = review(counts, self._history.about_runs(dag_id), now)
            if reviewed.record is not None and reviewed.lost:
                self.found.lost.append(Lost(reviewed.lost, reviewed.record))
            elif reviewed.record is not None:
                self._desk.journal.append(reviewed.record)
        except Exception as error:  # noqa: BLE001 - see the class
            log.warning("Could not ask for the runs of %s: %s", dag_id, error)

    def question(self, incident: Incident) -> None:
        """See whether a run still waits for an answer: one that was killed meanwhile could not say that it does not."""
        alert = incident.newest
        try:
            state = self._runs.state(alert.dag_id, alert.run_id)
        except Exception as error:  # noqa: BLE001 - see the class
            log.warning("Could not ask for the run %s: %s", alert.run_id, error)
            return
        if state in _ENDS:
            self.found.over[incident.key] = f"The run {alert.run_id} waits no longer: it {_ENDS[state]}."


_ENDS: Mapping[str, str] = {"success": "has succeeded", "failed": "has failed", "": "is not there any more"}


def _why_over(incident: Incident, counts: Sequence[RunCount], now: RunCount, runs: Runs) -> str:
    """Say why a failed run is no concern any more; empty if it is one, or if nobody can tell."""
    alert = incident.newest
    if alert.run_id and runs.state(alert.dag_id, alert.run_id) == "success":
        return f"The run {alert.run_id} was cleared and has succeeded."
    before = successes_before(alert, counts)
    if before is not None and now.succeeded is not None and now.succeeded > before:
        itself = f" The run {alert.run_id} itself is still failed." if alert.run_id else ""
        return f"A later run of {alert.dag_id} has succeeded.{itself}"
    return ""


def tell_lost(lost: Lost, history: AlertHistory, desk: AlertDispatcher) -> None:
    """Tell of runs that have failed without a word; on record only, where somebody knows that the DAG fails.

    Nobody is told what the journal does not take: it would be told each minute.
    """
    alert = _lost_alert(lost.count.dag_id, lost.runs, desk.clock.now())
    incident = open_incidents(history).get(alert.key)
    entered = desk.claim(alert, lambda now: newest_about(alert.key, now) != newest_about(alert.key, history))
    if entered is None or entered.id not in {known.id for known in desk.read().alerts}:
        return
    alert = entered
    desk.journal.append(replace(lost.count, unnamed=alert.id))
    if incident is not None and incident.told is not None:
        told = incident.told
        said = f"alert {told.id} has told at {told.at:%Y-%m-%d %H:%M} UTC that runs of it fail, and it is not over."
        desk.conclude(alert, DeliveryResult(DeliveryOutcome.WITHHELD, said))
    else:
        desk.dispatch(alert)


def _lost_alert(dag_id: str, lost: int, now: datetime) -> Alert:
    runs = "A run" if lost == 1 else f"{lost} runs"
    return Alert(
        id=new_id(),
        at=now,
        level=Level.DAG,
        what=f"{runs} of DAG {dag_id} failed without a word",
        why=f"Airflow counts {lost} more failed than alerts tell of. What should have told of it has died (the task's "
        "process, or the DAG processor), or somebody has marked it as failed.",
        evidence=(),
        where=dag_url(dag_id),
        what_to_do=f"Open the link and look at the newest failed runs of {dag_id}.",
        dag_id=dag_id,
        host=socket.gethostname(),
    )


def _in_turn(dags: Sequence[str], now: datetime) -> Iterator[str]:
    """Yield the DAGs whose turn it is in this minute."""
    turns = -(-len(dags) // MOST_ASKED)
    if turns:
        yield from dags[int(now.timestamp() // 60) % turns :: turns]
