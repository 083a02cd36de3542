"""What a run of a stream's DAG asks for, and how it is carried out: one step per task, none of them knows Airflow.

Every step may be repeated. A request that comes from a person records a desired state; `FOLLOW`, which the reconciler
uses, records none: otherwise a start that it decided on could revoke the stop that a user asked for meanwhile. Nor
does it override backoff and HALTED, as a person's request does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from sluice.errors import RefusedError, SpecError, UnreachableError
from sluice.streams.failures.capacity import NoCapacity
from sluice.streams.life.attempts import Attempt, AttemptRecords, Desired
from sluice.streams.life.claim import Refuse, Wait
from sluice.streams.life.claimed import Claim
from sluice.streams.life.governor import Halt, Hold, Rest
from sluice.streams.life.launcher import DriverReport
from sluice.streams.life.life import UnitLife

LONGEST_STOP = timedelta(minutes=10)
"""The longest deadline that a stop may be given."""
LONGEST_CLAIM = LONGEST_STOP + timedelta(minutes=5)
"""After so long the task that may stop a driver is over, whatever came of it."""

NO_REASON = "requested in Airflow"
"""The form's default."""


class UnitCommand(StrEnum):
    """The form's `action`."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    RESUME = "resume"
    FORCE = "force"
    FOLLOW = "follow"
    SCHEDULED = "scheduled"  # of no form: a run that the unit's schedule has made


@dataclass(frozen=True)
class UnitRequest:
    """What one run requests.

    Attributes:
        unit: the driver's name in the specs.
        asked: what to do.
        by: who asks, for the record.
        why: the reason, for the record.
        deadline_seconds: after this long a stop becomes a kill.
        faults: what is wrong with the unit's specs; empty if they stand.
    """

    unit: str
    asked: UnitCommand
    by: str
    why: str
    deadline_seconds: float = 60.0
    faults: Sequence[str] = ()


@dataclass(frozen=True)
class Claimed:
    """The outcome of a claim: a generation to submit and watch, or None and the reason."""

    generation: int | None
    why: str


def claim(request: UnitRequest, life: UnitLife, registry: AttemptRecords) -> Claimed:
    """Record the desired state, then adopt the live driver or reserve the next generation; or stop the driver.

    Raises:
        SpecError: a driver would have to be started, and its specs are broken; nothing was changed.
        NotConfiguredError: it would lack a variable that its specs name; nothing was changed.
        RefusedError: a person must act first, or say more.
        UnreachableError: it cannot be known whether a driver lives; repeat it.
    """
    match request.asked:
        case UnitCommand.STOP:
            return _stopped(request.by, life.stop(request.by, request.why, request.deadline_seconds))
        case UnitCommand.RESTART:
            _refuse_broken(request)
            return _outcome(request, life.restart(request.by, request.why, request.deadline_seconds))
        case UnitCommand.START:
            if request.faults and not life.observe().alive:
                _refuse_broken(request)
            life.refuse_unconfigured()
            registry.set_desired_state(request.unit, Desired.RUNNING, by=request.by, why=request.why)
            return _outcome(request, life.claim())
        case UnitCommand.RESUME:
            _refuse_broken(request)
            overridden = life.lift(request.by, request.why)
            outcome = _outcome(request, life.claim(governed=True))
            return replace(outcome, why=f"{outcome.why}; this overrides: {overridden}")
        case UnitCommand.FORCE:
            _refuse_unfounded(request)
            dead = life.force(request.by, request.why)
            return Claimed(None, f"generation {dead.generation} is recorded as {dead.reason}; the reconciler continues")
        case UnitCommand.FOLLOW | UnitCommand.SCHEDULED:
            scheduled = request.asked is UnitCommand.SCHEDULED
            return _scheduled(request, life) if scheduled else _follow(request, life)


def submit(unit: str, generation: int, life: UnitLife) -> Attempt:
    """Start the claimed generation's driver, or find it running.

    Raises:
        RefusedError: a stop was asked for meanwhile, or a newer generation exists; nothing was started.
        UnreachableError: it is not known what came of it; repeat it.
    """
    attempt = life.observe().attempt
    if attempt is None or attempt.generation != generation:
        newest = "none" if attempt is None else attempt.generation
        raise RefusedError(f"{unit}: generation {generation} was claimed and the newest is {newest}.")
    return life.submit(attempt)


def _follow(request: UnitRequest, life: UnitLife) -> Claimed:
    """Bring the unit to its desired state, as it stands now."""
    status = life.observe()
    desired = status.desired
    if desired is None or desired.state is Desired.STOPPED:
        if desired is not None and status.alive:
            return _stopped(desired.by, life.finish_stop(request.deadline_seconds))
        return Claimed(None, "it is not wanted to run")
    if request.faults and not status.alive:
        _refuse_broken(request)
    claim = life.claim(governed=True)
    if isinstance(claim.decision, Rest) and claim.decision.until is None and status.attempt is not None:
        return Claimed(status.attempt.generation, f"{claim.why}; they are watched for")
    return _outcome(request, claim)


def _scheduled(request: UnitRequest, life: UnitLife) -> Claimed:
    """Start the driver that a schedule asks for, unless one is still at work.

    It records no desired state, either: a stop that is on record stays, and what was never requested stays so.
    """
    status = life.observe()
    if status.desired is None:
        return Claimed(None, f"its start was never requested; `sluice streams start {request.unit}` requests it")
    if status.stop_requested:
        return Claimed(None, f"{status.desired.by} requested its stop ({status.desired.why})")
    if status.alive and status.attempt is not None:
        why = f"generation {status.attempt.generation} is still at work; the next starts when it has ended"
        return Claimed(None, why)
    _refuse_broken(request)
    life.refuse_unconfigured()
    claim = life.claim(governed=True)
    return Claimed(None, str(claim.decision)) if isinstance(claim.decision, Halt) else _outcome(request, claim)


def _stopped(by: str, report: DriverReport) -> Claimed:
    if report.dead:
        return Claimed(None, f"stopped, as {by} requested")
    return Claimed(None, f"there was nothing to stop ({report.key} is {report.state})")


def _outcome(request: UnitRequest, claim: Claim) -> Claimed:
    match claim.decision:
        case Wait(why):
            raise UnreachableError(f"{request.unit}: {why}. Unknown is not dead, so nothing was started.")
        case Refuse(why):
            raise RefusedError(f"{request.unit} was not started: {why}.")
        case NoCapacity(why):
            return Claimed(None, f"the cluster has no capacity for it: {why}")
        case Hold(why=why) | Rest(why=why):
            return Claimed(None, why)
        case Halt(why=why, fix=fix):
            raise RefusedError(f"{request.unit} is HALTED: {why}.", fix=f"{fix}.")
        case _ if claim.attempt is not None:
            return Claimed(claim.attempt.generation, claim.why)
        case _:
            return Claimed(None, claim.why)


def _refuse_unfounded(request: UnitRequest) -> None:
    if request.why.strip() in {"", NO_REASON}:
        raise RefusedError(
            f"nothing says how you know that no driver of {request.unit} lives.", fix="say it in the form's reason."
        )


def _refuse_broken(request: UnitRequest) -> None:
    if request.faults:
        raise SpecError(
            f"{request.unit} has no driver to adopt, and its specs are broken:\n" + "\n".join(request.faults),
            fix="run `sluice check` and repair them.",
        )
