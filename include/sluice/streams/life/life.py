"""A unit's life: claim, submit, bind, stop. Every step may be repeated, and a crash between any two of them heals.

What makes it safe is the order: a desired state is recorded before it is acted on, a key before it is submitted, and a
death before the next generation. A launcher runs a key at most once, so two claims that resume the same key start one
driver.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime

from sluice.clock import Clock, SystemClock
from sluice.errors import NotConfiguredError, RefusedError, UnreachableError
from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan
from sluice.streams.failures.capacity import NoCapacity
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.attempts import Attempt, AttemptRecords, AttemptState, Desired, DesiredState, LostRaceError
from sluice.streams.life.claim import Adopt, Refuse, Resume, Start, Wait, decide, first_above
from sluice.streams.life.claimed import Claim, submit_once
from sluice.streams.life.ending import ending, refuse_traceless
from sluice.streams.life.governor import HISTORY, Go, Halt, Hold, Rest, class_of
from sluice.streams.life.identity import submission_key
from sluice.streams.life.launcher import DriverReport, DriverState, Job, Launcher
from sluice.streams.life.status import RecordedUnit, UnitStatus

_LATE_STOP_SECONDS = 60.0
_OVERRIDES = " (overrides: "
_MAX_STEPS = 1_000
"""A claim takes two steps. It takes one more per generation that the launcher knows and a lost control database does
not, and one more per race that it loses."""


@dataclass(frozen=True)
class UnitLife:
    """Starts, stops and looks after the one driver of a unit.

    Attributes:
        registry: has the desired states and attempts.
        launcher: runs its drivers.
        refuse: raises NotConfiguredError if a driver that is started from here would lack a variable.
        plan: when its driver is to run.
        unread_since: returns when (UTC) a watcher last saw records that came after an attempt ended idle; None: never.
        marked: the highest generation that the unit's tables name; 0 for none. It is asked while no attempt is on
            record.
    """

    registry: AttemptRecords
    launcher: Launcher
    _: KW_ONLY
    deployment: str
    unit: str
    job: Callable[[Attempt], Job]
    refuse: Callable[[str], None] = lambda _unit: None
    plan: RunPlan = ALL_THE_TIME
    unread_since: Callable[[Attempt], datetime | None] = lambda _attempt: None
    marked: Callable[[str], int] = lambda _unit: 0
    clock: Clock = field(default_factory=SystemClock)

    def observe(self, records: RecordedUnit | None = None) -> UnitStatus:
        """Read the records, unless they were just read for many units at once; then ask the launcher.

        Raises:
            UnreachableError: the control database could not be queried. (A launcher that cannot answer is a note.)
        """
        if records is None:
            newest = self.registry.latest_attempt(self.unit)
            records = RecordedUnit(self.registry.desired(self.unit), newest, self._unread_since(newest))
        desired, attempt = records.desired, records.attempt
        if attempt is None:
            return UnitStatus(self.unit, desired, None, None, plan=self.plan)
        report: DriverReport | None = None
        notes: tuple[str, ...] = ()
        try:
            report = self.launcher.find(attempt.key)
        except UnreachableError as error:
            notes = (str(error),)
        dead = attempt.state is AttemptState.ENDED or (report is not None and report.dead)
        earlier, shortage = self._earlier(attempt) if dead else (), self._shortage(desired, attempt, report)
        return UnitStatus(
            self.unit,
            desired,
            attempt,
            report,
            notes,
            earlier,
            shortage,
            plan=self.plan,
            unread_since=records.unread_since,
        )

    def claim(self, *, governed: bool = False) -> Claim:
        """Adopt the driver that lives, or reserve a key for the next one. Starts no process.

        Args:
            governed: obey backoff and budget. A person's claim does not, because a person has seen what there is to
                see; no claim does without the proof of death.

        Raises:
            UnreachableError: the control database could not be queried.
        """
        why = ""  # of the start that this claim has reserved a key for
        for _ in range(_MAX_STEPS):
            status = self.observe()
            decision = decide(status.desired, status.attempt, status.report)
            match decision:
                case Resume() if status.shortage:
                    return Claim(NoCapacity(status.shortage))
                case Adopt() | Resume():
                    begun = why if isinstance(decision, Resume) else ""
                    return Claim(replace(decision, why=begun or decision.why), decision.attempt)
                case Wait() | Refuse():
                    return Claim(decision)
                case Start():
                    if governed and (held := self._held(status)) is not None:
                        return Claim(held)
                    self._reserve(decision, status)
                    why = decision.why
        exhausted = f"{_MAX_STEPS} generations after another are dead or taken; the last is {status}"
        raise RefusedError(f"{self.unit}: {exhausted}.")

    def submit(self, attempt: Attempt) -> Attempt:
        """Submit under the attempt's key and record what came of it: BOUND, or ENDED if it is dead already.

        Repeating it starts nothing.

        Raises:
            RefusedError: a stop was requested, a newer generation exists, or the capacity is gone (NoCapacityError);
                nothing was submitted.
            UnreachableError: the launcher or the control database could not be queried; repeat it.
        """
        attempt = self._refuse_outdated(attempt)
        if attempt.state is AttemptState.ENDED:
            return attempt
        report = submit_once(self.launcher, attempt, self.job)
        if not report.dead:
            attempt = self.registry.bind(self.unit, attempt.generation)
            # A stop that was recorded since the check above may have checked before the driver existed. Either it saw
            # the driver, or this sees the desired state.
            if self._stop_requested():
                report = self.launcher.stop(attempt.key, _LATE_STOP_SECONDS)
        return self._record_death(attempt, report)

    def start(self, by: str, why: str) -> Claim:
        """Record the request to run, claim and submit. The claim's attempt is as `submit` left it.

        Raises:
            NotConfiguredError: a driver would lack a variable that its specs name; nothing was changed.
            RefusedError: the claim was refused, or a user asked for a stop meanwhile.
            UnreachableError: the desired state may be recorded; repeat it, or let the reconciler go on.
        """
        self.refuse_unconfigured()
        self.registry.set_desired_state(self.unit, Desired.RUNNING, by=by, why=why)
        return self._claim_and_submit()

    def refuse_unconfigured(self) -> None:
        """Make sure that a driver which is started from here would find the variables that its specs name.

        Raises:
            NotConfiguredError: it would not, and no driver lives that could be adopted.
        """
        try:
            self.refuse(self.unit)
        except NotConfiguredError:
            if not self.observe().alive:
                raise

    def resume(self, by: str, why: str) -> Claim:
        """Start what is HALTED, on a person's word. Otherwise like `start`.

        Raises:
            RefusedError: it is not HALTED; or as for `start`.
            UnreachableError: as for `start`.
        """
        self.lift(by, why)
        return self._claim_and_submit(governed=True)  # what fell again since then is HALTED again

    def lift(self, by: str, why: str) -> str:
        """Record the request that ends a halt, and return what it overrides. Claims nothing. It may be repeated.

        Raises:
            NotConfiguredError: as for `start`.
            RefusedError: it is not HALTED.
        """
        self.refuse(self.unit)
        status = self.record_end()
        halted = status.halted(self.clock.now())
        if not halted:
            if (desired := status.desired) and desired.by == by and desired.why.startswith(f"{why}{_OVERRIDES}"):
                return desired.why.removeprefix(f"{why}{_OVERRIDES}").removesuffix(")")
            raise RefusedError(
                f"{self.unit} is not HALTED, so there is nothing to resume.",
                fix=f"run `sluice streams show {self.unit}` to see what it is, `sluice streams start` to start it.",
            )
        self.registry.set_desired_state(self.unit, Desired.RUNNING, by=by, why=f"{why}{_OVERRIDES}{halted})")
        return halted

    def stop(self, by: str, why: str, deadline_seconds: float) -> DriverReport:
        """Record the request to stop, let the driver finish its batch, kill it after the deadline, and record the end.

        Returns:
            the final report; ABSENT if there was nothing to stop.

        Raises:
            RefusedError: the launcher has lost the trace of a driver, which may live; the desired state is recorded.
            UnreachableError: the desired state is recorded if the control database answered; repeat it.
        """
        self.registry.set_desired_state(self.unit, Desired.STOPPED, by=by, why=why)
        return self._end_driver(deadline_seconds)

    def finish_stop(self, deadline_seconds: float) -> DriverReport:
        """Go on with an unfinished stop. Records no desired state, so it cannot revoke a start that came meanwhile.

        Raises:
            RefusedError: no stop is on record any more, or as for `stop`; nothing was stopped.
            UnreachableError: repeat it.
        """
        if not self._stop_requested():
            raise RefusedError(f"{self.unit} was not stopped: no stop is on record any more.")
        return self._end_driver(deadline_seconds)

    def restart(self, by: str, why: str, deadline_seconds: float) -> Claim:
        """Stop the driver and start the next generation.

        The desired state stays RUNNING: after a crash in the middle the reconciler starts the unit again.

        Raises:
            NotConfiguredError: as for `start`; the driver that lives goes on.
            RefusedError: the claim was refused.
            UnreachableError: repeat it, or let the reconciler go on.
        """
        self.refuse(self.unit)
        self.registry.set_desired_state(self.unit, Desired.RUNNING, by=by, why=why)
        self._end_driver(deadline_seconds)
        return self._claim_and_submit()

    def force(self, by: str, why: str) -> Attempt:
        """Record, on a person's word, that the latest attempt is dead although no launcher can prove it.

        The reconciler then starts the next generation, if the unit is to run.

        Raises:
            RefusedError: there is no such attempt, its driver is seen alive, or no person's word is needed.
        """
        status = self.observe()
        attempt = status.attempt
        if attempt is None or attempt.state is AttemptState.ENDED:
            raise RefusedError(f"{self.unit} has no attempt whose end is not on record.")
        if status.alive:
            raise RefusedError(
                f"{attempt.key} lives: the launcher sees it.", fix=f"run `sluice streams stop {self.unit}`."
            )
        if attempt.state is AttemptState.INTENT and status.report is not None:
            raise RefusedError(
                f"{attempt.key} is {status.report.state}; a claim knows what to do with that.",
                fix=f"run `sluice streams start {self.unit}`.",
            )
        return self.registry.end(
            self.unit,
            attempt.generation,
            exit_code=None,
            reason=f"declared dead by {by}: {why}",
            failure=FailureClass.FORCED,
        )

    def record_end(self, records: RecordedUnit | None = None) -> UnitStatus:
        """Observe, and record what the launcher proves: a driver, its death, and generations that are forgotten.

        A control database that was restored from an older copy knows neither the newest deaths nor the driver that may
        live; the governor would judge, and hold back, what is long past. One that was lost knows nothing.
        Records that were read before count once; then all is read again.
        """
        for _ in range(_MAX_STEPS):
            status, records = self.observe(records), None
            if status.attempt is not None:
                if status.report is None:
                    break
                recorded = self._record_report(status.attempt, status.report)
                if recorded is not status.attempt:
                    status = replace(status, attempt=recorded)
            if not self._record_forgotten(status):
                break
        return status

    def _unread_since(self, newest: Attempt | None) -> datetime | None:
        return None if newest is None or class_of(newest) is not FailureClass.IDLE else self.unread_since(newest)

    def _held(self, status: UnitStatus) -> Hold | Halt | Rest | None:
        """Return what the governor holds a start back for; None if it lets it go, or if the record is behind."""
        if self._submitted(status.attempt):
            return None
        outlook = status.outlook(self.clock.now())
        return None if isinstance(outlook, Go) else outlook

    def _shortage(self, desired: DesiredState | None, attempt: Attempt, report: DriverReport | None) -> str:
        """Return why there is no capacity for what would be submitted next; not knowing is a reason too."""
        decision = decide(desired, attempt, report)
        try:
            return self.launcher.shortage(self.job(attempt)) if isinstance(decision, Resume) else ""
        except UnreachableError as error:
            return f"the free capacity is not known: {error.message.rstrip('.')}"

    def _record_forgotten(self, status: UnitStatus) -> bool:
        """Take the next generation into the record if the launcher knows it; return whether it did."""
        attempt = status.attempt
        if (attempt is not None and attempt.state is not AttemptState.ENDED) or not self._submitted(attempt):
            return False
        self._intend_after(attempt.generation if attempt else 0)
        return True

    def _submitted(self, before: Attempt | None) -> bool:
        """Whether the launcher knows the generation after an attempt."""
        key = submission_key(self.deployment, self.unit, (before.generation if before else 0) + 1)
        try:
            return self.launcher.find(key).state is not DriverState.ABSENT
        except UnreachableError:
            return False

    def _earlier(self, attempt: Attempt) -> tuple[Attempt, ...]:
        history = self.registry.attempts(self.unit, newest=HISTORY)
        return tuple(other for other in history if other.generation < attempt.generation)

    def _reserve(self, start: Start, status: UnitStatus) -> None:
        """Record the death that permits it, then take the next generation. Who loses the race reads again."""
        if start.proven_dead is not None and status.report is not None:
            self._record_death(start.proven_dead, status.report)
        first = self._first() if status.attempt is None else None
        self._intend_after(start.after_generation, first)

    def _first(self) -> int | None:
        """Return the generation that a record without any begins with; None: the first of all. See `first_above`."""
        if self._submitted(None) or not (marked := self.marked(self.unit)):
            return None
        return first_above(marked, self.launcher.find(submission_key(self.deployment, self.unit, marked)))

    def _intend_after(self, generation: int, following: int | None = None) -> None:
        key = submission_key(self.deployment, self.unit, following or generation + 1)
        with suppress(LostRaceError):
            self.registry.intend(self.unit, after_generation=generation, key=key, generation=following)

    def _claim_and_submit(self, *, governed: bool = False) -> Claim:
        claim = self.claim(governed=governed)
        if isinstance(claim.decision, Refuse | Halt):
            raise RefusedError(f"{self.unit} was not started: {claim.why}.")
        return claim if claim.attempt is None else replace(claim, attempt=self.submit(claim.attempt))

    def _end_driver(self, deadline_seconds: float) -> DriverReport:
        """End the newest driver, also one that the record has forgotten."""
        attempt = self.record_end().attempt
        key = submission_key(self.deployment, self.unit, 1) if attempt is None else attempt.key
        report = self.launcher.find(key)
        if report.state is DriverState.RUNNING:
            report = self.launcher.stop(key, deadline_seconds)
        if attempt is not None:
            refuse_traceless(attempt, report)
            self._record_death(attempt, report)
        return report

    def _record_report(self, attempt: Attempt, report: DriverReport) -> Attempt:
        """Record a driver whose submitter died before it could, and an end."""
        if attempt.state is AttemptState.INTENT and report.state is DriverState.RUNNING:
            return self.registry.bind(self.unit, attempt.generation)
        return self._record_death(attempt, report)

    def _record_death(self, attempt: Attempt, report: DriverReport) -> Attempt:
        """Record the end if the report proves it; the first record stays."""
        if not report.dead or attempt.state is AttemptState.ENDED:
            return attempt
        end = ending(report)
        return self.registry.end(
            self.unit,
            attempt.generation,
            exit_code=end.exit_code,
            reason=end.reason,
            failure=end.failure,
            at=end.at,
        )

    def _stop_requested(self) -> bool:
        desired = self.registry.desired(self.unit)
        return desired is not None and desired.state is Desired.STOPPED

    def _refuse_outdated(self, attempt: Attempt) -> Attempt:
        """Return the attempt as it is on record now."""
        if self._stop_requested():
            raise RefusedError(
                f"{attempt.key} was not submitted: a stop of {self.unit} is on record.",
                fix=f"run `sluice streams start {self.unit}`.",
            )
        latest = self.registry.latest_attempt(self.unit)
        if latest is None or latest.generation != attempt.generation:
            newest = f"the newest generation of {self.unit} is {latest.generation if latest else 'none'}"
            raise RefusedError(f"{attempt.key} was not submitted: {newest}.", fix="claim again.")
        return latest
