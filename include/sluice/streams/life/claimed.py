"""What became of a claim, and how what it gives is submitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sluice.errors import RefusedError
from sluice.streams.failures.capacity import NoCapacity
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.claim import Decision
from sluice.streams.life.governor import Halt, Hold, Rest
from sluice.streams.life.launcher import DriverReport, DriverState, Job, Launcher


@dataclass(frozen=True)
class Claim:
    """The outcome of a claim: an attempt to submit or to watch, or the reason why there is none.

    Attributes:
        decision: Adopt or Resume (with an attempt); Wait, Refuse, NoCapacity, or what the governor says (without).
        attempt: hand it to `UnitLife.submit`, which changes nothing if its driver lives.
    """

    decision: Decision | NoCapacity | Hold | Halt | Rest
    attempt: Attempt | None = None

    @property
    def why(self) -> str:
        """The reason, as a clause."""
        return self.decision.why


def submit_once(launcher: Launcher, attempt: Attempt, job: Callable[[Attempt], Job]) -> DriverReport:
    """Submit what is an intent. What was confirmed before, was submitted: if it cannot be found, it may live.

    Raises:
        RefusedError: it cannot be found.
        UnreachableError: the launcher could not be asked.
    """
    if attempt.state is AttemptState.INTENT:
        return launcher.submit(attempt.key, job(attempt))
    report = launcher.find(attempt.key)
    if report.state is DriverState.ABSENT:
        raise RefusedError(
            f"{attempt.key} was not submitted: it was started before, and the launcher has lost its trace.",
            fix=f"make sure that its driver is dead, then run `sluice streams force {attempt.unit}`.",
        )
    return report
