"""Times on the command line: UTC unless they have a zone. `--from` and `--to` mean the same in every command.

A range is half-open. A date alone is a whole day: `--from` starts at its midnight and `--to` includes it, so `--from
2013-01-01 --to 2013-01-07` is a week.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

METAVAR = "YYYY-MM-DD[THH:MM[Z]]"
_DAY = "%Y-%m-%d"
_FORMATS = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M%z", "%Y-%m-%dT%H:%M:%S%z"]


def start_of(text: str | datetime) -> datetime:
    """Return the start of a range (UTC): a time, or the midnight of a date.

    Raises:
        typer.BadParameter: it is neither.
    """
    return _read(text, timedelta())


def end_of(text: str | datetime) -> datetime:
    """Return the exclusive end of a range (UTC): a time, or the midnight after a date.

    Raises:
        typer.BadParameter: it is neither.
    """
    return _read(text, timedelta(days=1))


def _read(text: str | datetime, of_a_date: timedelta) -> datetime:
    if isinstance(text, datetime):  # a default
        return text
    for form in (_DAY, *_FORMATS):
        try:
            parsed = datetime.strptime(text, form)  # noqa: DTZ007 - the zone is checked below
            zoned = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
            return zoned + of_a_date if form == _DAY else zoned
        except (ValueError, OverflowError):
            continue
    raise typer.BadParameter(
        f"{text!r} is not a time; write a date such as 2013-01-07, or a time such as 2013-01-07T12:00 (in UTC)."
    )


_FIRST = "Start: a date, or a time (UTC unless it has a zone)."
_LAST = "End: a date, included; or a time, excluded."

FromOption = Annotated[datetime, typer.Option("--from", parser=start_of, metavar=METAVAR, help=_FIRST)]
ToOption = Annotated[datetime, typer.Option("--to", parser=end_of, metavar=METAVAR, help=_LAST)]
SinceOption = Annotated[datetime | None, typer.Option("--from", parser=start_of, metavar=METAVAR, help=_FIRST)]
UntilOption = Annotated[datetime | None, typer.Option("--to", parser=end_of, metavar=METAVAR, help=_LAST)]
