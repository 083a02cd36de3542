"""What must become of a record, worked out by Python's own `json` and a few plain rules. It shares no code with us."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

DEEPEST = 1000
BLANK = " \t\r\n"
_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(r"(\d{4})(-\d\d-\d\d[T ]\d\d:\d\d)(:\d\d)?(\.\d{1,9})?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)
_MOST_DIGITS = 1000
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
    per_second: dict[str, int] = field(default_factory=dict)
    """Of times that are numbers."""
    zone: dict[str, str] = field(default_factory=dict)
    """Of times that may name none."""


@dataclass
class DocumentRead:
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


@dataclass(frozen=True)
class Times:
    """How late and how early a record may be, and when the broker got it."""

    lateness: timedelta
    skew: timedelta
    clock_skew: timedelta
    broker: datetime


def judge(value: bytes | None, declared: Declared, times: Times) -> str:
    """Return the reason for which a record is quarantined, or its outcome."""
    if value is None:
        return "tombstone"
    if not value.strip(BLANK.encode()):
        return "empty"
    read = read_document(value, _fraction)
    if read is None:
        return "malformed"
    found, rest, document = read
    return _fault(found, rest, document, declared) or _judge_fields(found, declared, times)


def read_document(value: bytes, parse_float: Callable[[str], Any]) -> tuple[dict[str, Any], str, DocumentRead] | None:
    """Return the object at the beginning of a value, what follows it, and what was met in it; None if there is none."""
    document = DocumentRead()
    try:
        text = value.decode("utf-8").lstrip(BLANK)
        decoder = json.JSONDecoder(
            object_pairs_hook=document.pairs,
            parse_constant=document.constant,
            parse_int=_whole,
            parse_float=parse_float,
        )
        with _recursion(3 * DEEPEST):
            found, end = decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or _halved(document.texts) or _depth(found) > DEEPEST:
        return None
    return found, text[end:], document


@contextmanager
def _recursion(limit: int) -> Iterator[None]:
    """Before Python 3.12 `json` goes as deep as the callers leave it, and no deeper."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _fault(found: dict[str, Any], rest: str, document: DocumentRead, declared: Declared) -> str | None:
    given = {name: found[name] for name in declared.types if found.get(name) is not None}
    numbers = [value for name, value in given.items() if declared.types[name] == "double"]
    if rest.strip(BLANK):
        return "trailing_bytes"
    if document.repeated:
        return "duplicate_key"
    if any(name not in declared.types and name.lower() in declared.types for name in found):
        return "wrong_case"
    if document.constants or any(map(_not_finite, numbers)):
        return "not_finite"
    return None if all(_fits(name, value, declared) for name, value in given.items()) else "wrong_type"


def _judge_fields(found: dict[str, Any], declared: Declared, times: Times) -> str:
    control = found.get(declared.heartbeat) is True
    named = (declared.event_time, declared.arrival_time)
    if any(found.get(name) is None for name in (*named, *(() if control else declared.required))):
        return "missing_field"
    given = {name: found[name] for name in declared.types if found.get(name) is not None}
    outside = next(filter(None, (_outside(name, value, declared) for name, value in given.items())), None)
    moments = {name: _instant(name, given[name], declared) for name in given if declared.types[name] == "timestamp"}
    event, arrival = (moments[name] for name in named)
    if outside or event is None or arrival is None or None in moments.values():
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


def _whole(text: str) -> int:
    if len(text.lstrip("-")) > _MOST_DIGITS:
        raise ValueError("too long a number")
    return int(text)


def _fraction(text: str) -> float:
    if sum(character.isdigit() for character in text) > _MOST_DIGITS:
        raise ValueError("too long a number")
    return float(text)


def _fits(name: str, value: object, declared: Declared) -> bool:
    """Return whether a value is of its field's type."""
    kind = declared.types[name]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = number and isinstance(value, int) and value in _LONG
    if kind == "timestamp":
        return whole if name in declared.per_second else moment(value, declared.zone.get(name)) is not None
    fitting = {"string": True, "double": number, "boolean": isinstance(value, bool), "long": whole}
    return fitting[kind]


def moment(value: object, zone: str | None) -> tuple[int, datetime] | None:
    """Return a time as whole 400 years and one of the years 2000 to 2399, by which every year can be counted."""
    match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if match is None or (match[4] and not match[3]) or (offset := match[5] or zone) is None:
        return None
    ages, year = divmod(int(match[1]), 400)
    try:
        text = f"{2000 + year:04}{match[2]}{match[3] or ':00'}{(match[4] or '')[:7]}{offset}"
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (ages, found) if abs(found.utcoffset() or timedelta()) <= timedelta(hours=18) else None


def _instant(name: str, value: Any, declared: Declared) -> datetime | None:  # noqa: ANN401  JSON is any
    """Return a plausible time, or None."""
    if name in declared.per_second:
        seconds, rest = divmod(value, declared.per_second[name])
        if not _EARLIEST.timestamp() <= seconds < _LATEST.timestamp():
            return None
        micros = rest * 1_000_000 // declared.per_second[name]
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=micros)
    read = moment(value, declared.zone.get(name))
    assert read is not None
    ages, found = read
    year = found.year - 2000 + 400 * ages
    if not _EARLIEST.year - 1 <= year <= _LATEST.year:
        return None
    found = found.replace(year=year)
    return found if _EARLIEST <= found < _LATEST else None


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(value: object) -> Iterator[str]:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list):
            left += part.values() if isinstance(part, dict) else part


def _halved(texts: list[str]) -> bool:
    return any("\ud800" <= character <= "\udfff" for text in texts for character in text)


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
    return depth
