"""What a reconciler does next for a unit: brings a unit to its desired state, and never acts on what it cannot see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.streams.failures.failure import PLANNED
from sluice.streams.life.attempts import Desired, DesiredState
from sluice.streams.life.claim import Adopt, Refuse, Resume, Start, Wait, decide
from sluice.streams.life.governor import Go, Halt, Hold, Rest, class_of, due_at
from sluice.streams.life.status import UnitStatus

STOP_PATIENCE = timedelta(minutes=1)
"""How long a stop may take before the reconciler finishes it."""

DUE_PATIENCE = timedelta(minutes=2)
"""How long the run of a schedule may take to begin before the reconciler triggers one."""


class ActionKind(StrEnum):
    """What to do."""

    START = "start"  # claim and submit
    WATCH = "watch"  # attach a watch to the driver that lives
    STOP = "stop"  # finish a stop that was requested and is not finished
    NOTIFY = "notify"  # it is HALTED and no watch saw it end: alert once
    NOTHING = "nothing"


@dataclass(frozen=True)
class Correction:
    """What to do, and the reason as a clause. `about` is the key of the attempt that it became HALTED with."""

    kind: ActionKind
    why: str
    about: str = ""


def reconcile(status: UnitStatus, watched: bool, *, now: datetime) -> Correction:
    """Decide the next step of one unit, which is watched if a run watches it already or is about to start it."""
    desired = status.desired
    if desired is not None and desired.state is Desired.STOPPED and status.alive:
        return _finish_stop(desired, now)
    decision = decide(desired, status.attempt, status.report)
    match decision:
        case Adopt():
            return Correction(ActionKind.NOTHING if watched else ActionKind.WATCH, decision.why)
        case Wait() | Refuse():
            return Correction(ActionKind.NOTHING, decision.why)
        case Resume():
            # Said and checked again, once a minute: what has no capacity is not started in order to wait.
            return Correction(
                ActionKind.NOTHING if status.shortage else ActionKind.START, status.shortage or decision.why
            )
        case Start():
            return _start(decision, status, watched, now)


def _start(start: Start, status: UnitStatus, watched: bool, now: datetime) -> Correction:
    outlook = status.outlook(now)
    match outlook:
        case Go():
            return _due(start, status, now)
        case Rest():
            kind = ActionKind.WATCH if outlook.until is None and not watched else ActionKind.NOTHING
            return Correction(kind, outlook.why)
        case Hold():
            return Correction(ActionKind.NOTHING, outlook.why)
        case Halt():
            kind = ActionKind.NOTHING if watched else ActionKind.NOTIFY
            about = status.attempt.key if status.attempt is not None else ""
            return Correction(kind, str(outlook), about)


def _due(start: Start, status: UnitStatus, now: datetime) -> Correction:
    """Start it, unless the run of its schedule does so at this moment."""
    attempt = status.attempt
    due = None if attempt is None or class_of(attempt) not in PLANNED else due_at(attempt, status.plan)
    if due is None or due > now:
        return Correction(ActionKind.START, start.why)
    if now - due < DUE_PATIENCE:
        return Correction(ActionKind.NOTHING, f"its schedule is due since {due:%H:%M} UTC, and its run begins")
    return Correction(ActionKind.START, f"its run that was due at {due:%Y-%m-%d %H:%M} UTC did not begin")


def _finish_stop(desired: DesiredState, now: datetime) -> Correction:
    asked = f"{desired.by} requested a stop ({desired.why})"
    if now - desired.at < STOP_PATIENCE:
        return Correction(ActionKind.NOTHING, f"{asked} {_seconds(now - desired.at)} s ago; it is under way")
    return Correction(ActionKind.STOP, f"{asked} {_seconds(now - desired.at)} s ago and the driver still lives")


def _seconds(duration: timedelta) -> str:
    return f"{max(0.0, duration.total_seconds()):.0f}"
