"""The control database in memory: the same behaviour as `sluice.control.registry.SqlRegistry`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock

from sluice.clock import Clock
from sluice.errors import CorruptionError
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.recording import NewVerdict, RecordedVerdict
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState, LostRaceError


class InMemoryRegistry:
    """Implements `sluice.streams.registry.Registry` for one process."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lock = Lock()
        self._wishes: dict[str, list[DesiredState]] = {}
        self._attempts: dict[str, list[Attempt]] = {}
        self._verdicts: dict[tuple[str, str], list[RecordedVerdict]] = {}

    def desired(self, unit: str) -> DesiredState | None:
        return next(reversed(self._wishes.get(unit, [])), None)

    def set_desired_state(self, unit: str, state: Desired, *, by: str, why: str) -> DesiredState:
        wish = DesiredState(unit, state, by, why, self.clock.now())
        self._wishes.setdefault(unit, []).append(wish)
        return wish

    def all_desired_states(self) -> Mapping[str, DesiredState]:
        return {unit: wishes[-1] for unit, wishes in self._wishes.items()}

    def restore_desired_states(self, states: Collection[DesiredState]) -> None:
        for state in states:
            self._wishes.setdefault(state.unit, [state])

    def latest_attempt(self, unit: str) -> Attempt | None:
        return next(iter(self.attempts(unit)), None)

    def newest_desired_states(self, units: Collection[str]) -> Mapping[str, DesiredState]:
        return {unit: wish for unit in units if (wish := self.desired(unit)) is not None}

    def newest_attempts(self, units: Collection[str]) -> Mapping[str, Attempt]:
        return {unit: attempt for unit in units if (attempt := self.latest_attempt(unit)) is not None}

    def newest_verdicts(self, units: Collection[str]) -> Mapping[str, Mapping[str, RecordedVerdict]]:
        found = {unit: {record.stream: record for record in self.verdicts(unit)} for unit in units}
        return {unit: records for unit, records in found.items() if records}

    def histories(self, units: Collection[str], *, newest: int) -> Mapping[str, Sequence[Attempt]]:
        return {unit: found for unit in units if (found := self.attempts(unit, newest=newest))}

    def attempts(self, unit: str, *, newest: int | None = None) -> Sequence[Attempt]:
        return tuple(reversed(self._attempts.get(unit, [])))[:newest]

    def intend(self, unit: str, *, after_generation: int, key: str, generation: int | None = None) -> Attempt:
        with self._lock:
            attempts = self._attempts.setdefault(unit, [])
            highest = attempts[-1].generation if attempts else 0
            if highest != after_generation:
                raise LostRaceError(f"{unit} is at generation {highest}, not {after_generation}.")
            made = Attempt(unit, generation or after_generation + 1, key, AttemptState.INTENT, self.clock.now())
            attempts.append(made)
            return made

    def bind(self, unit: str, generation: int) -> Attempt:
        with self._lock:
            found = self._find(unit, generation)
            if found.state is not AttemptState.INTENT:
                return found
            return self._store(replace(found, state=AttemptState.BOUND, bound_at=self.clock.now()))

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
        with self._lock:
            found = self._find(unit, generation)
            if found.state is AttemptState.ENDED:
                return found
            ended_at = min(at or self.clock.now(), self.clock.now())
            ended = replace(found, state=AttemptState.ENDED, ended_at=ended_at, exit_code=exit_code, reason=reason)
            return self._store(replace(ended, failure=failure))

    def record_verdict(self, unit: str, stream: str, generation: int, verdict: Verdict) -> bool:
        with self._lock:
            history = self._verdicts.setdefault((unit, stream), [])
            newest = history[-1] if history else None
            if newest is not None and (newest.verdict.health, newest.generation) == (verdict.health, generation):
                return False
            kept = replace(verdict, partitions=(), settling=None)
            history.append(RecordedVerdict(unit, stream, generation, kept, self.clock.now()))
            return True

    def record_verdicts(self, given: Sequence[NewVerdict]) -> int:
        return sum(self.record_verdict(one.unit, one.stream, one.generation, one.verdict) for one in given)

    def verdicts(self, unit: str) -> Sequence[RecordedVerdict]:
        return tuple(history[-1] for (of, _), history in sorted(self._verdicts.items()) if of == unit)

    def desired_states_since(self, unit: str, since: datetime) -> Sequence[DesiredState]:
        wishes = self._wishes.get(unit, [])
        held = max((n for n, wish in enumerate(wishes) if wish.at <= since), default=-1)
        return tuple(wish for n, wish in enumerate(wishes) if n == held or wish.at > since)

    def verdicts_since(self, unit: str, since: datetime) -> Sequence[RecordedVerdict]:
        found = [v for (of, _), history in self._verdicts.items() if of == unit for v in _held_since(history, since)]
        return tuple(sorted(found, key=lambda record: (record.at, record.stream)))

    def forget_verdicts(self, before: datetime) -> int:
        with self._lock:
            kept = {key: _held_since(history, before) for key, history in self._verdicts.items()}
            forgotten = sum(len(self._verdicts[key]) - len(history) for key, history in kept.items())
            self._verdicts = kept
            return forgotten

    def _find(self, unit: str, generation: int) -> Attempt:
        for attempt in self._attempts.get(unit, []):
            if attempt.generation == generation:
                return attempt
        raise CorruptionError(f"there is no generation {generation} of {unit}.")

    def _store(self, attempt: Attempt) -> Attempt:
        attempts = self._attempts[attempt.unit]
        attempts[[each.generation for each in attempts].index(attempt.generation)] = attempt
        return attempt


def _held_since(history: list[RecordedVerdict], since: datetime) -> list[RecordedVerdict]:
    held = max((n for n, record in enumerate(history) if record.at <= since), default=0)
    return history[held:]
