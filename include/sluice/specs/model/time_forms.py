"""How a field's times are written, where it is not text in ISO 8601 with its zone."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import StringConstraints

EpochUnit = Literal["seconds", "milliseconds", "microseconds"]
"""What a whole number counts since 1970."""

Zone = Annotated[str, StringConstraints(pattern=r"^(UTC|[+-](0[0-9]|1[0-7]):[0-5][0-9])$")]
"""The zone of a text that names none: `UTC`, or an offset such as `+01:00`."""

PER_SECOND: dict[EpochUnit, int] = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}


class DeclaredField(Protocol):
    """A field of a topic, as far as it matters here."""

    @property
    def type(self) -> str:
        """Its type."""

    @property
    def epoch(self) -> EpochUnit | None:
        """What its numbers count."""

    @property
    def zone(self) -> str | None:
        """The zone of its texts without one."""


def types_read(field: DeclaredField) -> frozenset[str]:
    """Return the types whose values a field reads: a number since 1970 is a whole number, a local time any text."""
    if field.epoch:
        return frozenset({"long"})
    return frozenset({str(field.type), "string"} if field.zone else {str(field.type)})
