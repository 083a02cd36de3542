"""Why a record is not good: the typed catalogue. Each reason says what it means and what to do."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What validation makes of a record. Every record has exactly one."""

    GOOD = "good"
    QUARANTINED = "quarantined"
    LATE = "late"
    CONTROL = "control"


class Reason(StrEnum):
    """Why a record is quarantined. A record has the first that applies, in this order."""

    TOMBSTONE = "tombstone"
    EMPTY = "empty"
    MALFORMED = "malformed"
    WRONG_TYPE = "wrong_type"
    MISSING_FIELD = "missing_field"
    OUT_OF_RANGE = "out_of_range"
    NOT_ALLOWED = "not_allowed"
    FUTURE = "future"
    UNEXPECTED = "unexpected"


EXPLANATIONS: dict[Reason, tuple[str, str]] = {
    Reason.TOMBSTONE: ("the value is null", "find the producer that deletes keys; this topic is no table"),
    Reason.EMPTY: ("the value has no bytes, or only blanks", "find the producer that sends empty values"),
    Reason.MALFORMED: ("the bytes are no JSON object", "look at the bytes; compare the producer's format"),
    Reason.WRONG_TYPE: ("a field does not read as its declared type", "compare the topic spec with the producer"),
    Reason.MISSING_FIELD: ("a required field is absent or null", "fix the producer, or make the field optional"),
    Reason.OUT_OF_RANGE: (
        "a number lies outside its declared range, or a time outside the years 1900 to 2199",
        "check the unit; widen the range if it is right",
    ),
    Reason.NOT_ALLOWED: ("a string is not in its declared list", "add the value to one_of if it is right"),
    Reason.UNEXPECTED: (
        "a critical expectation on records does not hold for it",
        "`sluice feed check` says which; correct the producer, or the expectation in include/expectations",
    ),
    Reason.FUTURE: ("it happened later than it became known, by more than future_skew", "check the producer's clock"),
}
"""Reason → (what it means, what to do)."""
