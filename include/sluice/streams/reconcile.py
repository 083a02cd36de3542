"""What a reconciler does next for a unit: makes the recorded wish true, and never acts on what it cannot see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.streams.claim import Adopt, Refuse, Resume, Start, Wait, decide
from sluice.streams.exits import ExitCode, explain_exit
from sluice.streams.launcher import DriverReport
from sluice.streams.life import Sighting
from sluice.streams.registry import Attempt, Desired, DesiredState

NEVER_RETRIED = frozenset({ExitCode.WRONG_SPEC, ExitCode.FENCED, ExitCode.DATA_LOSS, ExitCode.CORRUPT})
"""Ends that another attempt repeats or makes worse: a person asks for the next one."""


class ActionKind(StrEnum):
    """What to do."""

    START = "start"  # claim and submit
    WATCH = "watch"  # attach a watch to the driver that lives
    STOP = "stop"  # finish a stop that was asked for and that nobody finished
    NOTHING = "nothing"


@dataclass(frozen=True)
class Action:
    """What to do, and the reason as a clause."""

    kind: ActionKind
    why: str


def reconcile(sighting: Sighting, watched: bool, *, now: datetime, cool_down: timedelta) -> Action:
    """Decide the next step of one unit.

    Args:
        sighting: what is recorded and seen.
        watched: somebody already watches the unit, or is about to start it.
        now: the present (UTC).
        cool_down: least time between an end and the next start, so that a crash loop does not spin; also how long a
            stop may take before the reconciler finishes it.
    """
    desired = sighting.desired
    if desired is not None and desired.state is Desired.STOPPED and sighting.alive:
        return _finish_stop(desired, now, cool_down)
    decision = decide(desired, sighting.attempt, sighting.report)
    match decision:
        case Adopt():
            return Action(ActionKind.NOTHING if watched else ActionKind.WATCH, decision.why)
        case Wait() | Refuse():
            return Action(ActionKind.NOTHING, decision.why)
        case Start() | Resume():
            held = None if desired is None else _held_back(desired, sighting.attempt, sighting.report, now, cool_down)
            return Action(ActionKind.START, decision.why) if held is None else Action(ActionKind.NOTHING, held)


def _finish_stop(desired: DesiredState, now: datetime, patience: timedelta) -> Action:
    asked = f"{desired.by} asked for a stop ({desired.why})"
    if now - desired.at < patience:
        return Action(ActionKind.NOTHING, f"{asked} {_seconds(now - desired.at)} s ago; it is under way")
    return Action(ActionKind.STOP, f"{asked} {_seconds(now - desired.at)} s ago and the driver still lives")


def _held_back(
    desired: DesiredState, attempt: Attempt | None, report: DriverReport | None, now: datetime, cool_down: timedelta
) -> str | None:
    """Return why the next attempt must not start yet, or None."""
    if attempt is None or report is None:
        return None
    ended_at = attempt.ended_at or report.ended_at
    if ended_at is not None and desired.at > ended_at:
        return None  # somebody saw the end and asked again
    dead = report.dead or attempt.ended_at is not None
    if not dead:
        return None
    code = attempt.exit_code if attempt.ended_at is not None else report.exit_code
    if code in NEVER_RETRIED:
        return f"generation {attempt.generation} {explain_exit(code)}; `sluice streams start` when that is repaired"
    # A driver that left no time of death has lived since it started, at least.
    since = now - (ended_at or report.started_at or attempt.intended_at)
    if since < cool_down:
        ended = f"generation {attempt.generation} ended {_seconds(since)} s ago"
        return f"{ended}; the next starts after {_seconds(cool_down)} s"
    return None


def _seconds(duration: timedelta) -> str:
    return f"{max(0.0, duration.total_seconds()):.0f}"
