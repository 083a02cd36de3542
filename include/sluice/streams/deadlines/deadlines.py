"""Which deadlines a stream misses at one moment, as a pure function of evidence, verdict and window.

What cannot be known is neither missed nor met: the state of a stream without a driver, or with a recorded stop, is
unknown. The run that watched reports a death.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

from sluice.specs.model.deadlines import Deadline, StreamDeadlines
from sluice.specs.model.duration import format_duration
from sluice.streams.health.observation import Observation
from sluice.streams.health.retention import lost
from sluice.streams.health.snapshots import DeadlineState
from sluice.streams.health.verdict import Verdict
from sluice.streams.health.window import Window
from sluice.streams.life.launcher import DriverState
from sluice.streams.life.timeline import duration_text


@dataclass(frozen=True)
class _Observation:
    seen: Observation
    verdict: Verdict
    window: Window


_Judgement: TypeAlias = tuple[bool | None, datetime, str]


def examine(
    declared: StreamDeadlines, seen: Observation, verdict: Verdict, window: Window
) -> Mapping[Deadline, DeadlineState]:
    """Return of each declared deadline whether it is missed."""
    now = _Observation(seen, verdict, window)
    runs = seen.driver is not None and seen.driver.state is DriverState.RUNNING and not seen.stop_requested
    states = {}
    for deadline, (name, question, advice) in _QUESTIONS.items():
        limit = getattr(declared, name)
        if limit is None:
            continue
        missed, since, why = question(now, limit) if runs else (None, seen.at, "It is not running.")
        states[deadline] = DeadlineState(deadline, missed, since, why, advice.format(unit=seen.unit) if missed else "")
    return states


def _lag(now: _Observation, limit: timedelta) -> _Judgement:
    return _waits(now, limit, "The first unread record waits", now.verdict.lag_seconds)


def _lag_records(now: _Observation, limit: int) -> _Judgement:
    records = now.verdict.lag_records
    if records is None:
        return None, now.seen.at, "How many records are unread is not known."
    return records > limit, now.seen.at, f"{records:,} records are unread; at most {limit:,} may be."


def _age(now: _Observation, limit: timedelta) -> _Judgement:
    """An old commit only counts while records wait; that of a settler counts while intervals do."""
    settling = now.verdict.settling
    if settling is not None and settling.due_since is not None and now.seen.at - settling.due_since > limit:
        waited = _span((now.seen.at - settling.due_since).total_seconds())
        why = f"Intervals are due, and none was settled for {waited}; {format_duration(limit)} are allowed."
        return True, settling.due_since + limit, why
    committed, waits = now.verdict.committed_at, now.verdict.lag_seconds
    quiet = None if committed is None else max(0.0, (now.seen.at - committed).total_seconds())
    seconds = waits if quiet is None or waits is None else min(waits, quiet)
    return _waits(now, limit, "Records wait, and nothing was committed", seconds)


def _waits(now: _Observation, limit: timedelta, what: str, seconds: float | None) -> _Judgement:
    at = now.seen.at
    if now.verdict.lag_records is None or seconds is None:
        return None, at, "How long records wait is not known."
    why = f"{what} for {_span(seconds)}; {format_duration(limit)} are allowed."
    missed = now.verdict.lag_records > 0 and seconds > limit.total_seconds()
    return missed, at - timedelta(seconds=seconds) + limit if missed else at, why


def _idle(now: _Observation, limit: timedelta) -> _Judgement:
    """A watcher that has just started knows an arrival by the newest batch that read something, or not at all."""
    at, (latest, seen_to_come) = now.seen.at, _last_arrival(now)
    if latest is None:
        return None, at, "Whether anything arrives is not known."
    quiet = (at - latest).total_seconds()
    why = f"Nothing has arrived for {_span(max(0.0, quiet))}; {format_duration(limit)} are allowed."
    if quiet > limit.total_seconds():
        return True, latest + limit, why
    return (False if seen_to_come else None), at, why


def _last_arrival(now: _Observation) -> tuple[datetime | None, bool]:
    """Return when the newest record had arrived, at the latest, and whether its arrival was observed."""
    samples = now.window.samples
    if not samples or now.seen.ends is None:
        return None, False
    grown = [later.at for earlier, later in pairwise(samples) if later.end > earlier.end]
    if grown:
        return datetime.fromtimestamp(grown[-1], UTC), True
    known = [samples[0].at]
    if now.seen.lag_records == 0:  # the newest batch with records has read all there is
        known += [batch.planned for batch in now.window.batches if batch.records != 0][-1:]
    return datetime.fromtimestamp(min(known), UTC), False


def _loss_risk(now: _Observation, limit: timedelta) -> _Judgement:
    seen, at = now.seen, now.seen.at
    if now.verdict.lag_records is None or seen.starts is None:
        return None, at, "When retention deletes what is unread is not known."
    if gone := sum(lost(seen).values()):
        return True, at, f"The topic's retention has deleted {gone:,} records that were never read."
    retention, seconds = seen.rhythm.retention, now.verdict.loss_seconds
    near = limit if retention is None else min(limit, retention / 2)
    if seconds is None:
        return False, at, "No unread record is about to be deleted by the topic's retention."
    why = f"In {_span(seconds)} the topic's retention deletes the first of the unread records"
    return seconds <= near.total_seconds(), at, f"{why}; the alert comes {format_duration(near)} before."


def _span(seconds: float) -> str:
    return duration_text(timedelta(seconds=seconds))


_LOOK = "see what slows or stops it: sluice streams show {unit}"
_ASKED: Mapping[Deadline, tuple[Callable[[_Observation, Any], _Judgement], str]] = {
    Deadline.LAG: (_lag, _LOOK),
    Deadline.LAG_RECORDS: (_lag_records, _LOOK),
    Deadline.AGE: (_age, _LOOK),
    Deadline.IDLE: (_idle, "see whether the topic's producers run: sluice topics describe"),
    Deadline.LOSS_RISK: (
        _loss_risk,
        "raise the topic's `retention` at the broker now; then sluice streams show {unit}",
    ),
}
_QUESTIONS = {deadline: (deadline.value, *asked) for deadline, asked in _ASKED.items()}
"""With the spec's keys: asking an enum for its value is slow, and every observation asks."""
