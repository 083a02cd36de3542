"""What the reconciler does about each unit: the core's word, unless a run is at work or the unit's specs are broken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sluice.airflow.streams.stream_request import LONGEST_CLAIM, LONGEST_STOP
from sluice.errors import SluiceError
from sluice.project.project import Project
from sluice.specs.units import DeclaredUnit
from sluice.streams.life.reconcile import ActionKind, Correction, reconcile
from sluice.streams.life.status import UnitStatus

log = logging.getLogger(__name__)


def decide(
    units: Iterable[DeclaredUnit],
    *,
    observe: Callable[[str], UnitStatus],
    active_runs: Callable[[str], int],
    notified: Callable[[str, datetime], bool],
    now: datetime,
) -> list[tuple[str, Correction]]:
    """Decide for every unit, log it, and return what is to be done. A unit that cannot be observed is left alone.

    Args:
        units: what is declared.
        observe: returns what is recorded and seen of a unit.
        active_runs: returns how many runs of a unit's DAG are running or queued.
        notified: returns whether an alert about a unit's DAG is on record since a time (UTC).
        now: the present (UTC).
    """
    needed = []
    for declared in units:
        name = declared.name
        try:
            status = observe(name)
            action = decide_one(declared, status, active_runs(name), now=now)
            ended_at = None if status.attempt is None else status.attempt.ended_at
            if action.kind is ActionKind.NOTIFY and notified(name, ended_at or now):
                action = Correction(ActionKind.NOTHING, action.why)
        except SluiceError as error:
            log.error("%s: not observed, so nothing is done: %s", name, error)  # noqa: TRY400 - the message says it all
            continue
        except Exception:
            log.exception("%s: not observed, so nothing is done", name)  # the other units must still be observed
            continue
        log.info("%s: %s, because %s", name, action.kind, action.why)
        if action.kind is not ActionKind.NOTHING:
            needed.append((name, action))
    return needed


def decide_one(declared: DeclaredUnit, status: UnitStatus, active_runs: int, *, now: datetime) -> Correction:
    """Decide for one unit: what the core says, unless a run is at work already or its specs are broken."""
    action = reconcile(status, watched=active_runs > 0, now=now)
    match action.kind:
        case ActionKind.NOTHING:
            return action
        case ActionKind.STOP:
            return _finish_stop(action, status, active_runs, now)
        case _ if active_runs:
            return Correction(ActionKind.NOTHING, f"a run of its DAG is at work, and {action.why}")
        case ActionKind.START if declared.faults:
            return Correction(
                ActionKind.NOTHING, f"its specs are broken ({len(declared.faults)} faults), and {action.why}"
            )
        case _:
            return action


def _finish_stop(action: Correction, status: UnitStatus, active_runs: int, now: datetime) -> Correction:
    """Finish a stop beside the one run that watches, but never beside the run that is still about to do it."""
    asked_for = timedelta.max if status.desired is None else now - status.desired.at
    # Several runs may watch for as long as a day; none is still about to stop what its `claim` had to stop by now.
    if asked_for < LONGEST_STOP or (active_runs > 1 and asked_for < LONGEST_CLAIM):
        return Correction(ActionKind.NOTHING, f"{action.why}; that stop may still be under way")
    return action


def restore_desired_states(project: Project) -> None:
    """Let the copy of the desired states stand in for a control database that was lost, and keep it up to date."""
    try:
        done = project.records.desired_copy().compare(project.records.registry())
    except SluiceError as error:
        log.warning("The desired states were not compared with their copy: %s", error)
        return
    if done.restored:
        log.warning("Desired states are on record again that the control database had lost: %s", done.restored)
    if done.until is not None:
        log.warning(
            "Desired states of %s are in the copy and not in this control database. Another one has marked the copy a "
            "moment ago, so nothing is taken over before %s UTC; if that one lives, set SLUICE_CONTROL_URL to it",
            done.waiting,
            f"{done.until:%H:%M:%S}",
        )
