"""The rows that a panel is about, and what is said of those that cannot be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TypeVar

from sluice.live.rules import condition_fault, within
from sluice.live.values import Value
from sluice.serve.panels.cells import UnfitCellError
from sluice.serve.panels.view import Content, PanelView
from sluice.specs.model.data_alerts import Bound

T = TypeVar("T")


@dataclass
class SelectedRows:
    """Some rows, those that changed last first.

    Attributes:
        rows: those that fit, as far as that can be said.
        left_out: how many rows cannot be shown.
        reason: why the first of them cannot.
    """

    rows: Sequence[Value]
    left_out: int = 0
    reason: str = field(default="")

    def read(self, of: Callable[[Value], T]) -> Iterator[tuple[Value, T]]:
        """Yield the rows with what a function reads of each; those that it cannot read are left out."""
        for row in self.rows:
            try:
                found = of(row)
            except UnfitCellError as error:
                self.leave_out(str(error))
                continue
            yield row, found

    def leave_out(self, reason: str) -> None:
        """Count a row that cannot be shown."""
        self.left_out += 1
        self.reason = self.reason or reason

    def view(self, content: Content | None, *, lacking: str, more: int = 0) -> PanelView:
        """Return what a panel shows: its content, or why there is none.

        Args:
            content: what was made of the rows; None if nothing could be.
            lacking: why there is none although no row was left out.
            more: how many rows are not shown.
        """
        if content is None:
            return PanelView(None, f"No row can be shown: {self.reason}." if self.left_out else lacking)
        many = f"{self.left_out:,} row{' is' if self.left_out == 1 else 's are'} left out"
        return PanelView(content, notes=[f"{many}: {self.reason}."] if self.left_out else [], more=more)


def selection(rows: Sequence[Value], where: Mapping[str, Bound]) -> SelectedRows:
    """Return the rows that are within bounds; those of which that cannot be said are left out."""
    if not where:
        return SelectedRows(rows)
    kept, found = [], SelectedRows(())
    for row in rows:
        if fault := condition_fault(where, row):
            found.leave_out(fault)
        elif all(within(row.fields[column], bound) for column, bound in where.items()):
            kept.append(row)
    found.rows = kept
    return found


def where_words(where: Mapping[str, Bound]) -> str:
    """Return bounds by column as people say them."""
    return " and ".join(f"{column} is {word}" for column, bound in where.items() for word in bound.words())


@dataclass
class Combined:
    """Numbers of several rows on their way to be one."""

    count: int = 0
    known: int = 0
    total: float = 0
    least: float | None = None
    greatest: float | None = None

    def add(self, number: float | None) -> None:
        """Take in the number of a row; None of one without."""
        self.count += 1
        if number is not None:
            self.known += 1
            self.total += number
            self.least = number if self.least is None else min(self.least, number)
            self.greatest = number if self.greatest is None else max(self.greatest, number)

    def result(self, aggregate: str) -> float | None:
        """Return the number: a sum, the least, the greatest, a mean, or a count of rows; None if there is none."""
        if aggregate == "count":
            return self.count
        if not self.known:
            return None
        results = {
            "sum": self.total,
            "min": self.least,
            "max": self.greatest,
            "mean": self.total / self.known,
        }
        found = results[aggregate]
        return found if found is not None and isfinite(found) else None
