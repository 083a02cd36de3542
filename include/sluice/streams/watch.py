"""What a watch of one generation makes of a sighting, as a pure function.

A watch is red only for a death that is proven and that nobody asked for. What cannot be seen is watched on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sluice.streams.exits import explain_exit
from sluice.streams.launcher import DriverState
from sluice.streams.life import Sighting
from sluice.streams.reconcile import NEVER_RETRIED
from sluice.streams.registry import Attempt, AttemptState, Desired

SETTLE = timedelta(seconds=10)
"""A restart has no driver for a moment: a death becomes a finding only when nobody has followed it up for this long."""


class WatchState(StrEnum):
    """What the watch does next."""

    WATCHING = "watching"  # it lives, or nothing is proven: look again
    STOPPED = "stopped"  # it ended and the stop is on record: done
    SUPERSEDED = "superseded"  # a newer generation took over: its own watch looks after it
    DIED = "died"  # it ended and nobody asked for that


@dataclass(frozen=True)
class WatchFinding:
    """The state, the reason as a sentence, and what to do (empty if nothing)."""

    state: WatchState
    why: str
    what_to_do: str = ""

    @property
    def over(self) -> bool:
        """Whether the watch has an end to report."""
        return self.state is not WatchState.WATCHING


def examine(sighting: Sighting, generation: int, *, now: datetime, settle: timedelta = SETTLE) -> WatchFinding:
    """Say what has become of a generation.

    Args:
        sighting: what is recorded and seen of its unit.
        generation: the generation that is watched.
        now: the present (UTC).
        settle: see `SETTLE`.
    """
    attempt, report = sighting.attempt, sighting.report
    if attempt is None or attempt.generation < generation:
        newest = "no generation" if attempt is None else f"generation {attempt.generation}"
        return _watching(f"The control database knows {newest}, older than the watched {generation}.")
    if attempt.generation > generation:
        return WatchFinding(WatchState.SUPERSEDED, f"Generation {attempt.generation} took over from {generation}.")
    if report is not None and report.state is DriverState.RUNNING:
        return _watching(f"Generation {generation} lives (pid {report.pid}).")
    if attempt.state is AttemptState.ENDED or (report is not None and report.dead):
        return _examine_end(sighting, attempt, now, settle)
    return _examine_unseen(sighting, attempt)


def _examine_unseen(sighting: Sighting, attempt: Attempt) -> WatchFinding:
    """Judge an attempt of which there is neither a driver nor a death."""
    if sighting.report is None:
        why = "; ".join(sighting.notes) or "the launcher is silent"
        return _watching(f"Generation {attempt.generation} cannot be seen: {why}.")
    if attempt.state is AttemptState.INTENT and _stop_wanted(sighting):
        never = f"Generation {attempt.generation} was never submitted"
        return WatchFinding(WatchState.STOPPED, f"{never}: {_who_stopped(sighting)}.")
    return _watching(f"The launcher has no trace of {attempt.key}, which proves nothing.")


def _examine_end(sighting: Sighting, attempt: Attempt, now: datetime, settle: timedelta) -> WatchFinding:
    report, recorded = sighting.report, attempt.state is AttemptState.ENDED
    exit_code = attempt.exit_code if recorded or report is None else report.exit_code
    ended_at = attempt.ended_at if recorded or report is None else report.ended_at
    ended = f"Generation {attempt.generation} {attempt.reason if recorded else explain_exit(exit_code)}"
    if _stop_wanted(sighting):
        return WatchFinding(WatchState.STOPPED, f"{ended}: {_who_stopped(sighting)}.")
    if ended_at is not None and now - ended_at < settle:
        return _watching(f"Generation {attempt.generation} ended a moment ago; a restart may be under way.")
    when = "" if ended_at is None else f" at {ended_at:%Y-%m-%d %H:%M:%S} UTC"
    unit = sighting.unit
    again = (
        f"repair that, then run `sluice streams start {unit}`"
        if exit_code in NEVER_RETRIED
        else f"the reconciler starts the next generation by itself; `sluice streams stop {unit}` prevents that"
    )
    why = f"The driver of unit {unit} is dead and nobody asked for that. {ended}{when}."
    return WatchFinding(WatchState.DIED, why, f"Read its log (`sluice streams logs {unit}`); {again}.")


def _watching(why: str) -> WatchFinding:
    return WatchFinding(WatchState.WATCHING, why)


def _stop_wanted(sighting: Sighting) -> bool:
    return sighting.desired is not None and sighting.desired.state is Desired.STOPPED


def _who_stopped(sighting: Sighting) -> str:
    desired = sighting.desired
    return "" if desired is None else f"{desired.by} asked for the stop ({desired.why})"
