"""What a watch of one generation makes of a unit's status, as a pure function.

A watch is red only for a death that is proven and that was not requested. What cannot be seen is watched on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.streams.failures.failure import PLANNED, FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.ending import as_ended
from sluice.streams.life.governor import Go, Halt, Hold, Rest, class_of
from sluice.streams.life.launcher import DriverState
from sluice.streams.life.status import UnitStatus

SETTLE = timedelta(seconds=10)
"""A restart has no driver for a moment: a death becomes a finding only when no start has followed for this long."""

SETTLE_FAILED = timedelta(seconds=3)
"""The same where the driver did not end as one that is asked to: then at most a restart that ran out of patience is
behind it, which goes on at once. A restart is on record as a desired state before it ends anything, so without a
desired state younger than the attempt there is nothing to wait for."""


class WatchState(StrEnum):
    """What the watch does next."""

    WATCHING = "watching"  # it lives, or nothing is proven: check again
    STOPPED = "stopped"  # it ended and the stop is on record: done
    SUPERSEDED = "superseded"  # a newer generation took over: its own watch looks after it
    COMPLETED = "completed"  # it ended as its spec asks for, and what comes next is not for this watch
    DIED = "died"  # it ended without a request


@dataclass(frozen=True)
class WatchFinding:
    """The state, the reason as a sentence, and what to do (empty if nothing)."""

    state: WatchState
    why: str
    what_to_do: str = ""
    rests: bool = False
    """Whether it waits for records, and nothing else is to be seen of its driver."""

    @property
    def over(self) -> bool:
        """Whether the watch has an end to report."""
        return self.state is not WatchState.WATCHING


def examine(status: UnitStatus, generation: int, *, now: datetime, settle: timedelta = SETTLE) -> WatchFinding:
    """Say what has become of the generation of a unit that is watched.

    A failure waits no longer than `SETTLE_FAILED` for an explanation, and not at all if no user has asked for anything
    since its attempt was reserved.
    """
    attempt, report = status.attempt, status.report
    if attempt is None or attempt.generation < generation:
        newest = "no generation" if attempt is None else f"generation {attempt.generation}"
        return _watching(f"The control database knows {newest}, older than the watched {generation}.")
    if attempt.generation > generation:
        return WatchFinding(WatchState.SUPERSEDED, f"Generation {attempt.generation} took over from {generation}.")
    if report is not None and report.state is DriverState.RUNNING:
        return _watching(f"Generation {generation} lives (pid {report.pid}).")
    if attempt.state is AttemptState.ENDED or (report is not None and report.dead):
        return _examine_end(status, attempt, now, settle)
    return _examine_unseen(status, attempt)


def _examine_unseen(status: UnitStatus, attempt: Attempt) -> WatchFinding:
    """Judge an attempt of which there is neither a driver nor a death."""
    if status.report is None:
        why = "; ".join(status.notes) or "the launcher is silent"
        return _watching(f"Generation {attempt.generation} cannot be seen: {why}.")
    if attempt.state is AttemptState.INTENT and status.stop_requested:
        never = f"Generation {attempt.generation} was never submitted"
        return WatchFinding(WatchState.STOPPED, f"{never}: {_who_stopped(status)}.")
    return _watching(f"The launcher has no trace of {attempt.key}, which proves nothing.")


def _examine_end(status: UnitStatus, attempt: Attempt, now: datetime, settle: timedelta) -> WatchFinding:
    known = attempt.ended_at is not None or (status.report is not None and status.report.ended_at is not None)
    end = as_ended(attempt, status.report, now)
    ended = f"Generation {end.generation} {end.reason}"
    if status.stop_requested:
        return WatchFinding(WatchState.STOPPED, f"{ended}: {_who_stopped(status)}.")
    if class_of(end) in PLANNED:
        return _examine_planned(status, ended, now)
    if class_of(end) is not FailureClass.STOPPED:
        requested_since = status.desired is not None and status.desired.at > attempt.intended_at
        settle = min(settle, SETTLE_FAILED) if requested_since else timedelta(0)
    if known and end.ended_at is not None and now - end.ended_at < settle:
        return _watching(f"Generation {end.generation} ended a moment ago; a restart may be under way.")
    when = f" at {end.ended_at:%Y-%m-%d %H:%M:%S} UTC" if known and end.ended_at is not None else ""
    unit = status.unit
    why = f"The driver of unit {unit} is dead and no stop was requested. {ended}{when}."
    halted, following = _what_follows(status, now)
    return WatchFinding(WatchState.DIED, f"{why}{halted}", f"Read its log (`sluice streams logs {unit}`); {following}.")


def _examine_planned(status: UnitStatus, ended: str, now: datetime) -> WatchFinding:
    """Judge an end that the spec asks for: records that are to come are watched for, a schedule is not."""
    outlook = status.outlook(now)
    match outlook:
        case Rest(until=None) | Hold():
            return WatchFinding(WatchState.WATCHING, f"{_first_upper(outlook.why)}.", rests=True)
        case Rest() | Halt():
            return WatchFinding(WatchState.COMPLETED, f"{_first_upper(str(outlook))}.")
        case Go():
            return WatchFinding(WatchState.COMPLETED, f"{ended}. The next generation starts at once.")


def _first_upper(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"


def _what_follows(status: UnitStatus, now: datetime) -> tuple[str, str]:
    """Return a sentence if it is HALTED, and what happens next as a clause."""
    outlook = status.outlook(now)
    match outlook:
        case Halt():
            return f" It is HALTED: {outlook.why}.", outlook.fix
        case Hold():
            when = f"not before {outlook.until:%H:%M:%S} UTC"
        case Rest():  # after an end that is planned, which is no death
            when = "as planned"
        case Go():
            when = "at once"
    prevented = f"`sluice streams stop {status.unit}` prevents that"
    return "", f"the next generation starts by itself, {when}; {prevented}"


def _watching(why: str) -> WatchFinding:
    return WatchFinding(WatchState.WATCHING, why)


def _who_stopped(status: UnitStatus) -> str:
    desired = status.desired
    return "" if desired is None else f"{desired.by} requested the stop ({desired.why})"
