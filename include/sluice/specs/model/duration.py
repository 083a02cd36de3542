"""Durations as people write them in YAML: `3 hours`, `60 minutes`, `90s`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS = {
    "s": 1, "second": 1, "seconds": 1,
    "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
}  # fmt: skip
_FORM = re.compile(r"([0-9]{1,10})\s*([a-z]+)")
_LONGEST = timedelta(days=36_525)


def parse_duration(text: object) -> timedelta:
    """Read `<number> <unit>`.

    Raises:
        ValueError: for anything else, and for more than a century, which no clock arithmetic here is meant for.
    """
    if isinstance(text, timedelta):
        return text
    match = _FORM.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a duration; write a number and a unit, such as '3 hours', '10 min' or '90s'")
    seconds = int(match[1]) * _UNITS[match[2]]
    if seconds > _LONGEST.total_seconds():
        raise ValueError(f"{text!r} is longer than a century")
    return timedelta(seconds=seconds)


def format_duration(value: timedelta) -> str:
    """Return the shortest exact form that `parse_duration` reads back."""
    seconds = int(value.total_seconds())
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds and seconds % size == 0:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": rf"^[0-9]{{1,10}}\s*({'|'.join(_UNITS)})$", "examples": ["3 hours"]}),
]
