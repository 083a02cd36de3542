"""The port to the control database for the life of units: desired state and attempts.

Invariant: a generation is created by compare-and-swap, so two claims that race cannot both get one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from sluice.errors import RefusedError
from sluice.streams.failures.failure import FailureClass


class Desired(StrEnum):
    """What a person or schedule wants of a unit."""

    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True)
class DesiredState:
    """A desired state on record: what, who, why, when (UTC)."""

    unit: str
    state: Desired
    by: str
    why: str
    at: datetime


class AttemptState(StrEnum):
    """Where an attempt is in its life."""

    INTENT = "intent"  # the key is reserved; the driver may or may not have been submitted
    BOUND = "bound"  # the launcher confirmed the driver
    ENDED = "ended"  # death was proven and recorded


@dataclass(frozen=True)
class Attempt:
    """One driver process of a unit.

    Attributes:
        ended_at: when the driver died, as its launcher says, or else when that was proven (UTC).
        reason: how it ended, as a phrase.
        failure: the class of that; None before the end, and in records older than classes are.
    """

    unit: str
    generation: int
    key: str
    state: AttemptState
    intended_at: datetime
    bound_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    failure: FailureClass | None = None


class LostRaceError(RefusedError):
    """Another claim took this generation first; read again and adopt it."""


class AttemptRecords(Protocol):
    """Desired state and attempts of units. Every method may raise UnreachableError."""

    def desired(self, unit: str) -> DesiredState | None:
        """Return the latest desired state, or None if no user ever asked."""
        ...

    def set_desired_state(self, unit: str, state: Desired, *, by: str, why: str) -> DesiredState:
        """Record a desired state. History is kept."""
        ...

    def latest_attempt(self, unit: str) -> Attempt | None:
        """Return the attempt with the highest generation."""
        ...

    def newest_desired_states(self, units: Collection[str]) -> Mapping[str, DesiredState]:
        """Return what `desired` returns, of those units that have a desired state, in a few queries."""
        ...

    def newest_attempts(self, units: Collection[str]) -> Mapping[str, Attempt]:
        """Return what `latest_attempt` returns, of those units that have an attempt, in a few queries."""
        ...

    def histories(self, units: Collection[str], *, newest: int) -> Mapping[str, Sequence[Attempt]]:
        """Return so many of the newest attempts of those units that have any, newest first, in a few queries."""
        ...

    def attempts(self, unit: str, *, newest: int | None = None) -> Sequence[Attempt]:
        """Return all attempts, or so many of the newest, newest first."""
        ...

    def intend(self, unit: str, *, after_generation: int, key: str, generation: int | None = None) -> Attempt:
        """Create a generation in state INTENT.

        Args:
            unit: whose.
            after_generation: its highest generation so far; 0 for none.
            key: of the attempt.
            generation: a higher one; None: the next.

        Raises:
            LostRaceError: the unit's highest generation is not `after_generation`.
        """
        ...

    def bind(self, unit: str, generation: int) -> Attempt:
        """Record that the launcher confirmed the driver. Repeating it changes nothing."""
        ...

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
        """Record proven death. Repeating it keeps the first record.

        Args:
            unit: the driver's name in the specs.
            generation: the attempt's.
            exit_code: negative for a signal; None if it left none.
            reason: how it ended, as a phrase.
            failure: the class of that.
            at: when it died (UTC); omitted, or in the future: now.
        """
        ...

    def desired_states_since(self, unit: str, since: datetime) -> Sequence[DesiredState]:
        """Return the desired state that held at a moment, if there was one, and all after it, oldest first."""
        ...
