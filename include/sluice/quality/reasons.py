"""Why a record is not good: the typed catalogue. Each reason says what it means and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
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
    BAD_FRAMING = "bad_framing"
    UNKNOWN_SCHEMA = "unknown_schema"
    MALFORMED = "malformed"
    TRAILING_BYTES = "trailing_bytes"
    DUPLICATE_KEY = "duplicate_key"
    WRONG_CASE = "wrong_case"
    NOT_FINITE = "not_finite"
    WRONG_TYPE = "wrong_type"
    MISSING_FIELD = "missing_field"
    OUT_OF_RANGE = "out_of_range"
    NOT_ALLOWED = "not_allowed"
    FUTURE = "future"
    UNEXPECTED = "unexpected"


FAULTS = (
    Reason.TOMBSTONE,
    Reason.EMPTY,
    Reason.BAD_FRAMING,
    Reason.UNKNOWN_SCHEMA,
    Reason.MALFORMED,
    Reason.TRAILING_BYTES,
    Reason.DUPLICATE_KEY,
    Reason.WRONG_CASE,
    Reason.NOT_FINITE,
    Reason.WRONG_TYPE,
)
"""Those that are found while the bytes are read, before any field is looked at: the record does not decode."""

EXPLANATIONS: dict[Reason, tuple[str, str]] = {
    Reason.TOMBSTONE: ("the value is null", "find the producer that deletes keys; this topic is no table"),
    Reason.EMPTY: ("the value has no bytes, or only blanks", "find the producer that sends empty values"),
    Reason.BAD_FRAMING: (
        "the value does not begin with a zero and the id of a schema",
        "find the producer whose serializer knows no schema registry",
    ),
    Reason.UNKNOWN_SCHEMA: (
        "the id of its schema is not among those that the topic's spec declares",
        "look at its first five bytes; add the schema to the contract, and its id to `schemas`",
    ),
    Reason.MALFORMED: (
        "the bytes are no JSON object in UTF-8, a text in it escapes half a character, or they are no record in Avro",
        "look at the bytes; compare the producer's format",
    ),
    Reason.TRAILING_BYTES: (
        "something follows the object or record",
        "find the producer that puts several values, or the rest of a buffer, into one record",
    ),
    Reason.DUPLICATE_KEY: (
        "an object has a key twice, and which value is meant nobody can know",
        "find the producer that writes its JSON by hand",
    ),
    Reason.WRONG_CASE: (
        "a key differs from a declared field in upper and lower case only",
        "spell the key in the producer as the topic spec does",
    ),
    Reason.NOT_FINITE: (
        "a number is NaN or infinite, or too large for a double",
        "find what the producer divides by; write null for what is not known",
    ),
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
    Reason.FUTURE: (
        "it happened later than it became known (future_skew), or arrived later than the broker got it (clock_skew)",
        "check the producer's clock",
    ),
}
"""Reason → (what it means, what to do)."""

_HOW_TO_DECLARE = {
    "is a time without a zone": "have the producer write the zone, or declare `zone: UTC` (or an offset) for the field",
    "is a whole number, and no time": "have the producer write text such as 2013-01-01T12:00:00Z, or declare "
    "`epoch: milliseconds` (or seconds, microseconds) for the field",
    "is text, and no time": "have the producer write it as 2013-01-01T12:00:00Z, or declare the field a string",
}
"""What a detail says of a time → what to do."""


def meaning_of(reason: Reason, detail: str | None = None) -> str:
    """Return what is wrong with a record: of its field, where it is known."""
    return detail or EXPLANATIONS[reason][0]


def advice_of(reason: Reason, detail: str | None = None) -> str:
    """Return what to do about a reason, and about the field that it names.

    Args:
        reason: why records are quarantined.
        detail: what validation says of the field at fault; None where it is no single one.
    """
    found = (advice for said, advice in _HOW_TO_DECLARE.items() if said in (detail or ""))
    return next(found, EXPLANATIONS[reason][1])


def details_of(counted: Iterable[tuple[Reason, str | None, int]]) -> dict[Reason, dict[str, int]]:
    """Return how many records have each detail, by reason, the most first.

    Args:
        counted: reasons with a detail, or None, and a number of records.
    """
    found: dict[Reason, Counter[str]] = {}
    for reason, detail, records in counted:
        if detail is not None:
            found.setdefault(reason, Counter())[detail] += records
    return {reason: dict(found[reason].most_common()) for reason in Reason if reason in found}


def in_short(reason: Reason, details: Mapping[Reason, Mapping[str, int]], most: int = 3) -> str:
    """Return what is wrong for a reason: its meaning, and the fields with the most records."""
    own = details.get(reason, {})
    shown = [f"{detail} ({count:,})" for detail, count in list(own.items())[:most]]
    more = [f"and {len(own) - most} more"] if len(own) > most else []
    return EXPLANATIONS[reason][0] + (f": {', '.join([*shown, *more])}" if shown else "")
