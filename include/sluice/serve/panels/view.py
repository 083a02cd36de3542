"""What a panel shows, before it is HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sluice.console.charts.chart import Chart


@dataclass(frozen=True)
class LargeNumber:
    """One number.

    Attributes:
        text: as a person reads it.
        exact: with all its digits.
        about: the rows that it is about, in words.
    """

    text: str
    exact: str
    about: str


@dataclass(frozen=True)
class RankedRow:
    """One row of a ranking.

    Attributes:
        name: of the row.
        value: its number as text.
        share: how long its bar is, in percent of the longest.
        change: the change of the value as text; empty where it is unknown.
        direction: of the change: `up`, `down` or empty.
    """

    name: str
    value: str
    share: float
    change: str = ""
    direction: str = ""


@dataclass(frozen=True)
class Ranking:
    """Rows by rank; `changing` says whether there is a column for changes."""

    rows: Sequence[RankedRow]
    changing: bool


@dataclass(frozen=True)
class RowTable:
    """Rows as texts; `figures` are the places of the columns that hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: frozenset[int]


Content = LargeNumber | Chart | Ranking | RowTable


@dataclass(frozen=True)
class PanelView:
    """What is shown of one panel.

    Attributes:
        content: the picture, table or number; None if there is none.
        sentence: why there is none.
        notes: what else is to be known, such as rows that are left out.
        more: how many rows are not shown, beyond those that the panel is for.
    """

    content: Content | None
    sentence: str = ""
    notes: Sequence[str] = field(default=())
    more: int = 0
