"""Rows that lie in intervals which are not made of the records that they were made of."""

from __future__ import annotations

from datetime import datetime

from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval, interval_of
from sluice.settling.rules import SettlingRules
from sluice.specs.model.duration import format_duration


def refuse_strays(table: str, span: tuple[datetime, datetime] | None, read: Interval, rules: SettlingRules) -> None:
    """Refuse rows that no record of their interval has made, as far as the spec says.

    Args:
        table: the interval table.
        span: the first and the last interval with a row, by their starts; None without rows.
        read: when the records happened that the rows were made of.
        rules: the pipeline's.

    Raises:
        RefusedError: there are some.
    """
    if span is None:
        return
    least = interval_of(read.start - rules.lookahead, rules.length).start
    most = interval_of(read.end + rules.lookback, rules.length).end
    if span[0] < least or span[1] >= most:
        stray = span[0] if span[0] < least else span[1]
        raise RefusedError(
            f"{table}: of records from {read.start:%F %R} to {read.end:%F %R} UTC the transform makes a row of the "
            f"interval {stray:%F %R} UTC, which is not made of them: `lookback` is {format_duration(rules.lookback)} "
            f"and `lookahead` {format_duration(rules.lookahead)}.",
            fix="declare under the output how far its rows reach, or mend the transform.",
        )
