"""The minute's round: alerts about what has begun, what is due, and what is over, as the policy says.

It runs in the reconciler's task, before anything else is done there, and no failure in it fails that task.
The core decides (`sluice.alerts.rounds`); this module observes, and sends.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from sluice.airflow.alerts.failure import OPEN_THE_LOG, dag_url, new_id, printable
from sluice.airflow.alerts.run_review import Runs, review_runs, tell_lost, watched_dags
from sluice.airflow.alerts.unit_evidence import unit_evidence
from sluice.alerts.alert import Alert, Level
from sluice.alerts.conditions import PATIENCE, FleetConditions, found_in
from sluice.alerts.delivery import AlertHistory
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import Incident, Key, newest_about, open_incidents
from sluice.alerts.rounds import Begin, Condition, Deliver, End, Repeat, Step, steps
from sluice.alerts.undeclared import undeclared
from sluice.project.fleet_records import standings_of
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.dag_ids import stream_dag_id, unit_of
from sluice.specs.load import scan
from sluice.streams.life.attempts import AttemptState

log = logging.getLogger(__name__)

_MINUTE = timedelta(minutes=1)
MOST_AT_ONCE = 20
"""Alerts that a round sends: a service that does not answer takes 15 s of each, and the next round is a minute away."""


def alert_round(open_project: Callable[[], Project], runs: Runs, desk: AlertDispatcher) -> None:
    """Send what is due. It raises nothing: what was not sent is sent by the next round.

    Args:
        open_project: returns the project.
        runs: Airflow's runs.
        desk: records and sends alerts.
    """
    history = desk.read()
    project: Project | None = None
    found = FleetConditions()
    try:
        project = open_project()
        found = _look(project, desk)
        found.over.update(_undeclared(project, history))
    except Exception:
        log.warning("The streams could not be checked, so nothing begins and nothing is over.", exc_info=True)
    reviewed = review_runs(history, () if project is None else watched_dags(project), runs, desk)
    over = {**reviewed.over, **found.over}
    todo = list(steps(history, found.conditions, over, desk.policy.spec, desk.clock.now()))
    if len(todo) > MOST_AT_ONCE:
        log.warning("%s alerts are due; %s are told now, the others by the next rounds.", len(todo), MOST_AT_ONCE)
    for step in todo[:MOST_AT_ONCE]:
        try:
            _take(step, desk, project, history, found.titles)
        except Exception:
            log.exception("An alert was cut off; it is tried again: %s", step)
    for lost in reviewed.lost:
        try:
            tell_lost(lost, history, desk)
        except Exception:
            log.exception("That runs of %s have failed could not be told; it is tried again.", lost.count.dag_id)


def _look(project: Project, desk: AlertDispatcher) -> FleetConditions:
    now = desk.clock.now()
    return found_in(standings_of(project, project.catalog.units().values(), now), project.catalog, now)


def _undeclared(project: Project, history: AlertHistory) -> Mapping[Key, str]:
    """Return what is over because nothing declares it; nothing as long as a spec is broken."""
    incidents = list(open_incidents(history).values())
    if not undeclared(incidents, project.catalog):
        return {}
    if scan(settings().home / "include").faults:
        return {}
    units = {unit for incident in incidents if (unit := unit_of(incident.newest.dag_id))}
    attempts = project.registry().newest_attempts(units)
    alive = {unit for unit, attempt in attempts.items() if attempt.state is not AttemptState.ENDED}
    return undeclared(incidents, project.catalog, alive)


def _take(
    step: Step, desk: AlertDispatcher, project: Project | None, history: AlertHistory, titles: Mapping[Key, str]
) -> None:
    """Take a step, unless another round has since `history` was read."""
    match step:
        case Begin(condition):
            _begin(condition, desk, project, history)
        case Deliver(alert):
            if desk.claim_delivery(alert, history):
                desk.dispatch(alert)
        case Repeat(incident, condition):
            if entered := desk.claim(_reminder(incident, condition, desk), _changed(incident.key, history)):
                desk.dispatch(entered)
        case End(incident, why):
            end = _end(incident, why, titles.get(incident.key), desk)
            if entered := desk.claim(end, _changed(incident.key, history)):
                desk.dispatch_end(entered, incident)


def _changed(key: Key, before: AlertHistory) -> Callable[[AlertHistory], bool]:
    return lambda now: newest_about(key, now) != newest_about(key, before)


def _begin(condition: Condition, desk: AlertDispatcher, project: Project | None, history: AlertHistory) -> None:
    """Put a beginning on record and tell of it. While the journal takes nothing, tell of it each hour."""
    alert = desk.claim(_beginning(condition, desk, project), _changed(condition.key, history))
    if alert is None:
        return
    lasts = desk.clock.now() - condition.since - PATIENCE.get(condition.alert_class, timedelta())
    if lasts // _MINUTE % 60 > 1 and alert.id not in {known.id for known in desk.read().alerts}:
        log.warning("The journal takes nothing, so it is told each hour only: %s", alert.what)
        return
    desk.dispatch(alert, condition.since)


def _beginning(condition: Condition, desk: AlertDispatcher, project: Project | None) -> Alert:
    dag_id = stream_dag_id(condition.unit)
    facts = () if project is None else unit_evidence(project, condition.unit).facts
    since = f"since {condition.since:%Y-%m-%d %H:%M:%S} UTC"
    return Alert(
        id=new_id(),
        at=desk.clock.now(),
        level=Level.STATE,
        what=condition.what,
        why=printable(condition.why),
        evidence=tuple(map(printable, (since, *condition.facts, *facts))),
        where=dag_url(dag_id),
        what_to_do=printable(condition.what_to_do or OPEN_THE_LOG),
        dag_id=dag_id,
        host=socket.gethostname(),
        subject=condition.subject,
        alert_class=condition.alert_class,
        owner=condition.owner,
        since=condition.since,
    )


def _reminder(incident: Incident, condition: Condition | None, desk: AlertDispatcher) -> Alert:
    """Return the alert by which it is known, told again: under an id of its own, for it is delivered for itself."""
    known = incident.known_as
    first, told = f"{incident.since:%Y-%m-%d %H:%M} UTC", incident.told_at
    last = "" if told is None else f", and told last at {told:%Y-%m-%d %H:%M} UTC"
    again = f"a reminder: it began at {first}{last}"
    facts = [fact for fact in known.evidence if not fact.startswith("a reminder: ")]
    what = known.what if known.what.startswith("Still: ") else f"Still: {known.what}"
    why = known.why if condition is None else printable(condition.why)
    return replace(known, id=new_id(), at=desk.clock.now(), what=what, why=why, evidence=(again, *facts))


def _end(incident: Incident, why: str, title: str | None, desk: AlertDispatcher) -> Alert:
    known = incident.known_as
    lasted = f"it began at {incident.since:%Y-%m-%d %H:%M} UTC with alert {incident.alerts[0].id}"
    return replace(
        known,
        id=new_id(),
        at=desk.clock.now(),
        level=Level.RECOVERY,
        what=title or f"Over: {known.what.removeprefix('Still: ')}",
        why=printable(why),
        evidence=(lasted,),
        what_to_do="Nothing.",
        host=socket.gethostname(),
    )
