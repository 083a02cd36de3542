"""The rows of a settled table as another pipeline takes them: of a range of time, at one version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.conditions import during, hours_of
from sluice.delta.reading import dataset_of
from sluice.intervals.alignment import Interval, interval_of, intervals_between
from sluice.spark.records.pipeline import TableCode
from sluice.spark.tables.output import OutputTable
from sluice.spark.tables.ranges import within
from sluice.spark.tables.raw_table import FEW, few_rows, frame_of
from sluice.storage.folder import Folder


@dataclass(frozen=True)
class UpstreamTable:
    """A settled table that another pipeline reads.

    Attributes:
        spark: the session.
        folder: of the table.
        code: what is taken of it.
    """

    spark: SparkSession
    folder: Folder
    code: TableCode

    def rows(self, version: int, ranges: Sequence[Interval], *, few: int = FEW) -> DataFrame:
        """Return the rows of some ranges of time at a version; a column that it lacks is null.

        Few of them are read by Arrow, see `RawTableSource.records`.

        Args:
            version: of the table; below 0: there is none.
            ranges: when they happened, by the table's own time column.
            few: how many Arrow reads at most.
        """
        if version < 0 or not ranges:
            return self.spark.createDataFrame([], self.code.schema)
        dataset = dataset_of(self.folder, version)
        inside = reduce(or_, map(self._inside, ranges))
        names = [name for name in self.code.schema.names if name in dataset.schema.names]
        found = few_rows(dataset, inside, columns=names, most=few)
        if found is None:
            stored = self.spark.read.format("delta").option("versionAsOf", version).load(str(self.folder))
            whole = [self._whole(each) for each in ranges]
            time, column = self.code.output.time_column, self._table.column
            return self._as_given(stored.where(within(column, whole)).where(within(time, ranges)))
        return self._as_given(frame_of(self.spark, found))

    def hours(self, version: int, read: Interval) -> list[Interval]:
        """Return the hours of a range of time in which rows happened, in no order."""
        if version < 0:
            return []
        return hours_of(dataset_of(self.folder, version), self.code.output.time_column, self._inside(read))

    def unreadable(self, version: int, ranges: Sequence[Interval]) -> str:
        """Return why the rows of some ranges cannot be read at a version any more; empty if they can."""
        if version < 0:
            return ""
        length = self.code.output.interval_length
        whole = map(self._whole, ranges)
        starts = {each.start for inside in whole for each in intervals_between(inside.start, inside.end, length)}
        found = self._table.unreadable(dict.fromkeys(starts, version))
        return next((f"{self.folder.name}: {why}" for why in found.values()), "")

    @property
    def column(self) -> str:
        """The partition column."""
        return self._table.column

    @property
    def _table(self) -> OutputTable:
        return OutputTable(self.folder, self.code.output)

    def _whole(self, read: Interval) -> Interval:
        """Return the intervals of the table that a range of time touches."""
        length = self.code.output.interval_length
        last = interval_of(read.end, length)
        return Interval(interval_of(read.start, length).start, last.start if last.start == read.end else last.end)

    def _inside(self, read: Interval) -> ds.Expression:
        time, column = self.code.output.time_column, self._table.column
        inside = during(time, read)
        return inside if column == time else inside & during(column, self._whole(read))

    def _as_given(self, rows: DataFrame) -> DataFrame:
        known = set(rows.columns)
        return rows.select(
            *(
                (F.col(f"`{f.name}`") if f.name in known else F.lit(None)).cast(f.dataType).alias(f.name)
                for f in self.code.schema
            )
        )
