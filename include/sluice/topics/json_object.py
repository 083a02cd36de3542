"""A record's value as a JSON object, and its times, for every reader in Python. Pure.

Any producer may write into a topic, so these read anything: what is no JSON object is said to be none, and nothing
that a value holds raises anything else. What validation refuses as `malformed` or `not_finite`, these refuse too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

DEEPEST = 200
"""How deep a value may be nested that is read here; Python's own limit counts the callers. Validation's is 1,000."""

EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Times from the one and before the other are plausible; validation quarantines all others as `out_of_range`.
A watermark would follow them, out of what Python can count."""

_HALF_CHARACTER = re.compile(r"\\u[dD]")
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d(?::?[0-5]\d)?)?",
    re.ASCII,
)


class NoObjectError(ValueError):
    """A value is no JSON object. Its text says why, in a few words, and quotes nothing of the value."""


def parse_object(value: bytes | None) -> dict[str, Any]:
    """Return the JSON object that a record's value is.

    Raises:
        NoObjectError: it is none.
    """
    if value is None:
        raise NoObjectError("it has no value")
    try:
        text = value.decode()
        parsed = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise NoObjectError(f"byte {error.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise NoObjectError(f"it is no JSON: {error}") from None
    except RecursionError:
        raise NoObjectError(_TOO_DEEP) from None
    except NoObjectError:
        raise
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise NoObjectError("a number in it has thousands of digits") from None
    if not isinstance(parsed, dict):
        raise NoObjectError("it is JSON, but no object")
    if text.count("{") + text.count("[") > DEEPEST and _depth(parsed) > DEEPEST:
        raise NoObjectError(_TOO_DEEP)
    if _HALF_CHARACTER.search(text) and _has_half_character(parsed):
        raise NoObjectError("a text in it escapes half a character")
    return parsed


def read_object(value: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object that a record's value is; None if it is none."""
    try:
        return parse_object(value)
    except NoObjectError:
        return None


def as_moment(text: str) -> datetime | None:
    """Return a plausible time in ISO 8601, without a zone if it names none; None of anything else."""
    if _INSTANT.fullmatch(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Aware times are compared without a calendar, so also those that no calendar has in UTC.
    return moment if EARLIEST <= (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) < LATEST else None


def read_broker_time(milliseconds: int | None) -> datetime | None:
    """Return the time (UTC) of a record's timestamp; None if it has none, or one that no calendar has."""
    if milliseconds is None or milliseconds < 0:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


_TOO_DEEP = f"it is nested more than {DEEPEST} deep"


def _refuse(word: str) -> None:
    """NaN and the like are no JSON, though Python reads them."""
    raise NoObjectError(f"{word} in it is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NoObjectError("a number in it is too large for a double")
    return number


def _depth(value: Any) -> int:  # noqa: ANN401  JSON is any
    depth, level = 0, [value]
    while level:
        depth += 1
        parts = (part for each in level for part in (each.values() if isinstance(each, dict) else each))
        level = [part for part in parts if isinstance(part, dict | list)]
    return depth


def _has_half_character(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def encode(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a value: the same value always gives the same bytes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
