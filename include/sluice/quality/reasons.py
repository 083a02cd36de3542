"""Why a record is not good: the typed catalogue. Each reason says what it means and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sluice.wording import ExplainedEnum


class Outcome(ExplainedEnum):
    """What validation makes of a record. Every record has exactly one."""

    GOOD = "good", "the record is as its topic declares, and in time"
    QUARANTINED = (
        "quarantined",
        "the record is not as its topic declares; it is kept, with the reason",
        "`sluice quarantine list`",
    )
    LATE = "late", "the record arrived later than the pipeline allows", "a backfill in mode correct adds it"
    CONTROL = "control", "a heartbeat of the feed: counted, but in no result"


class Reason(ExplainedEnum):
    """Why a record is quarantined. A record has the first that applies, in this order."""

    TOMBSTONE = "tombstone", "the value is null", "find the producer that deletes keys; this topic is not a table"
    EMPTY = "empty", "the value has no bytes, or only blanks", "find the producer that sends empty values"
    BAD_FRAMING = (
        "bad_framing",
        "the value does not begin with a zero byte and a schema id",
        "find the producer whose serializer uses no schema registry",
    )
    UNKNOWN_SCHEMA = (
        "unknown_schema",
        "the topic's spec does not declare its schema id, or it is another message of that schema",
        "inspect its first five bytes; add the schema to the contract, and its id to `schemas`",
    )
    MALFORMED = (
        "malformed",
        "the bytes are no JSON object, line, Avro record or Protobuf message, or a text escapes half a character",
        "inspect the bytes; compare the producer's format",
    )
    TRAILING_BYTES = (
        "trailing_bytes",
        "more bytes follow the object or record",
        "find the producer that puts several values, or the rest of a buffer, into one record",
    )
    DUPLICATE_KEY = (
        "duplicate_key",
        "an object has a key twice, so its value is ambiguous",
        "find the producer that writes its JSON by hand",
    )
    WRONG_CASE = (
        "wrong_case",
        "a key differs from a declared field only in upper and lower case",
        "spell the key in the producer as the topic spec does",
    )
    NOT_FINITE = (
        "not_finite",
        "a number is NaN, infinite, or too large for a double",
        "find what the producer divides by; write null for an unknown value",
    )
    WRONG_TYPE = "wrong_type", "a field does not parse as its declared type", "compare the topic spec with the producer"
    MISSING_FIELD = (
        "missing_field",
        "a required field is absent or null",
        "fix the producer, or make the field optional",
    )
    OUT_OF_RANGE = (
        "out_of_range",
        "a number lies outside its declared range, or a time outside the years 1900 to 2199",
        "check the unit; widen the range if the value is right",
    )
    NOT_ALLOWED = "not_allowed", "a string is not in its declared list", "add the value to one_of if it is right"
    FUTURE = (
        "future",
        "its event time is too far ahead of its arrival time (future_skew), or that ahead of the broker's (clock_skew)",
        "check the producer's clock",
    )
    UNEXPECTED = (
        "unexpected",
        "it violates a critical expectation on records",
        "`sluice quarantine list` names it; fix the producer, or the expectation in include/expectations",
    )


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
"""The reasons why a record does not decode; they are found before any field is checked."""

_HOW_TO_DECLARE = {
    "is a time without a zone": "have the producer write the zone, or declare `zone: UTC` (or an offset) for the field",
    "is a whole number, and no time": "have the producer write text such as 2013-01-01T12:00:00Z, or declare "
    "`epoch: milliseconds` (or seconds, microseconds) for the field",
    "is text, and no time": "have the producer write it as 2013-01-01T12:00:00Z, or declare its `format`, "
    "or the field a string",
}
"""What a detail says of a time → what to do."""


def meaning_of(reason: Reason, detail: str | None = None) -> str:
    """Return what is wrong with a record: of its field, where it is known."""
    return detail or reason.meaning


def advice_of(reason: Reason, detail: str | None = None) -> str:
    """Return what to do about a reason, and about the field that the detail of a record names."""
    advices = (advice for phrase, advice in _HOW_TO_DECLARE.items() if phrase in (detail or ""))
    return next(advices, reason.what_to_do)


def counts_of(counted: Iterable[tuple[Reason, str | None, int]]) -> dict[Reason, int]:
    """Return how many records have each reason, in the order of the reasons; `counted` is that of `details_of`."""
    found = Counter[Reason]()
    for reason, _, records in counted:
        found[reason] += records
    return {reason: found[reason] for reason in Reason if reason in found}


def details_of(counted: Iterable[tuple[Reason, str | None, int]]) -> dict[Reason, dict[str, int]]:
    """Return the number of records with each detail, by reason, the most frequent first."""
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
    return reason.meaning + (f": {', '.join([*shown, *more])}" if shown else "")
