"""A topic's first spec, from a few of its records or from nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.errors import SpecError
from sluice.specs.model import FieldType
from sluice.topics.json_object import NoObjectError, parse_object, read_instant


@dataclass(frozen=True)
class GuessedField:
    """What a sample tells of a field.

    Attributes:
        type: the narrowest that all its values have; text if they have several.
        required: whether every record has it, and not as null.
    """

    type: FieldType
    required: bool


def guess_fields(lines: Sequence[bytes]) -> dict[str, GuessedField]:
    """Return the fields of JSON records, in the order in which they come.

    Nested values are left out: a topic's fields are flat, and what is not declared stays in the raw bytes.

    Raises:
        SpecError: a line is no JSON object, or there is no line.
    """
    seen: dict[str, list[FieldType]] = {}
    for number, line in enumerate(lines, 1):
        for name, value in _object(line, number).items():
            if (kind := _type_of(value)) is not None:
                seen.setdefault(name, []).append(kind)
    if not lines:
        raise SpecError("the sample has no line.", fix="give a file with one JSON object per line.")
    return {name: GuessedField(_common(kinds), len(kinds) == len(lines)) for name, kinds in seen.items()}


def time_of(fields: Mapping[str, GuessedField], named: str = "") -> str:
    """Return a field that says when a record happened, or became known.

    Args:
        fields: of the topic.
        named: by the caller; empty: the first required time.

    Raises:
        SpecError: there is none, or the named one is no required time.
    """
    times = [name for name, field in fields.items() if field.type is FieldType.TIMESTAMP and field.required]
    if named and named not in times:
        raise SpecError(
            f"{named!r} is no time that every record of the sample has; these are: {', '.join(times) or 'none'}.",
            fix="name one of these, or mend the sample.",
        )
    if not times:
        raise SpecError(
            "no field of the sample is a time (ISO 8601 with a zone) in every record, and a topic needs one.",
            fix="let the producer say when a record happened.",
        )
    return named or times[0]


def topic_text(
    name: str,
    fields: Mapping[str, GuessedField],
    event_time: str,
    *,
    arrival_time: str = "",
    partitions: int,
    owner: str,
) -> str:
    """Return the spec as YAML.

    Args:
        name: of the topic.
        fields: of its value.
        event_time: the field that says when a record happened.
        arrival_time: the field that says when it became known; empty: the broker says it.
        partitions: how many.
        owner: who answers for it; empty for nobody yet.
    """
    width = max(len(field) for field in fields)
    declared = "\n".join(f"    {field + ':':<{width + 1}} {_declared(found)}" for field, found in fields.items())
    broker = "" if arrival_time else _BROKER
    by = f"owner: {owner}\n" if owner else ""
    return f"""name: {name}
description: What a record of this topic says, in one sentence.
{by}partitions: {partitions}
retention: 7 days
{broker}value:
  format: json
  event_time: {event_time}
  arrival_time: {arrival_time or "broker"}
  fields:                     # what is not declared here stays in the raw bytes
{declared}
raw:
  table: {name}_raw           # every record, once
  driver: {name}              # streams of one driver share a process
"""


_BROKER = "configs: {message.timestamp.type: LogAppendTime}   # the broker says when a record came\n"


def _declared(field: GuessedField) -> str:
    required = ", required: true" if field.required else ""
    return f"{{type: {field.type.value}{required}}}"


def _object(line: bytes, number: int) -> Mapping[str, object]:
    try:
        return parse_object(line)
    except NoObjectError as error:
        raise SpecError(f"line {number} of the sample: {error}.", fix="write one JSON object per line.") from error


def _type_of(value: object) -> FieldType | None:
    """Return the type of a value; None of null and of what is nested."""
    match value:
        case bool():
            return FieldType.BOOLEAN
        case int():
            return FieldType.LONG
        case float():
            return FieldType.DOUBLE
        case str():
            return FieldType.TIMESTAMP if _is_time(value) else FieldType.STRING
        case _:
            return None


def _is_time(text: str) -> bool:
    return read_instant(text) is not None


def _common(kinds: Sequence[FieldType]) -> FieldType:
    found = set(kinds)
    if found == {FieldType.LONG, FieldType.DOUBLE}:
        return FieldType.DOUBLE
    return found.pop() if len(found) == 1 else FieldType.STRING
