"""The rule for who may start a driver, as a pure function of what is recorded and what the launcher saw.

Invariants:
* a driver that lives is adopted at its own generation; nothing increments;
* only proof of death permits the next generation; "could not check" and the passing of time never do;
* a reserved key that was never submitted is used, not skipped, so that a crash costs no generation.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.streams.failures.exits import explain_exit
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState


@dataclass(frozen=True)
class Adopt:
    """The attempt's driver lives: watch it."""

    attempt: Attempt
    why: str


@dataclass(frozen=True)
class Resume:
    """The attempt's key is reserved and was never submitted: submit it under that key."""

    attempt: Attempt
    why: str


@dataclass(frozen=True)
class Start:
    """Nothing lives: reserve the generation after `after_generation`.

    `proven_dead` is the attempt whose death is to be recorded first; None if it is on record, or there was none.
    """

    after_generation: int
    proven_dead: Attempt | None
    why: str


@dataclass(frozen=True)
class Wait:
    """It cannot be known now whether a driver lives; check again later."""

    why: str


@dataclass(frozen=True)
class Refuse:
    """A person must act first: waiting changes nothing."""

    why: str


Decision = Adopt | Resume | Start | Wait | Refuse


def decide(desired: DesiredState | None, attempt: Attempt | None, report: DriverReport | None) -> Decision:
    """Decide what a claim may do by the newest desired state, the newest attempt, and the launcher's report about it.

    The report is None if the launcher could not be asked.
    """
    if desired is None or desired.state is Desired.STOPPED:
        return _decide_unwanted(desired)
    if attempt is None:
        return Start(0, None, "it has never run")
    if report is None:
        return Wait(f"the launcher cannot say whether generation {attempt.generation} lives")
    if report.state is DriverState.RUNNING:
        return _decide_alive(attempt, report)
    if report.state is DriverState.ABSENT:
        return _decide_absent(attempt)
    death = f"generation {attempt.generation} {explain_exit(report.exit_code)}"
    return Start(attempt.generation, None if attempt.state is AttemptState.ENDED else attempt, death)


def _decide_unwanted(desired: DesiredState | None) -> Decision:
    if desired is None:
        return Refuse("its start was never requested; `sluice streams start` requests it")
    return Refuse(f"{desired.by} requested its stop ({desired.why}); `sluice streams start` revokes that")


def _decide_alive(attempt: Attempt, report: DriverReport) -> Decision:
    if attempt.state is AttemptState.ENDED:
        return Refuse(
            f"generation {attempt.generation} is on record as ended ({attempt.reason}), yet its driver (pid "
            f"{report.pid}) lives; `sluice streams stop` ends it"
        )
    return Adopt(attempt, f"generation {attempt.generation} lives (pid {report.pid})")


def _decide_absent(attempt: Attempt) -> Decision:
    match attempt.state:
        case AttemptState.INTENT:
            return Resume(attempt, "an earlier start of it broke off before its driver began")
        case AttemptState.ENDED:
            return Start(attempt.generation, None, f"generation {attempt.generation} ended ({attempt.reason})")
        case AttemptState.BOUND:
            return Refuse(
                f"generation {attempt.generation} was started, yet the launcher has no trace of {attempt.key}: its "
                "state folder was lost or is another one, so the driver may live; make sure that it does not, then "
                "run `sluice streams force`"
            )


def first_above(marked: int, known: DriverReport) -> int:
    """Return the generation with which a record begins that has none, where tables name one.

    A lost control database begins above what the tables name, or every driver would be fenced; if the launcher knows
    that one, it begins there: it may live.

    Args:
        marked: the highest generation that the unit's tables name.
        known: what the launcher says of it.
    """
    return marked + 1 if known.state is DriverState.ABSENT else marked
