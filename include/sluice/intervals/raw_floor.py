"""The floor of a raw table: records of earlier times may have been removed by its retention.

What is made of earlier records stays as it was published: nothing can compute it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

BELOW_FLOOR = "below the floor"
"""How the reason begins why a backfill leaves an interval out whose records may have been removed."""


@dataclass(frozen=True)
class RawFloor:
    """From when on a raw table has every record.

    Attributes:
        at: a record that happened before may have been removed (UTC).
        since: when that was put on record (UTC), before the first record went.
    """

    at: datetime
    since: datetime

    def text(self, table: str) -> str:
        """Return it as a clause.

        Args:
            table: the raw table.
        """
        return (
            f"since {self.since:%Y-%m-%d}, {table} keeps no records from before {self.at:%Y-%m-%d %H:%M} UTC "
            "(`raw.retention`)"
        )


@dataclass(frozen=True)
class WholeFrom:
    """From which interval on all records can be read that the rows of a table are made of.

    Attributes:
        start: of the first such interval (UTC).
        floor: that cuts the intervals before it.
        table: the raw table that has this floor.
    """

    start: datetime
    floor: RawFloor
    table: str

    @property
    def text(self) -> str:
        """What it means for the intervals of a table, as a sentence."""
        return f"What begins before {self.start:%F %R} UTC cannot be computed again: {self.floor.text(self.table)}."

    def to_json(self) -> dict[str, str]:
        """Return it for programs."""
        return {
            "start": self.start.isoformat(),
            "floor": self.floor.at.isoformat(),
            "since": self.floor.since.isoformat(),
            "raw_table": self.table,
        }

    @property
    def why(self) -> str:
        """Why an interval before it is left as it is, as a clause."""
        return (
            f"{BELOW_FLOOR}: {self.floor.text(self.table)}, so it cannot be computed again, and records that still "
            "come for it change nothing; the published rows stay as they are"
        )

    @classmethod
    def latest(cls, each: Iterable[WholeFrom]) -> WholeFrom | None:
        """Return the last of several: an interval is whole if it is in every source; None if nothing was removed."""
        return max(each, key=lambda one: one.start, default=None)
