"""A census: how many records are good, quarantined (and why), late or control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.quality.duplicates import Duplicates
from sluice.quality.reasons import Outcome, Reason
from sluice.specs.expectations.model import Severity


@dataclass(frozen=True)
class ReasonExample:
    """The first record of a reason: where it is, and the beginning of its value (lossy text; None for a tombstone)."""

    reason: Reason
    partition: int
    offset: int
    value: str | None


@dataclass(frozen=True)
class Unexpected:
    """How many records break an expectation, of those that are what their topic declares."""

    expectation: str
    subject: str
    severity: Severity
    records: int


@dataclass(frozen=True)
class Census:
    """Counts over a whole raw table. `outcomes` sums to `records`, `reasons` to the quarantined among them.

    A record may break several expectations: they do not sum to anything. Duplicates are among the good and the late;
    None where the topic declares no event id. `details` says for a reason which fields are at fault, and of how many
    records, the most first; at most one for each field and form.
    """

    pipeline: str
    records: int
    undecodable: int
    outcomes: Mapping[Outcome, int]
    reasons: Mapping[Reason, int]
    samples: tuple[ReasonExample, ...]
    unexpected: tuple[Unexpected, ...] = ()
    duplicates: Duplicates | None = None
    details: Mapping[Reason, Mapping[str, int]] = field(default_factory=dict)
