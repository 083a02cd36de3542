"""When a unit whose driver has ended may be started again, as a pure function of what is on record.

Nothing is stored beyond attempts and desired states: every process computes the same answer from the same records, to
the millisecond of the jitter. A request to run that is younger than the end sets everything back: a person saw it and
asked.

Invariants:
* no start before the backoff of the newest end is over;
* no class of failure costs more attempts than its budget within its span, unless each lived for long (see `stable`);
* HALTED ends by a newer desired state alone; the passing of time never ends it;
* after an end that the spec asks for, the next attempt starts when the schedule is due or records have come, never
  before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan, next_due
from sluice.streams.failures.advice import advice, failed_stream
from sluice.streams.failures.failure import PLANNED, FailureClass, recorded_class
from sluice.streams.life.attempts import Attempt, DesiredState

HISTORY = 32
"""How many earlier attempts are read, newest first: more than any budget."""

JITTER = 0.5
"""A wait is stretched by up to this share of it, so that units that fell together do not rise together."""

STABLE_LEAST = timedelta(minutes=10)
STABLE_MOST = timedelta(hours=2)
_STABLE_FACTOR = 3
_STABLE_SAMPLE = 9


@dataclass(frozen=True)
class RestartPolicy:
    """How often and how soon an end of some class is followed by another attempt.

    Attributes:
        at_once: so many ends in a row are followed without waiting.
        first: the wait after the next one; it doubles from end to end.
        longest: the wait never grows beyond this.
        budget: so many ends within `span` are one too many; None for no bound.
        span: see `budget`.
    """

    at_once: int
    first: timedelta
    longest: timedelta
    budget: int | None
    span: timedelta = timedelta(hours=6)

    def wait(self, ends: int) -> timedelta:
        """Return how long the last of so many ends in a row is followed by nothing, before the jitter."""
        doublings = ends - self.at_once - 1
        if doublings < 0:
            return timedelta(0)
        return min(self.longest, self.first * float(2 ** min(doublings, 32)))


def _policy(at_once: int, seconds: float, minutes: float, budget: int | None, hours: float = 6) -> RestartPolicy:
    return RestartPolicy(
        at_once, timedelta(seconds=seconds), timedelta(minutes=minutes), budget, timedelta(hours=hours)
    )


_NEVER = _policy(0, 60, 1, 1)

POLICIES: Mapping[FailureClass, RestartPolicy] = {
    # No fault of the stream: the signal may come again, but a stream is not given up for that.
    FailureClass.STOPPED: _policy(1, 10, 1, None),
    FailureClass.COMPLETED: _policy(HISTORY, 0, 0, None),
    # Records that come soon after each end would start a driver for little each time: a few times in a row, then later.
    FailureClass.IDLE: _policy(3, 60, 10, None),
    FailureClass.FORCED: _policy(HISTORY, 0, 0, None),
    # A kill says nothing about the next attempt; a row of them says that something kills it (the kernel, for memory).
    FailureClass.KILLED: _policy(1, 10, 5, 8, hours=1),
    # The broker's night may be long, and its end needs no operator: slowly, but for ever.
    FailureClass.TRANSIENT: _policy(0, 15, 10, None),
    # It goes on where it was as soon as a person has made room, who should not wait for long.
    FailureClass.DISK_FULL: _policy(0, 15, 2, None),
    FailureClass.UNKNOWN: _policy(0, 15, 10, 6),
    FailureClass.OUT_OF_MEMORY: _policy(0, 30, 10, 4),
    FailureClass.CODE: _policy(0, 30, 10, 3),
    # Another attempt repeats these or makes them worse.
    FailureClass.WRONG_SPEC: _NEVER,
    FailureClass.FENCED: _NEVER,
    FailureClass.DATA_LOSS: _NEVER,
    FailureClass.CORRUPT: _NEVER,
    FailureClass.INCOMPATIBLE_STATE: _NEVER,
    FailureClass.AUTHORISATION: _NEVER,
    FailureClass.SCHEMA_DRIFT: _NEVER,
    FailureClass.CONFIGURATION: _NEVER,
}


@dataclass(frozen=True)
class Go:
    """The next attempt may start."""

    why: str


@dataclass(frozen=True)
class Rest:
    """No driver runs, as planned.

    Attributes:
        until: when (UTC) its schedule starts the next attempt; None: as soon as there are records.
        why: what ended, and what comes next, as a clause.
    """

    until: datetime | None
    why: str

    def __str__(self) -> str:
        """Return why."""
        return self.why


@dataclass(frozen=True)
class Hold:
    """The next attempt waits until a time (UTC)."""

    until: datetime
    why: str

    def __str__(self) -> str:
        """Return why."""
        return self.why


@dataclass(frozen=True)
class Halt:
    """No attempt starts until a person asks for it; `fix` says what helps, and with which command it goes on."""

    why: str
    fix: str

    @property
    def reason(self) -> str:
        """Why, and what to do, as one clause."""
        return f"{self.why}. To resume: {self.fix}"

    def __str__(self) -> str:
        """Return the same with the word for it."""
        return f"HALTED: {self.reason}"


Outlook = Go | Rest | Hold | Halt


def govern(
    history: Sequence[Attempt],
    desired: DesiredState,
    *,
    now: datetime,
    plan: RunPlan = ALL_THE_TIME,
    unread_since: datetime | None = None,
) -> Outlook:
    """Decide whether the next attempt may start.

    Args:
        history: the unit's attempts, newest first, `HISTORY` of them if there are as many. Only ends count.
        desired: the latest desired state; it is to run.
        now: the present (UTC).
        plan: when its driver is to run.
        unread_since: when (UTC) a watcher last saw records that came after the newest end; None: never.
    """
    ends = [attempt for attempt in history if attempt.ended_at is not None and attempt.ended_at >= desired.at]
    if not ends or ends[0] is not history[0]:
        return Go("the latest attempt has not ended since its start was requested")
    newest, policy = ends[0], POLICIES[class_of(ends[0])]
    if class_of(newest) in PLANNED and (rest := _rest(newest, plan, now, unread_since)) is not None:
        return rest
    row = _row(ends)
    if policy.budget is not None and len(within(row, policy.span)) >= policy.budget:
        fix = advice(class_of(newest), newest.unit, failed_stream(newest.reason))
        return Halt(_halted(newest, row, policy), fix)
    until = released_at(ends)
    end = f"generation {newest.generation} {newest.reason} ({_counted(newest, row)})"
    if now >= until:
        return Go(end)
    return Hold(until, f"{end}; the next starts at {until:%H:%M:%S} UTC, in {(until - now).total_seconds():.0f} s")


def released_at(ends: Sequence[Attempt]) -> datetime:
    """Return when (UTC) the backoff of the newest of some ends is over; newest first, at least one."""
    newest = ends[0]
    return _ended_at(newest) + POLICIES[class_of(newest)].wait(len(_row(ends))) * (1 + JITTER * chance(newest.key))


def _row(ends: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the ends in a row that are of the newest one's class."""
    return [end for end in streak(ends) if class_of(end) is class_of(ends[0])]


def due_at(newest: Attempt, plan: RunPlan) -> datetime | None:
    """Return when (UTC) a schedule starts the attempt after one that has run as planned; None without a schedule."""
    return None if plan.schedule is None else next_due(plan.schedule, newest.intended_at)


def _rest(newest: Attempt, plan: RunPlan, now: datetime, unread_since: datetime | None) -> Rest | None:
    """Return how it rests after an end that its spec asked for; None if it is over, or the spec asks for no rest."""
    ended = f"generation {newest.generation} {newest.reason}"
    if (due := due_at(newest, plan)) is not None:
        return None if now >= due else Rest(due, f"{ended}; scheduled, next at {due:%Y-%m-%d %H:%M} UTC")
    if plan.stop_when_idle is None or class_of(newest) is not FailureClass.IDLE or unread_since is not None:
        return None
    return Rest(None, f"{ended}; the next starts when there are records")


def class_of(attempt: Attempt) -> FailureClass:
    """Return the class that an attempt ended with."""
    return recorded_class(attempt.failure, attempt.exit_code)


def lived(attempt: Attempt) -> timedelta:
    """Return how long an attempt that has ended lived; one of a restored record may have ended before it was noted."""
    return max(timedelta(0), _ended_at(attempt) - (attempt.bound_at or attempt.intended_at))


def stable(ends: Sequence[Attempt]) -> timedelta:
    """Return how long an attempt must have lived for what fell before it to be forgotten; newest first, at least one.

    Learned from how long they live: attempts that all fall after twenty minutes are one crash loop, not recoveries.
    Half of them lived no longer than the median, so one that lived for a multiple of it is something else.
    """
    sample = sorted(map(lived, ends[:_STABLE_SAMPLE]))
    median = sample[(len(sample) - 1) // 2]
    return min(STABLE_MOST, max(STABLE_LEAST, median * _STABLE_FACTOR))


def streak(ends: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the ends in a row, newest first, back to the first of them: that of an attempt that had been stable.

    What ended as planned had worked, however short it lived: failures before it are another row.
    """
    enough, kind = stable(ends), class_of(ends[0])
    planned = PLANNED - {kind}
    count = next((i for i, end in enumerate(ends, 1) if lived(end) >= enough or class_of(end) in planned), len(ends))
    return ends[:count]


def within(row: Sequence[Attempt], span: timedelta) -> Sequence[Attempt]:
    """Return the ends that lie within a span before the newest."""
    return [end for end in row if _ended_at(row[0]) - _ended_at(end) < span]


def chance(key: str) -> float:
    """Return a number from 0 up to 1 that is as good as random and the same in every process."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:6]) / 2**48


def _ended_at(attempt: Attempt) -> datetime:
    if attempt.ended_at is None:
        raise ValueError(f"{attempt.key} has not ended")
    return attempt.ended_at


def _halted(newest: Attempt, row: Sequence[Attempt], policy: RestartPolicy) -> str:
    last = f"generation {newest.generation} {newest.reason}"
    if policy.budget == 1:
        return f"{last} ({class_of(newest)}), and another attempt would only repeat that"
    hours = policy.span.total_seconds() / 3600
    return f"{_counted(newest, row)} within {hours:.0f} h; the last: {last}"


def _counted(newest: Attempt, row: Sequence[Attempt]) -> str:
    kind = class_of(newest)
    return f"{kind}" if len(row) == 1 else f"{kind}, {len(row)} in a row"
