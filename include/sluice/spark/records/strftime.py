"""Whether a text reads as a time by a format of Python's `strptime`, as a Spark column: no Python runs for it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.specs.expectations.strftime import MONTHS, ZONE, text_format

_YEAR_IF_NONE = 1900
_LAST_YEAR_OF_THIS_CENTURY = 68
"""Two digits up to here are of this century, by POSIX."""


def reads_as(text: Column, strftime_format: str) -> Column:
    """Return whether a text reads by a format; null where it is null.

    Raises:
        ValueError: the format cannot be read by.
    """
    text_form = text_format(strftime_format)
    parts = {
        directive: F.regexp_extract(text, text_form.pattern, group) for directive, group in text_form.groups.items()
    }
    whole = F.regexp_extract(text, text_form.pattern, 0)
    reads = (F.length(whole) > 0) & (F.length(whole) == F.length(text)) & _is_a_day(parts)
    if "S" in parts:
        reads = reads & (_number(parts["S"]) < 60)  # noqa: PLR2004  Python's pattern lets leap seconds in, its times do not
    if "z" in parts:
        reads = reads & parts["z"].rlike(f"^(?:{ZONE})$")
    return F.when(text.isNotNull(), F.coalesce(reads, F.lit(False)))


def _is_a_day(parts: Mapping[str, Column]) -> Column:
    """Return whether the calendar has the day. Where two directives say the same, the later counts, as in Python."""
    year, month, day = F.lit(_YEAR_IF_NONE), F.lit(1), F.lit(1)
    for directive, part in parts.items():
        if directive == "Y":
            year = _number(part)
        elif directive == "y":
            year = _number(part) + F.when(_number(part) <= _LAST_YEAR_OF_THIS_CENTURY, 2000).otherwise(1900)
        elif directive == "m":
            month = _number(part)
        elif directive in ("b", "B"):
            month = F.array_position(F.array(*map(F.lit, MONTHS)), F.substring(F.lower(part), 1, 3)).cast("int")
        elif directive == "d":
            day = _number(part)
    return (year >= 1) & (day <= F.day(F.last_day(F.make_date(year, month, F.lit(1)))))


def _number(part: Column) -> Column:
    return F.trim(part).try_cast("int")
