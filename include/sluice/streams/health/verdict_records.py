"""The port to the control database for verdicts: what was said of each stream, and since when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from sluice.streams.health.verdict import Verdict


@dataclass(frozen=True)
class RecordedVerdict:
    """A verdict at the time when it was first given (UTC)."""

    unit: str
    stream: str
    generation: int
    verdict: Verdict
    at: datetime


@dataclass(frozen=True)
class NewVerdict:
    """A verdict that was just given, of a unit's generation."""

    unit: str
    stream: str
    generation: int
    verdict: Verdict


class VerdictRecords(Protocol):
    """Verdicts on streams as they were given. Every method may raise UnreachableError."""

    def newest_verdicts(self, units: Collection[str]) -> Mapping[str, Mapping[str, RecordedVerdict]]:
        """Return what `verdicts` returns, by unit and stream, of those units that have any, in a few queries."""
        ...

    def record_verdict(self, unit: str, stream: str, generation: int, verdict: Verdict) -> bool:
        """Store the verdict if its health or generation differs from the newest stored one; return whether it did.

        The lags of single partitions are not kept, nor what a settler waits for: a snapshot has them.
        """
        ...

    def record_verdicts(self, given: Sequence[NewVerdict]) -> int:
        """Do the same for many in a few transactions; return how many were stored."""
        ...

    def verdicts(self, unit: str) -> Sequence[RecordedVerdict]:
        """Return the newest verdict of each stream of the unit."""
        ...

    def verdicts_since(self, unit: str, since: datetime) -> Sequence[RecordedVerdict]:
        """Return what held at a moment, and all changes after it, of each stream, oldest first."""
        ...

    def forget_verdicts(self, before: datetime) -> int:
        """Forget, of all units, the verdicts that no longer held at a moment (UTC); return how many they were."""
        ...
