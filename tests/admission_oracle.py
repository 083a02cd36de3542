"""What must become of a record, worked out by Python's own `json` and a few plain rules. It shares no code with us."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

DEEPEST = 1000
_BLANK = " \t\r\n"
_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_NOT_FINITE = {"NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF"}
_LONG = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Declared:
    """A topic's value, as far as it matters: names by type, and what else is said of them."""

    types: dict[str, str]
    required: tuple[str, ...]
    event_time: str
    arrival_time: str
    heartbeat: str
    minimum: dict[str, float] = field(default_factory=dict)
    maximum: dict[str, float] = field(default_factory=dict)
    one_of: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class _Document:
    """What was met while a document was read."""

    repeated: bool = False
    constants: bool = False
    texts: list[str] = field(default_factory=list)

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        self.repeated |= len(set(names)) < len(names)
        self.texts += names
        for _, value in pairs:  # of a name that is there twice, the dictionary keeps one value only
            self.texts += _texts(value) if isinstance(value, str | list) else ()
        return dict(pairs)

    def constant(self, _name: str) -> float:
        self.constants = True
        return math.nan


UNSURE = "unsure"
"""Only Spark knows whether `2013-1-1T1:00` is a time."""


@dataclass(frozen=True)
class Times:
    """How late and how early a record may be, and when the broker got it."""

    lateness: timedelta
    skew: timedelta
    clock_skew: timedelta
    broker: datetime


def judge(value: bytes | None, declared: Declared, times: Times) -> str:
    """Return the reason for which a record is quarantined, or its outcome, or `UNSURE`."""
    if value is None:
        return "tombstone"
    if not value.strip(_BLANK.encode()):
        return "empty"
    document = _Document()
    try:
        text = value.decode("utf-8").lstrip(_BLANK)
        decoder = json.JSONDecoder(object_pairs_hook=document.pairs, parse_constant=document.constant)
        found, end = decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return "malformed"
    if not isinstance(found, dict) or _halved(document.texts) or _depth(found) > DEEPEST:
        return "malformed"
    return _fault(found, text[end:], document, declared) or _judge_fields(found, declared, times)


def _fault(found: dict[str, Any], rest: str, document: _Document, declared: Declared) -> str | None:
    given = {name: found[name] for name in declared.types if found.get(name) is not None}
    numbers = [value for name, value in given.items() if declared.types[name] == "double"]
    if rest.strip(_BLANK):
        return "trailing_bytes"
    if document.repeated:
        return "duplicate_key"
    if any(name not in declared.types and name.lower() in declared.types for name in found):
        return "wrong_case"
    if document.constants or any(map(_not_finite, numbers)):
        return "not_finite"
    fits = {_fits(value, declared.types[name]) for name, value in given.items()}
    return "wrong_type" if False in fits else UNSURE if None in fits else None


def _judge_fields(found: dict[str, Any], declared: Declared, times: Times) -> str:
    control = found.get(declared.heartbeat) is True
    named = (declared.event_time, declared.arrival_time)
    if any(found.get(name) is None for name in (*named, *(() if control else declared.required))):
        return "missing_field"
    given = {name: found[name] for name in declared.types if found.get(name) is not None}
    outside = next(filter(None, (_outside(name, value, declared) for name, value in given.items())), None)
    event, arrival = (_instant(found[name]) for name in named)
    if outside or event is None or arrival is None:
        return outside or "out_of_range"
    if event - arrival > times.skew or arrival - times.broker > times.clock_skew:
        return "future"
    return "control" if control else "late" if arrival - event > times.lateness else "good"


def _outside(name: str, value: Any, declared: Declared) -> str | None:  # noqa: ANN401  JSON is any
    low, high = declared.minimum.get(name, -math.inf), declared.maximum.get(name, math.inf)
    if isinstance(value, int | float) and not low <= value <= high:
        return "out_of_range"
    if name in declared.one_of and _as_text(value) not in declared.one_of[name]:
        return "not_allowed"
    return None


def _not_finite(value: object) -> bool:
    if isinstance(value, str):
        return value in _NOT_FINITE
    try:
        return not isinstance(value, bool) and isinstance(value, int | float) and not math.isfinite(float(value))
    except OverflowError:
        return True


def _fits(value: object, kind: str) -> bool | None:
    """Return whether a value is of a type; None if that is for Spark to say."""
    if kind == "timestamp" and isinstance(value, str):
        return _reads(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = number and isinstance(value, int) and value in _LONG
    fitting = {"string": True, "double": number, "boolean": isinstance(value, bool), "long": whole, "timestamp": whole}
    return fitting[kind]


def _reads(text: str) -> bool | None:
    if not _INSTANT.fullmatch(text):
        return None if re.search(r"[0-9]{4}", text) else False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _instant(value: str | int) -> datetime | None:
    """Return a plausible time, or None."""
    if isinstance(value, int):
        if not _EARLIEST.timestamp() <= value < _LATEST.timestamp():
            return None
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
    found = datetime.fromisoformat(value)
    return found if _EARLIEST <= found < _LATEST else None


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _halved(texts: list[str]) -> bool:
    return any("\ud800" <= character <= "\udfff" for text in texts for character in text)


def _depth(value: object) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(_depth, parts), default=0)
