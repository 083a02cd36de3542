"""What is known of a unit at one moment: the record, and what its launcher sees."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.ending import as_ended
from sluice.streams.life.governor import Go, Halt, Outlook, govern
from sluice.streams.life.launcher import DriverReport, DriverState


@dataclass(frozen=True)
class RecordedUnit:
    """What the control database says of a unit: the latest desired state and the highest generation, or None."""

    desired: DesiredState | None
    attempt: Attempt | None


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
    """

    unit: str
    desired: DesiredState | None
    attempt: Attempt | None
    report: DriverReport | None
    notes: tuple[str, ...] = ()
    earlier: tuple[Attempt, ...] = ()
    shortage: str = ""

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
        return govern((as_ended(self.attempt, self.report, now), *self.earlier), self.desired, now=now)

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
