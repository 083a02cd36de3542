"""What follows from an observation and the past, before anything is called good or bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from sluice.streams.health.cadence import MIN_SECONDS, Cadence, learn
from sluice.streams.health.lag import MIN_SPAN_SECONDS, LagGrowth, growth, seconds_to_catch_up, shrinks
from sluice.streams.health.observation import Observation
from sluice.streams.health.retention import seconds_to_loss
from sluice.streams.health.window import Point, Window

START_PATIENCE = timedelta(minutes=3)
FIRST_COMMIT = timedelta(minutes=10)
"""For so long records may wait for the first commit of a driver whose stream has no cadence yet."""
SILENT_CADENCES = 2.0
"""A stream whose records wait this many cadences without a commit is silent. A third must not have passed before that
is said, and two observations take their time: the one that sees the records, and the one that sees them still."""
BACKLOG_CADENCES = 5
"""Less than this many cadences' worth of waiting is what a few batches hold, and no backlog."""


@dataclass(frozen=True)
class Diagnosis:
    """What is asked about, and what follows from it. Durations are in seconds, moments in seconds since the epoch.

    Attributes:
        observation: the newest observation.
        window: the observations before, and this one.
        lagging_since: when it was found to fall behind, if that is the verdict on record.
        patience: how long records may wait without a commit while the cadence is not known.
    """

    observation: Observation
    window: Window
    lagging_since: datetime | None
    patience: timedelta

    @property
    def now(self) -> float:
        """The moment of the observation."""
        return self.observation.at.timestamp()

    @cached_property
    def cadence(self) -> Cadence | None:
        """What is usual; None if it has committed too few batches."""
        return learn(self.window.batches, self.observation.rhythm)

    @cached_property
    def age(self) -> float | None:
        """How many seconds the first unread record waits, at least; None if this is the first that is seen of it."""
        if not self.observation.lag_records:
            return None if self.observation.lag_records is None else 0.0
        appended = [stamp.at.timestamp() for stamp in self.observation.stamps.values() if stamp.appended]
        known = [moment for moment in (self.window.waiting_since, self._planned) if moment is not None]
        return max((self.now - moment for moment in (*known, *appended) if moment < self.now), default=None)

    @cached_property
    def position(self) -> int:
        """The sum of the offsets to read next."""
        return sum(self.observation.position(partition) for partition in self.observation.ends or {})

    @cached_property
    def course(self) -> Sequence[Point]:
        """How far behind it was, commit by commit, since it last rested."""
        return tuple(self.window.course)

    @cached_property
    def falls(self) -> LagGrowth | None:
        """How it falls behind, if that is proven."""
        return growth(self.course) if self.observation.lag_records else None

    @property
    def still_lags(self) -> bool:
        """Whether it was found to fall behind, and was not seen to rest or to come nearer since.

        A leak takes long to see. One that was found counts on, also for an observation that remembers nothing.
        """
        if self.lagging_since is None or not self.observation.lag_records:
            return False
        rested = self.window.rested_at
        return (rested is None or rested <= self.lagging_since.timestamp()) and not shrinks(self.course)

    @cached_property
    def catch_up_seconds(self) -> float | None:
        """When the backlog will be gone; None if it does not shrink, or is none: what a few batches hold."""
        behind = self.window.course[-1].behind if self.window.course and self.observation.lag_records else 0.0
        if behind < BACKLOG_CADENCES * MIN_SECONDS:  # whatever its cadence is: most observations need not learn it
            return None
        if self.cadence is None or behind < BACKLOG_CADENCES * self.cadence.seconds:
            return None
        return seconds_to_catch_up(self.course)

    @cached_property
    def loss_seconds(self) -> float | None:
        """When retention deletes what is unread, if it goes on like this; None: not in sight."""
        if not self.observation.lag_records or self.catch_up_seconds is not None:
            return None
        aging = 1.0 if self.silent or self.falls is None else self.falls.rate
        return seconds_to_loss(self.observation, self.window, self.age, aging)

    @cached_property
    def busy_records(self) -> int | None:
        """How many records the batch has that is planned and not committed."""
        running = self.observation.running
        return None if running is None else max(0, sum(running.offsets.values()) - self.position)

    @cached_property
    def quiet_since(self) -> float | None:
        """Since when the stream has had something to do and is known to have committed nothing."""
        if not self.observation.lag_records:
            return None
        started = self._past(None if self.observation.driver is None else self.observation.driver.started_at)
        begun = self._planned if self._planned is not None else self._waits_since
        return None if begun is None else max([begun, *[moment for moment in [started] if moment is not None]])

    @property
    def quiet_seconds(self) -> float:
        """For how long that is so; 0 if it is not."""
        return 0.0 if self.quiet_since is None else self.now - self.quiet_since

    @property
    def allowed(self) -> float | None:
        """How many seconds of that are usual; None if the stream's cadence is not known."""
        return None if self.cadence is None else SILENT_CADENCES * self.cadence.expected(self.busy_records)

    @property
    def silent(self) -> bool:
        """Whether it has had something to do for longer than is usual, and has committed nothing."""
        if self.quiet_since is None or self.quiet_seconds <= SILENT_CADENCES * MIN_SECONDS or self.starting:
            return False
        return self.allowed is not None and self.quiet_seconds > self.allowed

    @property
    def starting(self) -> bool:
        """Whether the driver started a moment ago and has not committed anything yet."""
        driver, committed = self.observation.driver, self.observation.committed_at
        if driver is None or driver.started_at is None:
            return False
        young = within(self.observation.at, driver.started_at, START_PATIENCE)
        return young and (committed is None or committed < driver.started_at)

    @property
    def start_seconds(self) -> float | None:
        """For how long records have waited for this driver's first commit; None if it came, or if that is unknown."""
        driver, committed = self.observation.driver, self.observation.committed_at
        if not self.observation.lag_records or driver is None or driver.started_at is None:
            return None
        if committed is not None and committed >= driver.started_at:
            return None
        if self.quiet_since is not None:
            return self.quiet_seconds
        return (
            max(0.0, (self.observation.at - driver.started_at).total_seconds())
            if within(self.observation.at, driver.started_at, FIRST_COMMIT)
            else None
        )

    @property
    def completeness(self) -> float:
        """A stream that rests needs no past; of another, a short window shows no leak."""
        observation = self.observation
        past = min(1.0, self.window.span(self.now) / MIN_SPAN_SECONDS)
        rests = self.window.rested_at is not None or observation.lag_records == 0
        parts = [
            observation.driver is not None,
            observation.committed is not None,
            bool(observation.ends),
            1.0 if rests else past,
        ]
        return round(sum(map(float, parts)) / len(parts), 2)

    @property
    def _planned(self) -> float | None:
        running = self.observation.running
        return None if running is None else self._past(running.planned_at)

    @property
    def _waits_since(self) -> float | None:
        """Since when a record waits that no batch was planned for; None if no observation saw it come."""
        stamps = [stamp.at for stamp in self.observation.stamps.values() if stamp.appended]
        appended = [moment for at in stamps if (moment := self._past(at)) is not None]
        waiting = min([*appended, *[m for m in [self.window.waiting_since] if m is not None]], default=None)
        committed = self._past(self.observation.committed_at)
        if waiting is None or (not appended and not self.window.saw_arrival(self.position) and waiting >= self.now):
            return None
        return waiting if committed is None else max(waiting, committed)

    def _past(self, moment: datetime | None) -> float | None:
        """Return a moment in seconds. One that lies far ahead is no sign of life: clocks disagree."""
        return None if moment is None or moment - self.observation.at > self.patience else moment.timestamp()


def within(at: datetime, moment: datetime | None, patience: timedelta) -> bool:
    """Whether a moment is near. One that lies far ahead is no sign of life: clocks disagree."""
    return moment is not None and abs(at - moment) <= patience
