"""How much of the time in which a stream was wanted it was available, from what is on record, as a pure fold.

A stream is wanted from a request to run until a request to stop, by any user. While it is wanted, it is

* **available** if its driver lives and the newest verdict of its generation is OK, IDLE or LAGGING: it reads and
  commits. How late is too late is for a deadline to say; the time in which it was LAGGING is counted beside;
* **not known** if the driver lives and the verdict is UNKNOWN, or none of its generation is on record yet. That is not
  available, and is shown beside;
* **down** otherwise: no driver lives, or it is STARTING, STALLED, STOPPED, REWOUND or at LOSS_RISK.

Where a spec lets its driver end, the time from such an end to the next attempt, or until its schedule is due, is not
wanted time. A run that has read what it was to read was available for as long as it lived.

Verdicts are on record when they change, so the last one holds until the next, or until the driver's end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.streams.failures.failure import PLANNED, FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.life.attempts import Attempt, Desired, DesiredState
from sluice.streams.life.governor import due_at

SPAN = timedelta(days=30)
KEPT = timedelta(days=35)
"""Verdicts are kept for so long; the one that held then stays."""

_LATER = datetime.max.replace(tzinfo=UTC)

_AVAILABLE = frozenset({Health.OK, Health.IDLE, Health.LAGGING})


@dataclass(frozen=True)
class Availability:
    """How long a stream was wanted, and what it did.

    Attributes:
        available: it worked.
        lagging: the part of `available` in which it fell behind.
        unknown: there was no evidence.
        down: it did not work.
    """

    available: timedelta = timedelta()
    lagging: timedelta = timedelta()
    unknown: timedelta = timedelta()
    down: timedelta = timedelta()

    @property
    def requested(self) -> timedelta:
        """How long it was to run."""
        return self.available + self.unknown + self.down

    @property
    def percent(self) -> float | None:
        """The available share of the time in which it was wanted, 0-100; None if it never was."""
        return 100.0 * (self.available / self.requested) if self.requested else None

    @property
    def percent_unknown(self) -> float | None:
        """The share of which there is no evidence, 0-100; None if it was never wanted."""
        return 100.0 * (self.unknown / self.requested) if self.requested else None

    def __add__(self, other: Availability) -> Availability:
        """Return both spans together."""
        return Availability(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values: percent, and seconds."""
        seconds = {f"{name}_seconds": value.total_seconds() for name, value in asdict(self).items()}
        return {
            "percent": self.percent,
            "percent_unknown": self.percent_unknown,
            "wanted_seconds": self.requested.total_seconds(),
            **seconds,
        }


def availability(
    desired_states: Sequence[DesiredState],
    attempts: Sequence[Attempt],
    verdicts: Sequence[RecordedVerdict],
    *,
    start: datetime,
    end: datetime,
    plan: RunPlan = ALL_THE_TIME,
) -> Availability:
    """Add up a span of time.

    Args:
        desired_states: of the unit: the one that held at `start`, if there is one, and all after it, in any order.
        attempts: of the unit, in any order.
        verdicts: of the stream: those that held at `start`, and all after them, in any order.
        start: begin of the span (UTC).
        end: its end, not after the present.
        plan: when its driver is to run.
    """
    wanted = _Steps((desired.at, desired.state is Desired.RUNNING) for desired in desired_states)
    judged, (born, died), pauses = _by_generation(verdicts), _lives(attempts), _pauses(attempts, plan)
    completed = {attempt.generation for attempt in attempts if attempt.failure is FailureClass.COMPLETED}
    changes = (*(desired.at for desired in desired_states), *(record.at for record in verdicts))
    moments = {start, end, *born, *died, *changes, *(moment for pause in pauses for moment in pause)}
    living: set[int] = set()
    total = Availability()
    for begin, until in pairwise(sorted(moments)):
        living = (living | born.get(begin, set())) - died.get(begin, set())
        rests = not living and any(since <= begin < ends for since, ends in pauses)
        if start <= begin and until <= end and wanted.at(begin) and not rests:
            health = Health.OK if max(living, default=0) in completed else _health(living, judged, begin)
            total += _spent(health, until - begin)
    return total


def availabilities(
    desired_states: Sequence[DesiredState],
    attempts: Sequence[Attempt],
    verdicts: Sequence[RecordedVerdict],
    *,
    streams: Iterable[str],
    now: datetime,
    span: timedelta = SPAN,
    plan: RunPlan = ALL_THE_TIME,
) -> Mapping[str, Availability]:
    """Return the availability of each stream of a unit over the last days; arguments as for `availability`."""
    start = now - span
    lately = [attempt for attempt in attempts if attempt.ended_at is None or attempt.ended_at >= start]
    before = (attempt for attempt in attempts if attempt.ended_at is not None and attempt.ended_at < start)
    # The newest of those before may have ended as planned, and then its pause reaches into the span.
    known = [*lately, *sorted(before, key=lambda each: each.generation)[-1:]]
    return {
        stream: availability(
            desired_states, known, [v for v in verdicts if v.stream == stream], start=start, end=now, plan=plan
        )
        for stream in streams
    }


class _Steps:
    """A value that changes at moments."""

    def __init__(self, changes: Iterable[tuple[datetime, Any]]) -> None:
        self._changes = sorted(changes, key=lambda change: (change[0], str(change[1])))
        self._moments = [moment for moment, _ in self._changes]

    def at(self, moment: datetime) -> Any:  # noqa: ANN401 - whatever it is made of
        """Return the value that holds at a moment; None before the first."""
        place = bisect_right(self._moments, moment)
        return self._changes[place - 1][1] if place else None


def _by_generation(verdicts: Iterable[RecordedVerdict]) -> Mapping[int, _Steps]:
    changes: dict[int, list[tuple[datetime, Health]]] = defaultdict(list)
    for record in verdicts:
        changes[record.generation].append((record.at, record.verdict.health))
    return {generation: _Steps(of_it) for generation, of_it in changes.items()}


def _lives(attempts: Iterable[Attempt]) -> tuple[Mapping[datetime, set[int]], Mapping[datetime, set[int]]]:
    """Return which generations begin to live at a moment, and which cease to."""
    born: dict[datetime, set[int]] = defaultdict(set)
    died: dict[datetime, set[int]] = defaultdict(set)
    for attempt in attempts:
        begin, end = attempt.bound_at, attempt.ended_at
        if begin is None or (end is not None and end <= begin):
            continue  # no observation has seen its driver
        born[begin].add(attempt.generation)
        if end is not None:
            died[end].add(attempt.generation)
    return born, died


def _pauses(attempts: Iterable[Attempt], plan: RunPlan) -> Sequence[tuple[datetime, datetime]]:
    """Return the times in which no driver was to live: from a planned end to the next driver, or until it was due."""
    pauses: list[tuple[datetime, datetime]] = []
    after: Attempt | None = None
    for attempt in sorted(attempts, key=lambda each: each.generation, reverse=True):
        if attempt.ended_at is not None and attempt.failure in PLANNED:
            followed = [] if after is None else [after.bound_at or after.ended_at or after.intended_at]
            due = due_at(attempt, plan)
            until = min([*followed, *([] if due is None else [due])], default=_LATER)
            if attempt.ended_at < until:
                pauses.append((attempt.ended_at, until))
        after = attempt
    return pauses


def _health(living: Iterable[int], judged: Mapping[int, _Steps], moment: datetime) -> Health:
    newest = max(living, default=None)
    if newest is None:
        return Health.STOPPED
    health: Health | None = judged[newest].at(moment) if newest in judged else None
    return health or Health.UNKNOWN


def _spent(health: Health, time: timedelta) -> Availability:
    if health in _AVAILABLE:
        return Availability(available=time, lagging=time if health is Health.LAGGING else timedelta())
    return Availability(unknown=time) if health is Health.UNKNOWN else Availability(down=time)
