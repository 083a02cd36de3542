"""The windows of a transform as Spark understands it, for those that reading the code could not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame

from sluice.errors import SpecError
from sluice.specs.code.windows import WindowCall, unfit_windows
from sluice.specs.model.outputs import IntervalsOutput

_FIXED = re.compile(r"- (-?\d+)\) % (\d+)\) < cast\(0 as bigint\)(?:(?!named_struct).)*\) - \d+\) \+ (\d+)\), LongType")
"""Offset, slide and length, in microseconds, as the analyzer writes the bounds of a window."""
_SESSION = "named_struct(start, precisetimestampconversion(precisetimestampconversion("
_HERE = Path("the transform")


def refuse_other_windows(rows: DataFrame, output: IntervalsOutput) -> None:
    """Make sure that rows come from windows that an interval table takes, before the first one is lost.

    Args:
        rows: what the transform returns, of any columns; only its plan is read.
        output: the table.

    Raises:
        SpecError: the windows slide, have no fixed bounds, begin beside the grid, or are not the declared ones.
    """
    plan = rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - there is no other way to the plan
    if unfit := next(unfit_windows([*_windows(plan)], output), None):
        _, message, fix = unfit
        raise SpecError(f"the transform does not fit the table {output.table}: {message}", fix=fix)


def _windows(plan: str) -> Iterator[WindowCall]:
    if _SESSION in plan:
        yield WindowCall(_HERE, 0, session=True)
    for offset, slide, length in set(_FIXED.findall(plan)):
        yield WindowCall(_HERE, 0, length=_micros(length), slide=_micros(slide), offset=_micros(offset))


def _micros(text: str) -> timedelta:
    return timedelta(microseconds=int(text))
