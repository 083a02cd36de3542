"""What is kept of how outputs were: spans of time in which nothing changed, and the port to their record.

The minute's round observes each output. What it saw holds until the next round, for `GAP` at most: later time in which
nobody looked is on no record, and counts as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from sluice.wording import ExplainedEnum

GAP = timedelta(minutes=3)
"""Rounds are a minute apart; one that was late or lost makes nothing unknown."""


class Minute(ExplainedEnum):
    """How an output was."""

    GOOD = "good", "the output was fresh and correct, as far as its objective counts that"
    STALE = "stale", "something waited longer than the deadlines say", "see why its stream is behind"
    INCORRECT = "incorrect", "records were lost or repeated, or a check found rows wrong", "read what the check found"
    UNKNOWN = "unknown", "nobody saw how it was, which is neither good nor bad", "see what kept the watcher from it"
    UNWANTED = "unwanted", "its stream was not to run, so it does not count"


BAD = frozenset({Minute.STALE, Minute.INCORRECT})


@dataclass(frozen=True)
class ObservedSpan:
    """Time in which nothing changed, `[begin, end)` in UTC."""

    begin: datetime
    end: datetime
    minute: Minute


def continued(newest: ObservedSpan | None, minute: Minute, at: datetime) -> tuple[ObservedSpan, ...]:
    """Return the spans that an observation writes: the newest one with a later end, a new one, both or none.

    Args:
        newest: of those that begin by then; None before the first.
        minute: what was observed.
        at: when (UTC). A moment that is on record already, because a clock was set back, changes nothing.
    """
    if newest is None:
        return (ObservedSpan(at, at, minute),)
    if at - newest.end > GAP:
        return (replace(newest, end=newest.end + GAP), ObservedSpan(at, at, minute))
    if at <= newest.end:
        return ()
    longer = replace(newest, end=at)
    return (longer,) if minute is newest.minute else (longer, ObservedSpan(at, at, minute))


class ObjectiveLog(Protocol):
    """How outputs were, by `DeclaredObjective.name`. Every method may raise UnreachableError."""

    def observe(self, minutes: Mapping[str, Minute], at: datetime) -> None:
        """Put on record how outputs are now (UTC), see `continued`."""
        ...

    def since(self, moment: datetime) -> Mapping[str, Sequence[ObservedSpan]]:
        """Return the spans of each output that end after a moment (UTC), in the order of time."""
        ...

    def forget(self, before: datetime) -> int:
        """Forget the spans that ended before a moment (UTC); return how many they were."""
        ...
