"""Data alerts over newest values: when a rule begins to hold for a key, when it ceases to, and not too often."""

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


class Turn(StrEnum):
    """What there is to tell."""

    HOLDS = "holds"
    OVER = "over"
    MORE = "more"  # more keys than are told of in an hour


@dataclass(frozen=True)
class RuleEvent:
    """Something to tell.

    Attributes:
        rule: which.
        turn: what has happened.
        key: for whom; empty for `MORE`, and for its end.
        value: what it is now; None where it is gone, and where the key is empty.
        at: when (UTC).
    """

    rule: DataAlert
    turn: Turn
    key: Key
    value: Value | None
    at: datetime


@dataclass
class _State:
    """What is known of one rule."""

    told: set[Key] = field(default_factory=set)
    untold: set[Key] = field(default_factory=set)
    times: deque[datetime] = field(default_factory=deque)
    more_told: bool = False


class RuleWatch:
    """Watches the rules about one output.

    Args:
        rules: those of this output.
        known: keys for which somebody was told that a rule holds and not that it is over, by rule: from the record.
    """

    def __init__(self, rules: Iterable[DataAlert], known: Mapping[str, Iterable[Key]] | None = None) -> None:
        self._rules = tuple(rules)
        before = known or {}
        self._states = {rule.name: _State(told=set(before.get(rule.name, ()))) for rule in self._rules}
        self.faults: dict[str, str] = {}

    def holding(self, rule: str) -> int:
        """Return for how many keys a rule holds."""
        state = self._states[rule]
        return len(state.told) + len(state.untold)

    def changed(self, value: Value, now: datetime) -> Iterator[RuleEvent]:
        """Yield what a new value gives to tell."""
        for rule in self._rules:
            state = self._states[rule.name]
            if not self._holds(rule, value):
                yield from _over(rule, state, value.key, value, now)
            elif value.key not in state.told and value.key not in state.untold:
                yield from _begins(rule, state, value, now)

    def gone(self, key: Key, now: datetime) -> Iterator[RuleEvent]:
        """Yield what the end of a key gives to tell."""
        for rule in self._rules:
            yield from _over(rule, self._states[rule.name], key, None, now)

    def complete(self, keys: frozenset[Key], now: datetime) -> Iterator[RuleEvent]:
        """Yield what is over because its key is not among all that there are: it went while nobody watched."""
        for rule in self._rules:
            state = self._states[rule.name]
            for key in sorted((state.told | state.untold) - keys):
                yield from _over(rule, state, key, None, now)

    def _holds(self, rule: DataAlert, value: Value) -> bool:
        fault = _fault(rule, value)
        if fault:
            self.faults[rule.name] = fault
            return False
        self.faults.pop(rule.name, None)
        return all(within(value.fields[column], bound) for column, bound in rule.when.items())


def _fault(rule: DataAlert, value: Value) -> str:
    """Say why a rule cannot be judged by a value; empty if it can."""
    for column, bound in rule.when.items():
        if column not in value.fields:
            return f"there is no column {column!r} in {', '.join(sorted(value.fields))}"
        found = value.fields[column]
        if found is not None and bound.limits and (isinstance(found, bool) or not isinstance(found, int | float)):
            return f"{column} is {found!r:.100}, which is no number"
    return ""


def within(value: Any, bound: Bound) -> bool:  # noqa: ANN401 - whatever a column holds
    """Whether a value is within a bound; null is within none.

    Args:
        value: a JSON value; a number where the bound has limits.
        bound: what must hold.
    """
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
        state.told.add(value.key)
        yield RuleEvent(rule, Turn.HOLDS, value.key, value, now)
        return
    state.untold.add(value.key)
    if not state.more_told:
        state.more_told = True
        yield RuleEvent(rule, Turn.MORE, (), None, now)


def _over(rule: DataAlert, state: _State, key: Key, value: Value | None, now: datetime) -> Iterator[RuleEvent]:
    state.untold.discard(key)
    if state.more_told and not state.untold:
        state.more_told = False
        yield RuleEvent(rule, Turn.OVER, (), None, now)
    if key in state.told:
        state.told.discard(key)
        yield RuleEvent(rule, Turn.OVER, key, value, now)
