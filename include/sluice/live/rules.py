"""Rules about newest values: when one begins to hold for a key, when it stops holding, and a limit per hour."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sluice.live.values import Key, Value
from sluice.specs.model.data_alerts import Bound, DataAlert

HOUR = timedelta(hours=1)


class Transition(StrEnum):
    """How the state of a rule changed."""

    FIRING = "firing"  # it begins to hold for a key
    RESOLVED = "resolved"  # it holds no longer
    RATE_LIMITED = "rate limited"  # it holds for more keys than `most_per_hour`: these share one alert


@dataclass(frozen=True)
class RuleEvent:
    """One transition of a rule.

    Attributes:
        rule: which.
        transition: how its state changed.
        key: for which key; empty for `RATE_LIMITED`, and for its end.
        value: what it is now; None where it is gone, and where the key is empty.
        at: when (UTC).
    """

    rule: DataAlert
    transition: Transition
    key: Key
    value: Value | None
    at: datetime


@dataclass
class _State:
    """The state of one rule.

    Attributes:
        alerted: keys for which it holds, each with an alert.
        suppressed: keys for which it holds, beyond the limit: they share one alert.
        times: when the alerts of the last hour were.
        limited: whether that one alert is open.
        unread: whether it may be about keys from before a restart that were not read yet.
    """

    alerted: set[Key] = field(default_factory=set)
    suppressed: set[Key] = field(default_factory=set)
    times: deque[datetime] = field(default_factory=deque)
    limited: bool = False
    unread: bool = False

    @classmethod
    def after_restart(cls, keys: Iterable[Key]) -> _State:
        """Return it by the keys with an open alert; the empty one is the alert that several share."""
        alerted = set(keys)
        limited = () in alerted
        return cls(alerted - {()}, limited=limited, unread=limited)


class RuleWatch:
    """Watches the rules about one output.

    `known` are the keys with an open alert, by rule, from the journal: the empty key of the alert that several share.
    """

    def __init__(self, rules: Iterable[DataAlert], known: Mapping[str, Iterable[Key]] | None = None) -> None:
        self._rules = tuple(rules)
        before = known or {}
        self._states = {rule.name: _State.after_restart(before.get(rule.name, ())) for rule in self._rules}
        self.faults: dict[str, str] = {}

    def holding(self, rule: str) -> int:
        """Return for how many keys a rule holds."""
        state = self._states[rule]
        return len(state.alerted) + len(state.suppressed)

    def changed(self, value: Value, now: datetime) -> Iterator[RuleEvent]:
        """Yield the transitions that a new value causes."""
        for rule in self._rules:
            yield from self._judged(rule, value, now)

    def found(self, values: Iterable[Value], now: datetime) -> Iterator[RuleEvent]:
        """Yield the transitions that the newest values cause when all that there was has been read.

        If several keys shared an alert before a restart, it goes on for all that hold without one of their own: which
        of them it was about is not on record.

        Args:
            values: of all keys, oldest change first.
            now: the present (UTC).
        """
        for value in values:
            for rule in self._rules:
                state = self._states[rule.name]
                if state.unread and value.key not in state.alerted and self._holds(rule, value):
                    state.suppressed.add(value.key)
                else:
                    yield from self._judged(rule, value, now)

    def gone(self, key: Key, now: datetime) -> Iterator[RuleEvent]:
        """Yield the transitions that the removal of a key causes."""
        for rule in self._rules:
            yield from _over(rule, self._states[rule.name], key, None, now)

    def complete(self, keys: frozenset[Key], now: datetime) -> Iterator[RuleEvent]:
        """Yield the ends of keys that no longer exist: they were removed while this process did not run.

        Args:
            keys: all that there are.
            now: the present (UTC).
        """
        for rule in self._rules:
            state = self._states[rule.name]
            state.unread = False
            yield from _shared_over(rule, state, now)
            for key in sorted((state.alerted | state.suppressed) - keys):
                yield from _over(rule, state, key, None, now)

    def _judged(self, rule: DataAlert, value: Value, now: datetime) -> Iterator[RuleEvent]:
        state, holds = self._states[rule.name], self._holds(rule, value)
        if holds is None:
            return
        if not holds:
            yield from _over(rule, state, value.key, value, now)
        elif value.key not in state.alerted and value.key not in state.suppressed:
            yield from _begins(rule, state, value, now)

    def _holds(self, rule: DataAlert, value: Value) -> bool | None:
        """Return whether a rule holds for a value; None if that cannot be judged: it neither begins nor ends then."""
        fault = condition_fault(rule.when, value)
        if fault:
            self.faults[rule.name] = fault
            return None
        self.faults.pop(rule.name, None)
        return all(within(value.fields[column], bound) for column, bound in rule.when.items())


def condition_fault(when: Mapping[str, Bound], value: Value) -> str:
    """Return why bounds by column cannot be evaluated for a value; empty if they can."""
    for column, bound in when.items():
        if column not in value.fields:
            return missing_column(column, value)
        cell = value.fields[column]
        if cell is not None and bound.limits and (isinstance(cell, bool) or not isinstance(cell, int | float)):
            return f"{column} is {cell!r:.100}, which is no number"
    return ""


def missing_column(column: str, value: Value) -> str:
    """Return that a value lacks a column, and which it has."""
    return f"there is no column {column!r} in {', '.join(sorted(value.fields))}"


def within(value: Any, bound: Bound) -> bool:  # noqa: ANN401 - whatever a column holds
    """Whether a JSON value, a number where the bound has limits, is within a bound; null is within none."""
    if value is None or (bound.one_of and not any(_same(value, each) for each in bound.one_of)):
        return False
    tests = {
        "above": lambda limit: value > limit,
        "at_least": lambda limit: value >= limit,
        "below": lambda limit: value < limit,
        "at_most": lambda limit: value <= limit,
    }
    return all(tests[name](limit) for name, limit in bound.limits.items())


def _same(value: object, listed: object) -> bool:
    return value == listed and isinstance(value, bool) == isinstance(listed, bool)  # 1 is not true


def _begins(rule: DataAlert, state: _State, value: Value, now: datetime) -> Iterator[RuleEvent]:
    while state.times and now - state.times[0] >= HOUR:
        state.times.popleft()
    if len(state.times) < rule.most_per_hour:
        state.times.append(now)
        state.alerted.add(value.key)
        yield RuleEvent(rule, Transition.FIRING, value.key, value, now)
        return
    state.suppressed.add(value.key)
    if not state.limited:
        state.limited = True
        yield RuleEvent(rule, Transition.RATE_LIMITED, (), None, now)


def _over(rule: DataAlert, state: _State, key: Key, value: Value | None, now: datetime) -> Iterator[RuleEvent]:
    state.suppressed.discard(key)
    yield from _shared_over(rule, state, now)
    if key in state.alerted:
        state.alerted.discard(key)
        yield RuleEvent(rule, Transition.RESOLVED, key, value, now)


def _shared_over(rule: DataAlert, state: _State, now: datetime) -> Iterator[RuleEvent]:
    if state.limited and not state.suppressed and not state.unread:
        state.limited = False
        yield RuleEvent(rule, Transition.RESOLVED, (), None, now)
