"""The registry in SQL: desired state, attempts and verdicts of one deployment."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sluice.clock import Clock, SystemClock
from sluice.control import newest as queries
from sluice.control.database import take_turns, transaction
from sluice.control.deployment_records import DeploymentRecords
from sluice.control.rows import attempt_of, desired_state_of, verdict_of
from sluice.control.tables import attempt, desired_state, verdict
from sluice.errors import CorruptionError, SluiceError
from sluice.streams.desired_copy import DesiredCopy
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.recording import NewVerdict, RecordedVerdict
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState, LostRaceError

log = logging.getLogger(__name__)

_NOT_KEPT = {"partitions", "settling"}
"""What a verdict on record has no column for."""
_TOGETHER = 200
"""Verdicts that are stored in one transaction: others may write too, and wait for its end."""


class SqlRegistry(DeploymentRecords):
    """Implements `sluice.streams.registry.Registry`. Safe from several processes and threads at once.

    Args:
        engine: of the database.
        deployment: whose records these are.
        clock: gives the time.
        copy: of the desired states; None: there is none.
    """

    def __init__(
        self, engine: sa.Engine, deployment: str, clock: Clock | None = None, copy: DesiredCopy | None = None
    ) -> None:
        super().__init__(engine, deployment)
        self._copy = copy
        self._clock = clock or SystemClock()

    def desired(self, unit: str) -> DesiredState | None:
        """Return the latest desired state, or None before the first request."""
        desired_states = desired_state.c
        ours = sa.and_(desired_states.deployment == self._deployment, desired_states.unit == unit)
        query = sa.select(desired_state).where(ours).order_by(desired_states.id.desc()).limit(1)
        return next(map(desired_state_of, self._read(query)), None)

    def set_desired_state(self, unit: str, state: Desired, *, by: str, why: str) -> DesiredState:
        """Record a desired state, and copy it. History is kept. A copy that fails is made by the next comparison."""
        desired = DesiredState(unit, state, by, why, self._clock.now())
        values = {
            "deployment": self._deployment,
            "unit": unit,
            "state": state,
            "requested_by": by,
            "why": why,
            "at": desired.at,
        }
        with transaction(self._engine, write=True) as connection:
            connection.execute(sa.insert(desired_state).values(values))
        try:
            if self._copy is not None:
                self._copy.compare(self)
        except SluiceError as error:
            log.warning("%s is to be %s, and the copy of that was not written: %s", unit, state, error)
        return desired

    def all_desired_states(self) -> Mapping[str, DesiredState]:
        """Return the latest desired state of each unit that has one, declared or not."""
        columns = desired_state.c
        ours = sa.select(sa.func.max(columns.id)).where(columns.deployment == self._deployment).group_by(columns.unit)
        found = map(desired_state_of, self._read(sa.select(desired_state).where(columns.id.in_(ours))))
        return {desired.unit: desired for desired in found}

    def restore_desired_states(self, states: Collection[DesiredState]) -> None:
        """Record desired states of units that have none, under lower ids than any that the database gives."""
        columns = desired_state.c
        with transaction(self._engine, write=True) as connection:
            take_turns(connection, "desired states")
            lowest = connection.execute(sa.select(sa.func.min(columns.id))).scalar() or 0
            ours = sa.select(columns.unit).where(columns.deployment == self._deployment)
            known = set(connection.execute(ours).scalars())
            lacking = [each for each in states if each.unit not in known]
            for number, each in enumerate(lacking, 1):
                row = {"id": min(lowest, 0) - number, "deployment": self._deployment, "unit": each.unit, "at": each.at}
                values = {**row, "state": each.state, "requested_by": each.by, "why": each.why}
                connection.execute(sa.insert(desired_state).values(values))

    def latest_attempt(self, unit: str) -> Attempt | None:
        """Return the attempt with the highest generation."""
        return next(iter(self.attempts(unit, newest=1)), None)

    def newest_desired_states(self, units: Collection[str]) -> Mapping[str, DesiredState]:
        """Return what `desired` returns, of those units that have a desired state, in a few queries."""
        rows = self._read_units(queries.desired_states(self._deployment), units)
        return {desired.unit: desired for desired in map(desired_state_of, rows)}

    def newest_attempts(self, units: Collection[str]) -> Mapping[str, Attempt]:
        """Return what `latest_attempt` returns, of those units that have an attempt, in a few queries."""
        return {unit: attempts[0] for unit, attempts in self.histories(units, newest=1).items()}

    def newest_verdicts(self, units: Collection[str]) -> Mapping[str, Mapping[str, RecordedVerdict]]:
        """Return what `verdicts` returns, by unit and stream, of those units that have any, in a few queries."""
        verdicts: dict[str, dict[str, RecordedVerdict]] = {}
        for record in map(verdict_of, self._read_units(queries.verdicts(self._deployment), units)):
            verdicts.setdefault(record.unit, {})[record.stream] = record
        return verdicts

    def histories(self, units: Collection[str], *, newest: int) -> Mapping[str, Sequence[Attempt]]:
        """Return so many of the newest attempts of those units that have any, newest first, in a few queries."""
        attempts: dict[str, list[Attempt]] = {}
        for one in map(attempt_of, self._read_units(queries.attempts(self._deployment, newest), units)):
            attempts.setdefault(one.unit, []).append(one)
        return attempts

    def attempts(self, unit: str, *, newest: int | None = None) -> Sequence[Attempt]:
        """Return all attempts, or so many of the newest, newest first."""
        newest_first = sa.select(attempt).where(self._of(unit)).order_by(attempt.c.generation.desc())
        return tuple(map(attempt_of, self._read(newest_first.limit(newest))))

    def intend(self, unit: str, *, after_generation: int, key: str, generation: int | None = None) -> Attempt:
        """Create a generation in state INTENT, the next one unless a higher one is given.

        Raises:
            LostRaceError: the unit's highest generation is not `after_generation`.
        """
        made = Attempt(unit, generation or after_generation + 1, key, AttemptState.INTENT, self._clock.now())
        newest = sa.func.coalesce(sa.func.max(attempt.c.generation), 0)
        highest = sa.select(newest).where(self._of(unit)).scalar_subquery()
        row = {
            "deployment": self._deployment,
            "unit": unit,
            "generation": made.generation,
            "key": key,
            "state": made.state.value,
            "intended_at": made.intended_at,
            "reason": "",
        }
        values = sa.select(*(sa.literal(value, attempt.c[name].type) for name, value in row.items()))
        statement = sa.insert(attempt).from_select(list(row), values.where(highest == after_generation))
        try:
            with transaction(self._engine, write=True) as connection:
                # Without the option SQLAlchemy does not keep the count of an INSERT, and on PostgreSQL it reads -1.
                answer = connection.execute(statement, execution_options={"preserve_rowcount": True})
                created = answer.rowcount == 1
        except IntegrityError:
            created = False  # two conditions held at once; the primary key let one of them through
        if not created:
            raise LostRaceError(f"{unit} has another highest generation than {after_generation}.", fix="read it again.")
        return made

    def bind(self, unit: str, generation: int) -> Attempt:
        """Record that the launcher confirmed the driver. Repeating it changes nothing."""
        change = sa.update(attempt).where(attempt.c.state == AttemptState.INTENT)
        return self._change(unit, generation, change.values(state=AttemptState.BOUND, bound_at=self._clock.now()))

    def end(
        self,
        unit: str,
        generation: int,
        *,
        exit_code: int | None,
        reason: str,
        failure: FailureClass | None = None,
        at: datetime | None = None,
    ) -> Attempt:
        """Record proven death, `at` if that is given and not in the future. Repeating it keeps the first record."""
        change = sa.update(attempt).where(attempt.c.state != AttemptState.ENDED)
        now = self._clock.now()
        ended_at = min(at or now, now)
        values = {"ended_at": ended_at, "exit_code": exit_code, "reason": reason, "failure": failure}
        return self._change(unit, generation, change.values(state=AttemptState.ENDED, **values))

    def record_verdict(self, unit: str, stream: str, generation: int, verdict: Verdict) -> bool:
        """Store the verdict if its health or generation differs from the newest stored one; return whether it did."""
        return self.record_verdicts([NewVerdict(unit, stream, generation, verdict)]) == 1

    def record_verdicts(self, given: Sequence[NewVerdict]) -> int:
        """Do the same for many in a few transactions; return how many were stored."""
        return sum(self._append_verdicts(given[n : n + _TOGETHER]) for n in range(0, len(given), _TOGETHER))

    def _append_verdicts(self, given: Sequence[NewVerdict]) -> int:
        while True:
            try:
                with transaction(self._engine, write=True) as connection:
                    return sum(self._append_verdict(connection, one) for one in given)
            except IntegrityError:
                continue  # another watcher wrote one of these numbers first: compare with what it wrote

    def verdicts(self, unit: str) -> Sequence[RecordedVerdict]:
        """Return the newest verdict of each stream of the unit."""
        return tuple(self.newest_verdicts([unit]).get(unit, {}).values())

    def desired_states_since(self, unit: str, since: datetime) -> Sequence[DesiredState]:
        """Return the desired state that held at a moment, if there was one, and all after it, oldest first."""
        desired_states = desired_state.c
        ours = sa.and_(desired_states.deployment == self._deployment, desired_states.unit == unit)
        held = sa.select(sa.func.max(desired_states.id)).where(ours, desired_states.at <= since).scalar_subquery()
        query = (
            sa.select(desired_state)
            .where(ours, sa.or_(desired_states.at > since, desired_states.id == held))
            .order_by(desired_states.id)
        )
        return tuple(map(desired_state_of, self._read(query)))

    def verdicts_since(self, unit: str, since: datetime) -> Sequence[RecordedVerdict]:
        """Return what held at a moment, and all changes after it, of each stream, oldest first."""
        columns = verdict.c
        held = self._held(since, columns.unit, columns.stream)
        ours = sa.and_(columns.deployment == self._deployment, columns.unit == unit)
        query = sa.select(verdict).where(ours, sa.or_(columns.at > since, columns.number == held))
        return tuple(map(verdict_of, self._read(query.order_by(columns.at, columns.stream, columns.number))))

    def forget_verdicts(self, before: datetime) -> int:
        """Forget, of all units, the verdicts that no longer held at a moment (UTC); return how many they were."""
        columns = verdict.c
        held = self._held(before, columns.unit, columns.stream)
        statement = sa.delete(verdict).where(columns.deployment == self._deployment, columns.number < held)
        with transaction(self._engine, write=True) as connection:
            return connection.execute(statement).rowcount

    def _held(self, at: datetime, unit: sa.ColumnElement[str], stream: sa.ColumnElement[str]) -> sa.ScalarSelect[Any]:
        """Return the number of the verdict of a stream that held at a moment."""
        older = verdict.alias("older")
        this = sa.and_(older.c.deployment == self._deployment, older.c.unit == unit, older.c.stream == stream)
        return sa.select(sa.func.max(older.c.number)).where(this, older.c.at <= at).correlate(verdict).scalar_subquery()

    def _of(self, unit: str) -> sa.ColumnElement[bool]:
        return sa.and_(attempt.c.deployment == self._deployment, attempt.c.unit == unit)

    def _change(self, unit: str, generation: int, change: Any) -> Attempt:  # noqa: ANN401 - an Update, whose type is private
        this = sa.and_(self._of(unit), attempt.c.generation == generation)
        with transaction(self._engine, write=True) as connection:
            connection.execute(change.where(this))
            row = connection.execute(sa.select(attempt).where(this)).one_or_none()
        if row is None:
            raise CorruptionError(
                f"the control database has no generation {generation} of {unit}, which was just acted on.",
                fix="see whether it was replaced by an older copy.",
            )
        return attempt_of(row)

    def _append_verdict(self, connection: sa.Connection, one: NewVerdict) -> bool:
        columns, given = verdict.c, one.verdict
        before = connection.execute(
            sa.select(columns.number, columns.health, columns.generation)
            .where(columns.deployment == self._deployment, columns.unit == one.unit, columns.stream == one.stream)
            .order_by(columns.number.desc())
            .limit(1)
        ).one_or_none()
        if before is not None and (before.health, before.generation) == (given.health, one.generation):
            return False
        connection.execute(
            sa.insert(verdict).values(
                deployment=self._deployment,
                unit=one.unit,
                stream=one.stream,
                number=1 if before is None else before.number + 1,
                generation=one.generation,
                at=self._clock.now(),
                **{name: value for name, value in vars(given).items() if name not in _NOT_KEPT},
            )
        )
        return True
