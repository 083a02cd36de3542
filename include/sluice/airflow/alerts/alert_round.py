"""The minute's round: alerts about what has begun, what is due, and what is over, as the policy says.

It runs in the reconciler's task, before anything else is done there, and no failure in it fails that task.
The core decides (`sluice.alerts.rounds`); this module observes, and sends.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sluice.airflow.alerts.failure import OPEN_THE_LOG, dag_url, new_id, printable
from sluice.airflow.alerts.run_review import Runs, notify_unreported, review_runs, watched_dags
from sluice.airflow.alerts.unit_evidence import unit_evidence
from sluice.alerts.alert import Alert, Level
from sluice.alerts.conditions import PATIENCE, FleetConditions, conditions_of
from sluice.alerts.delivery import AlertHistory
from sluice.alerts.dispatch import AlertDispatcher
from sluice.alerts.incidents import Incident, Key, newest_about, open_incidents
from sluice.alerts.orphans import orphaned
from sluice.alerts.rounds import Begin, Condition, Deliver, End, Repeat, Step, steps
from sluice.objectives.standing import observe_objectives
from sluice.project.capacity.costs import record_driver_costs
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.dag_ids import stream_dag_id, unit_of
from sluice.specs.catalog.objectives import declared_objectives
from sluice.specs.load import scan
from sluice.streams.health.fleet import StreamStatus
from sluice.streams.life.attempts import AttemptState

log = logging.getLogger(__name__)

_MINUTE = timedelta(minutes=1)
MAX_AT_ONCE = 20
"""Alerts that a round sends: a service that does not answer takes 15 s of each, and the next round is a minute away."""


def alert_round(open_project: Callable[[], Project], runs: Runs, dispatcher: AlertDispatcher) -> None:
    """Send what is due. It raises nothing: what was not sent is sent by the next round."""
    history = dispatcher.read()
    project: Project | None = None
    conditions = FleetConditions()
    try:
        project = open_project()
        now, units = dispatcher.clock.now(), list(project.catalog.units().values())
        statuses = project.health.statuses(units, now)
        conditions = conditions_of(statuses, project.catalog, now)
        _add_objectives(project, statuses, history, conditions, now)
        conditions.over.update(_orphaned(project, history))
        _record_costs(project, now)
    except Exception:
        log.warning("The streams could not be checked, so nothing begins and nothing is over.", exc_info=True)
    reviewed = review_runs(history, () if project is None else watched_dags(project), runs, dispatcher)
    over = {**reviewed.over, **conditions.over}
    todo = list(steps(history, conditions.conditions, over, dispatcher.policy.spec, dispatcher.clock.now()))
    if len(todo) > MAX_AT_ONCE:
        log.warning("%s alerts are due; %s are sent now, the others by the next rounds.", len(todo), MAX_AT_ONCE)
    for step in todo[:MAX_AT_ONCE]:
        try:
            _take(step, dispatcher, project, history, conditions.titles)
        except Exception:
            log.exception("An alert was cut off; it is tried again: %s", step)
    for unreported in reviewed.unreported:
        try:
            notify_unreported(unreported, history, dispatcher)
        except Exception:
            log.exception("The alert about failed runs of %s was cut off; it is tried again.", unreported.count.dag_id)


def _add_objectives(
    project: Project,
    statuses: Sequence[StreamStatus],
    history: AlertHistory,
    conditions: FleetConditions,
    now: datetime,
) -> None:
    """Put on record how outputs with an objective are, and add whose error budget burns. It raises nothing."""
    try:
        declared, log_of = tuple(declared_objectives(project.catalog)), project.records.objectives()
        found = observe_objectives(declared, statuses, open_incidents(history).keys(), log_of, now)
    except Exception:
        log.warning("The objectives could not be checked, so this minute is unknown.", exc_info=True)
        return
    conditions.conditions.update(found.conditions)
    conditions.over.update(found.over)


def _record_costs(project: Project, now: datetime) -> None:
    """Put on record what drivers have used. It raises nothing: the next round reads the same counters."""
    try:
        record_driver_costs(project, now)
    except Exception:
        log.warning("What drivers have used could not be put on record.", exc_info=True)


def _orphaned(project: Project, history: AlertHistory) -> Mapping[Key, str]:
    """Return the incidents that are over because no spec declares their subject; none while a spec is broken."""
    incidents = list(open_incidents(history).values())
    if not orphaned(incidents, project.catalog):
        return {}
    present = scan(settings().home / "include")
    if present.faults:
        return {}
    units = {unit for incident in incidents if (unit := unit_of(incident.newest.dag_id))}
    attempts = project.records.registry().newest_attempts(units)
    alive = {unit for unit, attempt in attempts.items() if attempt.state is not AttemptState.ENDED}
    return orphaned(incidents, present.catalog, alive)  # the project may have been opened before a repair


def _take(
    step: Step, dispatcher: AlertDispatcher, project: Project | None, history: AlertHistory, titles: Mapping[Key, str]
) -> None:
    """Take a step, unless another round has since `history` was read."""
    match step:
        case Begin(condition):
            _begin(condition, dispatcher, project, history)
        case Deliver(alert):
            if dispatcher.claim_delivery(alert, history):
                dispatcher.dispatch_again(alert, history)
        case Repeat(incident, condition):
            if entered := dispatcher.claim(_reminder(incident, condition, dispatcher), _changed(incident.key, history)):
                dispatcher.dispatch(entered)
        case End(incident, why):
            end = _end(incident, why, titles.get(incident.key), dispatcher)
            if entered := dispatcher.claim(end, _changed(incident.key, history)):
                dispatcher.dispatch_end(entered, incident)


def _changed(key: Key, before: AlertHistory) -> Callable[[AlertHistory], bool]:
    return lambda now: newest_about(key, now) != newest_about(key, before)


def _begin(condition: Condition, dispatcher: AlertDispatcher, project: Project | None, history: AlertHistory) -> None:
    """Record and send a beginning. While the journal cannot be written, send it each hour."""
    alert = dispatcher.claim(_beginning(condition, dispatcher, project), _changed(condition.key, history))
    if alert is None:
        return
    lasts = dispatcher.clock.now() - condition.since - PATIENCE.get(condition.alert_class, timedelta())
    if lasts // _MINUTE % 60 > 1 and alert.id not in {known.id for known in dispatcher.read().alerts}:
        log.warning("The journal cannot be written, so it is sent each hour only: %s", alert.what)
        return
    dispatcher.dispatch(alert)


def _beginning(condition: Condition, dispatcher: AlertDispatcher, project: Project | None) -> Alert:
    dag_id = stream_dag_id(condition.unit)
    facts = () if project is None else unit_evidence(project, condition.unit).facts
    since = f"since {condition.since:%Y-%m-%d %H:%M:%S} UTC"
    return Alert(
        id=new_id(),
        at=dispatcher.clock.now(),
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


def _reminder(incident: Incident, condition: Condition | None, dispatcher: AlertDispatcher) -> Alert:
    """Return the alert again, with an id of its own because it is delivered separately."""
    known = incident.known_as
    first, sent = f"{incident.since:%Y-%m-%d %H:%M} UTC", incident.notified_at
    last = "" if sent is None else f", and was last sent at {sent:%Y-%m-%d %H:%M} UTC"
    again = f"a reminder: it began at {first}{last}"
    facts = [fact for fact in known.evidence if not fact.startswith("a reminder: ")]
    what = known.what if known.what.startswith("Still: ") else f"Still: {known.what}"
    why = known.why if condition is None else printable(condition.why)
    return replace(known, id=new_id(), at=dispatcher.clock.now(), what=what, why=why, evidence=(again, *facts))


def _end(incident: Incident, why: str, title: str | None, dispatcher: AlertDispatcher) -> Alert:
    known = incident.known_as
    lasted = f"it began at {incident.since:%Y-%m-%d %H:%M} UTC with alert {incident.alerts[0].id}"
    return replace(
        known,
        id=new_id(),
        at=dispatcher.clock.now(),
        level=Level.RECOVERY,
        what=title or f"Over: {known.what.removeprefix('Still: ')}",
        why=printable(why),
        evidence=(lasted,),
        what_to_do="Nothing.",
        host=socket.gethostname(),
    )
