"""The rows of a settled table that stand behind given intervals of another pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.versions import version_in
from sluice.intervals.alignment import ranges_of
from sluice.intervals.backfill.bounds import IntervalBound, by_bound
from sluice.settling.rules import SettlingRules
from sluice.spark.tables.raw_table import RawTable
from sluice.spark.tables.source_records import AS_DECLARED, Variation, in_order
from sluice.spark.tables.upstream import UpstreamTable


@dataclass(frozen=True)
class TableRecords:
    """The rows of one settled table behind some intervals, each interval with a bound of its own.

    What `SourceRecords` is for a topic. All rows are good: nothing is decoded, judged, late or quarantined.

    Attributes:
        name: what `table_input` calls the table.
        table: the table.
        pinned: its version for intervals whose bound names none.
        bounds: what is taken of each interval, by its start; their reaches are of this table alone.
        rules: of the pipeline that reads it, for this source.
    """

    name: str
    table: UpstreamTable
    pinned: RawTable
    bounds: Mapping[datetime, IntervalBound]
    rules: SettlingRules

    @property
    def nothing(self) -> DataFrame:
        """No row of it."""
        return self.table.rows(-1, [])

    @property
    def rows(self) -> DataFrame:
        """The rows in the intervals."""
        length = self.rules.length
        each = [self.table.rows(self._version(b), ranges_of(starts, length)) for b, starts in by_bound(self.bounds)]
        return reduce(DataFrame.unionByName, each, self.nothing)

    @property
    def good(self) -> DataFrame:
        """See `SourceRecords`."""
        return self.rows

    @property
    def event_time(self) -> Column:
        """When a row happened."""
        return F.col(f"`{self.table.code.output.time_column}`")

    def of_bound(
        self, bound: IntervalBound, starts: Sequence[datetime], variation: Variation = AS_DECLARED
    ) -> DataFrame:
        """Return the rows that rows of intervals with one bound are made of."""
        rows = self.table.rows(self._version(bound), self.rules.read_ranges(starts, variation.breadth))
        return in_order(rows, variation, self.event_time)

    def good_behind(self, bound: IntervalBound, start: datetime) -> DataFrame:
        """Return what the transform is given for the rows of one of the intervals."""
        return self.of_bound(bound, [start])

    def with_records(self, variation: Variation) -> set[datetime]:
        """Return the starts of the intervals whose rows may be made of rows of this table."""
        rules = self.rules.widened(variation.breadth)
        happened = (
            hour
            for bound, starts in by_bound(self.bounds)
            for read in self.rules.read_ranges(starts, variation.breadth)
            for hour in self.table.hours(self._version(bound), read)
        )
        return {each.start for hour in happened for each in rules.touched_by_any_of(hour)} & self.bounds.keys()

    def unreadable(self) -> dict[datetime, str]:
        """Return which intervals are made of rows that the table does not have any more, with the reason."""
        found: dict[datetime, str] = {}
        for bound, starts in by_bound(self.bounds):
            if why := self.table.unreadable(self._version(bound), self.rules.read_ranges(starts)):
                found |= dict.fromkeys(starts, why)
        return found

    def _version(self, bound: IntervalBound) -> int:
        return self.pinned.version if bound.reach is None else version_in(bound.reach, self.name)
