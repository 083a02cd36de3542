"""What is known of a unit at one moment: the record, and what its launcher sees."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.streams.failures.failure import PLANNED, FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.ending import as_ended
from sluice.streams.life.governor import Go, Halt, Outlook, Rest, class_of, due_at, govern, released_at
from sluice.streams.life.launcher import DriverReport, DriverState


@dataclass(frozen=True)
class RecordedUnit:
    """What the control database says of a unit.

    Attributes:
        desired: the latest desired state, or None.
        attempt: the highest generation, or None.
        unread_since: when (UTC) a watcher last saw records that came after it ended idle; None if it saw none.
    """

    desired: DesiredState | None
    attempt: Attempt | None
    unread_since: datetime | None = None


@dataclass(frozen=True)
class Pause:
    """A time without a driver that a spec asks for.

    Attributes:
        ended: how the newest attempt has ended, as a clause.
        ended_at: when (UTC).
        until: when (UTC) its schedule starts the next one, maybe in the past; None: when there are records.
        longest: the longest pause of the schedule; None without one.
        unread: whether a watcher has seen records that came since.
        not_before: when (UTC) these may start the next attempt at the earliest; None of one with a schedule.
    """

    ended: str
    ended_at: datetime
    until: datetime | None = None
    longest: timedelta | None = None
    unread: bool = False
    not_before: datetime | None = None


@dataclass(frozen=True)
class UnitStatus:
    """What is recorded of a unit, and what the launcher sees of its latest attempt.

    Attributes:
        unit: the driver's name in the specs.
        desired: the latest desired state; None if no user ever asked.
        attempt: the highest generation; None before the first.
        report: None if the launcher could not be asked, or there is no attempt to ask for.
        notes: why something could not be seen.
        earlier: the attempts before the latest, newest first, as far as the governor looks back; they are only read
            once the latest has ended.
        shortage: why there is no capacity for the attempt, which is reserved and shall be submitted; empty if there is.
        plan: when its driver is to run.
        unread_since: see `RecordedUnit`.
    """

    unit: str
    desired: DesiredState | None
    attempt: Attempt | None
    report: DriverReport | None
    notes: tuple[str, ...] = ()
    earlier: tuple[Attempt, ...] = ()
    shortage: str = ""
    plan: RunPlan = ALL_THE_TIME
    unread_since: datetime | None = None

    @property
    def never_requested(self) -> bool:
        """Whether no user ever asked for it to run."""
        return self.desired is None and self.attempt is None

    @property
    def stop_requested(self) -> bool:
        """Whether a stop is on record."""
        return self.desired is not None and self.desired.state is Desired.STOPPED

    @property
    def alive(self) -> bool:
        """Whether the launcher sees a driver."""
        return self.report is not None and self.report.state is DriverState.RUNNING

    @property
    def ended(self) -> bool:
        """Whether the latest attempt is over: that is on record, or the launcher proves it."""
        if self.report is not None and self.report.state is DriverState.RUNNING:
            return False
        return self.attempt is not None and (
            self.attempt.state is AttemptState.ENDED or (self.report is not None and self.report.dead)
        )

    def outlook(self, now: datetime) -> Outlook:
        """Return what the governor says about the next attempt, should the latest be dead."""
        if self.attempt is None or self.desired is None or self.desired.state is Desired.STOPPED:
            return Go("nothing holds it back")
        history = (as_ended(self.attempt, self.report, now), *self.earlier)
        return govern(history, self.desired, now=now, plan=self.plan, unread_since=self.unread_since)

    def rest(self, now: datetime) -> Rest | None:
        """Return how it rests as planned; None if a driver runs, or should."""
        if not self.ended:
            return None
        outlook = self.outlook(now)
        return outlook if isinstance(outlook, Rest) else None

    def pause(self, now: datetime) -> Pause | None:
        """Return how it stands still as planned, or a little longer than that; None if a driver runs, or should.

        A request to run that is younger than the end asks for a driver at once.
        """
        if not self.ended or self.attempt is None or self.desired is None or self.stop_requested:
            return None
        attempt = as_ended(self.attempt, self.report, now)
        if class_of(attempt) not in PLANNED or attempt.ended_at is None or attempt.ended_at < self.desired.at:
            return None
        ended = f"generation {attempt.generation} {attempt.reason}"
        if (due := due_at(attempt, self.plan)) is not None:
            return Pause(ended, attempt.ended_at, due, self.plan.pause)
        if self.plan.stop_when_idle is None or class_of(attempt) is not FailureClass.IDLE:
            return None
        desired_at = self.desired.at
        ends = [attempt, *(end for end in self.earlier if end.ended_at is not None and end.ended_at >= desired_at)]
        unread = self.unread_since is not None
        return Pause(ended, attempt.ended_at, unread=unread, not_before=released_at(ends))

    def halted(self, now: datetime) -> str:
        """Return why no attempt starts until a person asks for it, and what to do; empty if that is not so."""
        halt = self.halt(now)
        return "" if halt is None else halt.reason

    def halt(self, now: datetime) -> Halt | None:
        """Return why, and what to do; None if it is not HALTED."""
        if self.alive:
            return None
        outlook = self.outlook(now)
        return outlook if isinstance(outlook, Halt) else None
