"""What is kept of verdicts: the port to the control database, and which are worth a row.

A verdict is judged every few seconds, and only its changes are kept. A stream that flaps must not write a row a minute,
and a recovery must not be reported before it has lasted. So

* what is proven (a stop, a position that went back) is recorded at once;
* any other change when two observations in a row agree on it;
* and, if it is for the better, or only between OK, IDLE and SCHEDULED, not before the last record is five minutes
  old; the end of a start is recorded without that.

A stream can then write no more than one row per step to the worse in five minutes, and one back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from sluice.streams.health.health import FINE, Health
from sluice.streams.health.verdict import Verdict


@dataclass(frozen=True)
class RecordedVerdict:
    """A verdict at the time when it was first given (UTC)."""

    unit: str
    stream: str
    generation: int
    verdict: Verdict
    at: datetime


@dataclass(frozen=True)
class NewVerdict:
    """A verdict that was just given, of a unit's generation."""

    unit: str
    stream: str
    generation: int
    verdict: Verdict


class VerdictRecords(Protocol):
    """Verdicts on streams as they were given. Every method may raise UnreachableError."""

    def newest_verdicts(self, units: Collection[str]) -> Mapping[str, Mapping[str, RecordedVerdict]]:
        """Return what `verdicts` returns, by unit and stream, of those units that have any, in a few queries."""
        ...

    def record_verdict(self, unit: str, stream: str, generation: int, verdict: Verdict) -> bool:
        """Store the verdict if its health or generation differs from the newest stored one; return whether it did.

        The lags of single partitions are not kept, nor what a settler waits for: a snapshot has them.
        """
        ...

    def record_verdicts(self, given: Sequence[NewVerdict]) -> int:
        """Do the same for many in a few transactions; return how many were stored."""
        ...

    def verdicts(self, unit: str) -> Sequence[RecordedVerdict]:
        """Return the newest verdict of each stream of the unit."""
        ...

    def verdicts_since(self, unit: str, since: datetime) -> Sequence[RecordedVerdict]:
        """Return what held at a moment, and all changes after it, of each stream, oldest first."""
        ...

    def forget_verdicts(self, before: datetime) -> int:
        """Forget, of all units, the verdicts that no longer held at a moment (UTC); return how many they were."""
        ...


DWELL = timedelta(minutes=5)

_PROVEN = frozenset({Health.STOPPED, Health.REWOUND})
_BY_SEVERITY = (
    *(
        Health.OK,
        Health.IDLE,
        Health.SCHEDULED,
        Health.STARTING,
        Health.UNKNOWN,
        Health.LAGGING,
        Health.STALLED,
        Health.LOSS_RISK,
    ),
    *(Health.REWOUND, Health.STOPPED),
)


def worth_recording(
    newest: RecordedVerdict | None, verdict: Verdict, generation: int, *, last: Health | None, now: datetime
) -> bool:
    """Decide whether a verdict becomes the stream's newest record.

    Args:
        newest: the record there is.
        verdict: what this observation gave.
        generation: of the unit's latest attempt.
        last: what the observation before gave; None if there was none.
        now: the present (UTC).
    """
    if newest is None or newest.generation < generation:
        return True
    if newest.generation > generation:
        return False  # an observation has seen its successor already
    was, health = newest.verdict.health, verdict.health
    if was is health:
        return False
    if health in _PROVEN:
        return True
    if last is not health:
        return False
    worse = _BY_SEVERITY.index(health) > _BY_SEVERITY.index(was) and not {was, health} <= FINE
    started = was is Health.STARTING  # which ends once in a generation
    return worse or started or now - newest.at >= DWELL


def lagging_since(newest: RecordedVerdict | None, generation: int | None) -> datetime | None:
    """Return since when a stream is on record as LAGGING in this generation, or None."""
    if newest is None or newest.generation != generation or newest.verdict.health is not Health.LAGGING:
        return None
    return newest.at
