"""The raw table of one topic as a settler reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import raw_position
from sluice.delta.reading import dataset_of, open_table
from sluice.delta.settled_log import CollectedRows
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval, interval_of
from sluice.intervals.backfill.bounds import IntervalBound
from sluice.intervals.reach import RawPosition, Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules
from sluice.spark.records.content import content_of_collected, with_hash
from sluice.spark.records.offsets import rows_at
from sluice.spark.records.pipeline import PipelineCode, good_records, partition_column, result_rows
from sluice.spark.settling.arrivals import TimeColumns, between, examined_columns
from sluice.spark.sinks.collected import brought
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.records import RawTable, Records

_RAW_COLUMNS = ["topic_id", "partition", "offset", "timestamp", "key", "value", "headers"]


@dataclass(frozen=True)
class RawTableSource:
    """Implements `sluice.settling.ports.RawSource`.

    Attributes:
        spark: the session.
        folder: of the raw table.
        code: the pipeline's.
        rules: the pipeline's, for settling.
        ends: lists the ends of the topic now, and its id.
        max_records: that one computation takes, if it takes more than one interval.
    """

    spark: SparkSession
    folder: Path
    code: PipelineCode
    rules: SettlingRules
    ends: Callable[[], Reach]
    max_records: int = 500_000

    def pin(self) -> RawPosition:
        """See the port."""
        return raw_position(self.folder)

    def listed_ends(self) -> Reach:
        """See the port."""
        return self.ends()

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        """See the port."""
        columns = TimeColumns.read(self.folder, pinned, since, self.code.topic)
        taken = partial(self._taken, pinned)
        return examined_columns(columns, self.code.pipeline.time, self.rules, settled_until, taken)

    def _taken(self, pinned: RawPosition, suspects: pa.Table) -> pa.Table:
        """Return those of some records that validation lets through; a heartbeat is none."""
        names = [suspects.column(name).to_pylist() for name in ("topic_id", "partition", "offset")]
        positions = RecordPositions.of(zip(*names, strict=True))
        rows = RawTable(self.folder, pinned.version, pinned.reach).rows(self.spark)
        good = good_records(raw_records(rows_at(rows, positions, self.spark)), self.code)
        own = good.select(F.col("_topic_id").alias("topic_id"), F.col("_partition").alias("partition"), "_offset")
        found = own.withColumnRenamed("_offset", "offset").toArrow()
        return suspects.join(found, ["topic_id", "partition", "offset"], join_type="left semi")

    def bounded(self, pinned: RawPosition, intervals: Interval) -> Interval:
        """See the port. How many records there are is read from the log alone."""
        length, rules = self.rules.length, self.rules
        left, end = self.max_records, intervals.start + self.rules.length
        files = self._files(pinned, Interval(intervals.start - rules.lookback, intervals.end + rules.lookahead))
        for first, records in files:
            left -= records
            if left < 0:
                break
            end = interval_of(first - rules.lookahead, length).start
        else:
            end = intervals.end
        return Interval(intervals.start, min(max(end, intervals.start + length), intervals.end))

    def compute(self, pinned: RawPosition, below: Reach, intervals: Interval) -> CollectedRows:
        """See the port.

        Raises:
            RefusedError: the rows do not fit into the driver.
        """
        column = partition_column(self.code.pipeline.intervals)
        stored = self._stored(pinned, below, intervals)
        rows = brought(with_hash(result_rows(raw_records(stored), self.code)))
        if rows is None:
            raise RefusedError(
                f"the rows of {intervals.start:%F %R} to {intervals.end:%F %R} UTC outgrow the driver, which holds the "
                f"rows of a settlement until they are committed.",
                fix="declare a shorter interval, or `engine: append`.",
            )
        found, content = content_of_collected(_inside(rows, column, intervals), column)
        return CollectedRows(found, content)

    def _stored(self, pinned: RawPosition, below: Reach, intervals: Interval) -> DataFrame:
        """Return the raw rows behind some intervals.

        Few of them are read by Arrow, past Spark's copy of the table's log. Then the plan is the same each time, and
        Spark need not generate and compile code for other literals.
        """
        read = Interval(intervals.start - self.rules.lookback, intervals.end + self.rules.lookahead)
        if sum(records for _, records in self._files(pinned, read)) <= self.max_records:
            event = ds.field("event_time")
            wanted = between(Reach({}), below) & (event >= pa.scalar(read.start)) & (event < pa.scalar(read.end))
            table = dataset_of(self.folder, pinned.version).to_table(columns=_RAW_COLUMNS, filter=wanted)
            return self.spark.createDataFrame(table)
        bound = IntervalBound(below, late=False)
        count = (intervals.end - intervals.start) // self.rules.length
        bounds: Mapping[datetime, IntervalBound] = {
            intervals.start + number * self.rules.length: bound for number in range(count)
        }
        raw = RawTable(self.folder, pinned.version, pinned.reach)
        return Records(self.spark, raw, self.code, bounds).rows

    def _files(self, pinned: RawPosition, between: Interval) -> list[tuple[datetime, int]]:
        """Return earliest event time and records of the files that may hold records of a range, in order of time."""
        files = pa.table(open_table(self.folder, pinned.version).get_add_actions(flatten=True))
        names = ("min.event_time", "max.event_time", "num_records")
        rows = zip(*(files.column(name).to_pylist() for name in names), strict=True)
        return sorted(
            (max(first, between.start), records)
            for first, last, records in rows
            if first is not None and first < between.end and last >= between.start
        )


def _inside(rows: pa.Table, column: str, intervals: Interval) -> pa.Table:
    start = rows.column(column)
    return rows.filter(
        pc.and_(pc.greater_equal(start, pa.scalar(intervals.start)), pc.less(start, pa.scalar(intervals.end)))
    )
