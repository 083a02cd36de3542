"""What a launcher's proof of death says, as it is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sluice.errors import RefusedError
from sluice.streams.failures.exits import explain_exit
from sluice.streams.failures.failure import FailureClass, class_of_exit
from sluice.streams.life.attempts import Attempt, AttemptState
from sluice.streams.life.launcher import DriverReport, DriverState


@dataclass(frozen=True)
class Ending:
    """How an attempt ended. `reason` is a phrase; `at` is None if the time of death is unknown."""

    exit_code: int | None
    failure: FailureClass
    reason: str
    at: datetime | None


def ending(report: DriverReport) -> Ending:
    """Return what is to be recorded of a proven death."""
    recorded = report.failure
    reason = explain_exit(report.exit_code)
    # A driver that was killed while it ended after a failure ended because of that failure.
    kind = class_of_exit(report.exit_code) if recorded is None else recorded.kind
    return Ending(report.exit_code, kind, reason if recorded is None else f"{reason} ({recorded})", report.ended_at)


def as_ended(attempt: Attempt, report: DriverReport | None, observed_at: datetime) -> Attempt:
    """Return an attempt as it will be once the death that a launcher proves is on record.

    Args:
        attempt: the latest attempt.
        report: what the launcher says of it; None if it could not be asked.
        observed_at: when it was asked (UTC): a driver whose time of death is unknown is dead since then at least.
    """
    if attempt.state is AttemptState.ENDED or report is None or not report.dead:
        return attempt
    end = ending(report)
    return replace(
        attempt,
        state=AttemptState.ENDED,
        ended_at=min(end.at or observed_at, observed_at),
        exit_code=end.exit_code,
        reason=end.reason,
        failure=end.failure,
    )


def refuse_traceless(attempt: Attempt, report: DriverReport) -> None:
    """Never say of a driver that was started and cannot be found that it stands still: unknown is not dead.

    Raises:
        RefusedError: it was started, and its launcher has no trace of it.
    """
    if attempt.state is AttemptState.BOUND and report.state is DriverState.ABSENT:
        raise RefusedError(
            f"It is not known whether {attempt.unit} is stopped: {attempt.key} was started, and the launcher has "
            "no trace of it. Its state folder was lost or is another one, so its driver may live.",
            fix=f"end the process `stream.py --unit {attempt.unit} --generation {attempt.generation}` if there is "
            f"one, then put that on record by `sluice streams force {attempt.unit}`.",
        )
