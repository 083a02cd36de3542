"""Rows of the control database as values of the core.

A watcher reads tens of thousands of rows a minute, and naming a row's columns one by one costs four times what the rest
does. So a row is unpacked in the order of its table's columns; one with another number of columns is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.streams.health.recording import RecordedVerdict
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState


def desired_state_of(row: Sequence[Any]) -> DesiredState:
    """Return a row of `desired_state`."""
    _id, _deployment, unit, state, requested_by, why, at = row
    return DesiredState(unit, Desired(state), requested_by, why, at)


def attempt_of(row: Sequence[Any]) -> Attempt:
    """Return a row of `attempt`."""
    _deployment, unit, generation, key, state, intended_at, bound_at, ended_at, exit_code, reason, failure = row
    failed, now = None if failure is None else FailureClass(failure), AttemptState(state)
    return Attempt(unit, generation, key, now, intended_at, bound_at, ended_at, exit_code, reason, failed)


def verdict_of(row: Sequence[Any]) -> RecordedVerdict:
    """Return a row of `verdict`: between health and time its columns and the fields of a verdict have one order."""
    _deployment, unit, stream, _number, generation, health, *figures, at = row
    return RecordedVerdict(unit, stream, generation, Verdict(Health(health), *figures), at)
