"""Where reading begins: `earliest`, `latest`, a time or offsets. Specs and resets say it in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema


class Edge(StrEnum):
    """An end of a topic."""

    EARLIEST = "earliest"  # the first record that there still is
    LATEST = "latest"  # behind the last record that there is


StartPosition: TypeAlias = Edge | datetime | Mapping[int, int]
"""An edge; a time: the first record that is no older, by its timestamp in Kafka; or the first offset by partition."""

_FORMS = "earliest, latest, a time such as 2013-01-07T12:00:00Z, or the first offset of each partition"


def parse_start(value: object) -> StartPosition:
    """Read a position: text, or a mapping of partition to offset.

    Raises:
        ValueError: it is none, or a time without its zone.
    """
    match value:
        case Edge() | datetime():
            return value
        case str():
            return parse_moment(value)
        case Mapping():
            return _offsets(value)
    raise ValueError(f"{value!r} is no position; write {_FORMS}")


def parse_moment(text: str, *, zone: tzinfo | None = None) -> Edge | datetime:
    """Read an edge or a time.

    Args:
        text: what is written.
        zone: of a time that names none; None: such a time is refused.

    Raises:
        ValueError: it is neither.
    """
    return Edge(text) if text in set(Edge) else _instant(text, zone)


def format_start(position: StartPosition) -> str | dict[str, int]:
    """Return what `parse_start` reads back, as JSON holds it."""
    if isinstance(position, Edge | datetime):
        return in_words(position)
    return {str(partition): offset for partition, offset in sorted(position.items())}


def in_words(position: Edge | datetime | Mapping[int, int] | Mapping[str, int]) -> str:
    """Return a position as a person writes it; partitions may be named with their topic."""
    match position:
        case Edge():
            return str(position)
        case datetime():
            return position.isoformat().replace("+00:00", "Z")
    return ", ".join(f"{partition}={offset}" for partition, offset in sorted(position.items()))


def _instant(text: str, zone: tzinfo | None) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no position; write {_FORMS}") from None
    if instant.tzinfo is None and zone is None:
        raise ValueError(f"the time {text!r} names no zone; write it as 2013-01-07T12:00:00Z")
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=zone)


def _offsets(value: Mapping[object, object]) -> dict[int, int]:
    if not value:
        raise ValueError(f"no partition is named; write {_FORMS}")
    offsets: dict[int, int] = {}
    for partition, offset in value.items():
        number = str(partition)
        if not (number.isascii() and number.isdigit()) or type(offset) is not int or offset < 0:
            raise ValueError(f"{partition!r}: {offset!r} is no partition with its first offset; write 0: 1200")
        offsets[int(number)] = offset
    return offsets


Start = Annotated[
    Edge | datetime | dict[int, int],
    PlainValidator(parse_start),
    PlainSerializer(format_start),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [str(edge) for edge in Edge]},
                {"type": "string", "format": "date-time"},
                {
                    "type": "object",
                    "patternProperties": {"^[0-9]+$": {"type": "integer", "minimum": 0}},
                    "additionalProperties": False,
                    "minProperties": 1,
                },
            ],
            "examples": ["latest"],
        }
    ),
]
"""A position in a spec."""
