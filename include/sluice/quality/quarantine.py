"""The quarantine as users see it: the records, the reasons, and their content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sluice.intervals.record_positions import RecordPositions, TopicPosition
from sluice.quality.reasons import Outcome, Reason

LETTER_PREFIX = "__sluice.errors."
"""Begins the names of a dead letter's headers; what follows is named as Kafka Connect names it, as far as there is such
a thing."""


@dataclass(frozen=True)
class QuarantineFilter:
    """Selects quarantined records; None selects all.

    Attributes:
        reasons: only these.
        since: appended to the topic at or after this (UTC).
        until: appended before this (UTC).
        partition: only of this one.
        first: only this offset and later ones.
        last: only this offset and earlier ones.
    """

    reasons: tuple[Reason, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    partition: int | None = None
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """Return it in words."""
        parts = [", ".join(self.reasons)] if self.reasons else []
        parts += [f"since {self.since:%Y-%m-%dT%H:%MZ}"] if self.since else []
        parts += [f"until {self.until:%Y-%m-%dT%H:%MZ}"] if self.until else []
        parts += [f"partition {self.partition}"] if self.partition is not None else []
        parts += [f"offsets from {self.first}"] if self.first is not None else []
        parts += [f"offsets to {self.last}"] if self.last is not None else []
        return "; ".join(parts) or "all"


@dataclass(frozen=True)
class Quarantined:
    """One record.

    Attributes:
        position: topic id, partition, offset.
        at: its timestamp (UTC).
        reason: why it is quarantined.
        broken: expectations that it breaks, as their subjects; only where the reason is `unexpected`.
        key: its key.
        value: its value.
        headers: names and values.
        detail: which field is at fault and what is wrong with it; None where it is no single field.
    """

    position: TopicPosition
    at: datetime
    reason: Reason
    broken: tuple[str, ...]
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    detail: str | None = None


@dataclass(frozen=True)
class Browsed:
    """What was asked for.

    Attributes:
        counts: how many records for each reason and day of their timestamp (UTC), in that order.
        records: the newest ones.
        details: which fields are at fault, by reason, and of how many records; the most first.
    """

    counts: Mapping[tuple[Reason, str], int]
    records: tuple[Quarantined, ...]
    details: Mapping[Reason, Mapping[str, int]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    @property
    def reasons(self) -> dict[Reason, int]:
        """How many for each reason, in the order of the catalogue."""
        counts = {reason: sum(n for (own, _), n in self.counts.items() if own is reason) for reason in Reason}
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True)
class Revalidation:
    """What today's rules make of a case's records.

    Attributes:
        outcomes: how many have each outcome.
        reasons: how many are quarantined for each reason.
        intervals: starts of the intervals in which the others happened (UTC), with how many in each.
        missing: records of the case that the raw table does not have.
        left: places of those that are still quarantined.
    """

    outcomes: Mapping[Outcome, int]
    reasons: Mapping[Reason, int]
    intervals: Mapping[datetime, int]
    missing: int
    left: RecordPositions

    @property
    def better(self) -> int:
        """How many are not quarantined any more."""
        return sum(count for outcome, count in self.outcomes.items() if outcome is not Outcome.QUARANTINED)

    @property
    def counts(self) -> dict[str, int]:
        """All of it for the record: outcomes, and reasons of what is left."""
        counts: dict[str, int] = {str(outcome): count for outcome, count in self.outcomes.items() if count}
        return counts | {f"quarantined: {reason}": count for reason, count in self.reasons.items()}
