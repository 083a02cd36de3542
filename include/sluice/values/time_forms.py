"""How a field's times are written, where it is not text in ISO 8601 with its zone."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

EpochUnit = Literal["seconds", "milliseconds", "microseconds"]
"""What a whole number counts since 1970."""

Zone = Annotated[str, StringConstraints(pattern=r"^(UTC|[+-](0[0-9]|1[0-7]):[0-5][0-9])$")]
"""The zone of a text that names none: `UTC`, or an offset such as `+01:00`."""

PER_SECOND: dict[EpochUnit, int] = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}
