"""Cells of newest values as numbers, times and texts, and why one is none."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any

from sluice.console.charts.time_axis import seconds_of
from sluice.live.rules import missing_column
from sluice.live.values import Value, as_text

_DECIMAL = re.compile(r"[+-]?[0-9]{1,60}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,4})?")
"""How decimals are written: they are text, as in JSON."""
_GREATEST = 10**300

_SHOWN = 60

SortKey = tuple[int, float, str]


class UnfitCellError(Exception):
    """A cell cannot be shown; its text says which and why."""


def cell_of(value: Value, column: str) -> Any:  # noqa: ANN401 - whatever a column holds
    """Return the cell of a column.

    Raises:
        UnfitCellError: there is no such column.
    """
    if column not in value.fields:
        raise UnfitCellError(missing_column(column, value))
    return value.fields[column]


def number_in(value: Value, column: str) -> float | None:
    """Return the number in a column, whole ones as `int`; None of null and of what is not finite.

    Raises:
        UnfitCellError: there is no such column, or no number in it.
    """
    cell = cell_of(value, column)
    number = _number(cell)
    if number is None and not (cell is None or isinstance(cell, float)):
        raise UnfitCellError(f"{column} is {shown(cell)}, which is no number")
    if number is not None and abs(number) > _GREATEST:
        raise UnfitCellError(f"{column} is {shown(cell)}, which is too large a number")
    return number


def seconds_in(value: Value, column: str) -> float:
    """Return the time in a column, in seconds since the epoch; without a zone it is in UTC.

    Raises:
        UnfitCellError: there is no such column, or no time in it.
    """
    cell = cell_of(value, column)
    if isinstance(cell, str):
        try:
            at = datetime.fromisoformat(cell)
            return seconds_of(at if at.tzinfo else at.replace(tzinfo=UTC))
        except (ValueError, OverflowError):
            pass
    raise UnfitCellError(f"{column} is {shown(cell)}, which is no time such as {date(2026, 1, 31)}T12:00:00Z")


def text_in(value: Value, column: str) -> str:
    """Return a cell as text.

    Raises:
        UnfitCellError: there is no such column.
    """
    return text_of(cell_of(value, column))


def text_of(cell: object) -> str:
    """Return a cell as JSON has it, a text without quotes."""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list) else as_text(cell)


def shown(cell: object) -> str:
    """Return a cell as a message shows it: short, and text in quotes."""
    text = json.dumps(cell, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def sort_key(cell: object) -> SortKey:
    """Return the order of cells: null, then numbers, then texts, times among them."""
    if cell is None or (isinstance(cell, float) and not isfinite(cell)):
        return 0, 0.0, ""
    number = _number(cell)
    return (2, 0.0, text_of(cell)) if number is None else (1, min(max(number, -_GREATEST), _GREATEST), "")


def _number(cell: object) -> float | None:
    match cell:
        case bool():
            return None
        case int():
            return cell
        case float():
            return cell if isfinite(cell) else None
        case str() if _DECIMAL.fullmatch(cell):
            number = float(cell)
            return number if isfinite(number) else None
        case _:
            return None
