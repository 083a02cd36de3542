"""The windows of a transform as Spark understands it, for those that reading the code could not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame

from sluice.errors import SpecError
from sluice.specs.code.window_rules import WindowCall, length_of, unfit_windows
from sluice.specs.model.outputs import IntervalsOutput

_FIXED = re.compile(r"- (-?\d+)\) % (\d+)\) < cast\(0 as bigint\)(?:(?!named_struct).)*\) - \d+\) \+ (\d+)\), LongType")
"""Offset, slide and length, in microseconds, as the analyzer writes the bounds of a window."""
_SESSION = re.compile(
    r"named_struct\(start, precisetimestampconversion\(precisetimestampconversion\((?:(?!named_struct).)*?end, "
    r"(?:(?!named_struct).)*? \+ cast\(([^()]*) as interval\)"
)
_ANY_SESSION = "named_struct(start, precisetimestampconversion(precisetimestampconversion("
_HERE = Path("the transform")


def refuse_other_windows(rows: DataFrame, output: IntervalsOutput) -> None:
    """Make sure that rows come from windows that an interval table takes, before the first one is lost.

    Args:
        rows: what the transform returns, of any columns; only its plan is read.
        output: the table.

    Raises:
        SpecError: windows reach further beyond an interval than declared, or are not as long as declared.
    """
    plan = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - there is no other way to the plan
    edge = _edge(str(plan.toString()), str(plan.output().toString()), output.time_column)
    windows = [replace(window, edge=edge) for window in _windows(str(plan.toString()))]
    if unfit := next(unfit_windows(windows, output), None):
        _, message, fix = unfit
        raise SpecError(f"the transform does not fit the table {output.table}: {message}", fix=fix)


def _edge(plan: str, columns: str, name: str) -> Literal["start", "end"] | None:
    """Return which end of a window a column is; None where the plan does not say so at once."""
    identity = re.search(rf"(?<![\w`]){re.escape(name)}#\d+", columns)
    found = identity and re.search(rf"\.(start|end) AS {re.escape(identity[0])}\b", plan)
    if not found:
        return None
    return "start" if found[1] == "start" else "end"


def _windows(plan: str) -> Iterator[WindowCall]:
    if _ANY_SESSION in plan:
        gap = _SESSION.search(plan)
        yield WindowCall(_HERE, 0, session=True, gap=None if gap is None else length_of(gap[1]))
    for offset, slide, length in set(_FIXED.findall(plan)):
        yield WindowCall(_HERE, 0, length=_micros(length), slide=_micros(slide), offset=_micros(offset))


def _micros(text: str) -> timedelta:
    return timedelta(microseconds=int(text))
