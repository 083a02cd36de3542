"""Times on the command line: UTC unless they say otherwise, a date alone is its midnight."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M%z", "%Y-%m-%dT%H:%M:%S%z"]
METAVAR = "YYYY-MM-DD[THH:MM[Z]]"

FromOption = Annotated[
    datetime, typer.Option("--from", formats=FORMATS, metavar=METAVAR, help="First instant; a date is midnight UTC.")
]
ToOption = Annotated[
    datetime, typer.Option("--to", formats=FORMATS, metavar=METAVAR, help="First instant that is not in it any more.")
]
SinceOption = Annotated[
    datetime | None, typer.Option("--from", formats=FORMATS, metavar=METAVAR, help="Only intervals from here on.")
]
UntilOption = Annotated[
    datetime | None, typer.Option("--to", formats=FORMATS, metavar=METAVAR, help="Only intervals before this.")
]


def in_utc(given: datetime) -> datetime:
    """Return a time of the command line in UTC; without a zone it is meant so."""
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
