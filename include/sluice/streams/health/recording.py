"""Which verdicts are worth a row: a verdict is judged every few seconds, and only its changes are kept.

A stream that flaps must not write a row a minute, and a recovery must not be reported before it has lasted. So

* what is proven (a stop, a position that went back) is recorded at once;
* any other change when two observations in a row agree on it;
* and, if it is for the better, or only from OK to IDLE or back, not before the last record is five minutes old; the
  end of a start is recorded without that.

A stream can then write no more than one row per step to the worse in five minutes, and one back.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sluice.streams.health.health import FINE, Health
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.verdict_records import RecordedVerdict

DWELL = timedelta(minutes=5)

_PROVEN = frozenset({Health.STOPPED, Health.REWOUND})
_BY_SEVERITY = (
    *(Health.OK, Health.IDLE, Health.STARTING, Health.UNKNOWN, Health.LAGGING, Health.STALLED, Health.LOSS_RISK),
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
