"""What a second engine makes of the records behind rows, where the transform is in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sluice.wording import counted


@dataclass(frozen=True)
class CrossCheck:
    """What DuckDB says of some intervals.

    Attributes:
        intervals: whose rows it made, too.
        differing: those of which it made other rows.
        not_asked: why it was not asked, or not of all that were chosen; empty if it was.
    """

    intervals: int = 0
    differing: int = 0
    not_asked: str = ""

    @classmethod
    def joined(cls, parts: Iterable[CrossCheck]) -> CrossCheck | None:
        """Return the sum of several; None if there is none."""
        every = list(parts)
        if not every:
            return None
        reasons = dict.fromkeys(part.not_asked for part in every if part.not_asked)
        asked, differing = sum(part.intervals for part in every), sum(part.differing for part in every)
        return cls(asked, differing, "; ".join(reasons))

    @property
    def text(self) -> str:
        """It in one line."""
        parts = []
        if self.intervals or not self.not_asked:
            found = f"other rows in {self.differing:,}" if self.differing else "the same rows"
            parts.append(f"{found} of {counted(self.intervals, 'interval')} that were chosen")
        if self.not_asked:
            parts.append(f"not compared: {self.not_asked}")
        return "; ".join(parts)
