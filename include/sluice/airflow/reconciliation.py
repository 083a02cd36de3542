"""What the reconciler does about each unit: the core's word, unless a run is at work or the unit's specs are broken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sluice.airflow.stream_request import LONGEST_STOP
from sluice.errors import SluiceError
from sluice.specs.units import DeclaredUnit
from sluice.streams.life import Sighting
from sluice.streams.reconcile import Action, ActionKind, reconcile

log = logging.getLogger(__name__)

COOL_DOWN = timedelta(minutes=1)
"""Least time between a driver's end and the next start."""


def decide(
    units: Iterable[DeclaredUnit],
    *,
    look: Callable[[str], Sighting],
    active_runs: Callable[[str], int],
    now: datetime,
    cool_down: timedelta = COOL_DOWN,
) -> list[tuple[str, Action]]:
    """Decide for every unit, log it, and return what is to be done. A unit that cannot be looked at is left alone.

    Args:
        units: what is declared.
        look: returns what is recorded and seen of a unit.
        active_runs: returns how many runs of a unit's DAG are running or queued.
        now: the present (UTC).
        cool_down: see `COOL_DOWN`.
    """
    needed = []
    for declared in units:
        name = declared.name
        try:
            action = decide_one(declared, look(name), active_runs(name), now=now, cool_down=cool_down)
        except SluiceError as error:
            log.error("%s: not looked at, so nothing is done: %s", name, error)  # noqa: TRY400 - the message says it all
            continue
        log.info("%s: %s, because %s", name, action.kind, action.why)
        if action.kind is not ActionKind.NOTHING:
            needed.append((name, action))
    return needed


def decide_one(
    declared: DeclaredUnit, sighting: Sighting, active_runs: int, *, now: datetime, cool_down: timedelta
) -> Action:
    """Decide for one unit: what the core says, unless a run is at work already or its specs are broken."""
    action = reconcile(sighting, watched=active_runs > 0, now=now, cool_down=cool_down)
    match action.kind:
        case ActionKind.NOTHING:
            return action
        case ActionKind.STOP:
            return _finish_stop(action, sighting, active_runs, now)
        case _ if active_runs:
            return Action(ActionKind.NOTHING, f"a run of its DAG is at work, and {action.why}")
        case ActionKind.START if declared.faults:
            return Action(ActionKind.NOTHING, f"its specs are broken ({len(declared.faults)} faults), and {action.why}")
        case _:
            return action


def _finish_stop(action: Action, sighting: Sighting, active_runs: int, now: datetime) -> Action:
    """Finish a stop beside the one run that watches, but never beside the run that is still about to do it."""
    under_way = sighting.desired is not None and now - sighting.desired.at < LONGEST_STOP
    if under_way or active_runs > 1:
        return Action(ActionKind.NOTHING, f"{action.why}; that stop may still be under way")
    return action
