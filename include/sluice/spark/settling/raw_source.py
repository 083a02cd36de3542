"""The raw table of one topic as a settler reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import raw_position
from sluice.delta.settled_log import CollectedRows
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.bounds import IntervalBound
from sluice.intervals.reach import RawPosition, Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules
from sluice.spark.records.content import content_of_collected, with_hash
from sluice.spark.records.offsets import rows_at
from sluice.spark.records.pipeline import PipelineCode, good_records, partition_column
from sluice.spark.settling.arrivals import Narrow, examined_columns
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.ranges import within
from sluice.spark.tables.records import RawTable, Records


@dataclass(frozen=True)
class RawTableSource:
    """Implements `sluice.settling.ports.RawSource`.

    Attributes:
        spark: the session.
        folder: of the raw table.
        code: the pipeline's.
        rules: the pipeline's, for settling.
        ends: lists the ends of the topic now, and its id.
    """

    spark: SparkSession
    folder: Path
    code: PipelineCode
    rules: SettlingRules
    ends: Callable[[], Reach]

    def pin(self) -> RawPosition:
        """See the port."""
        return raw_position(self.folder)

    def listed_ends(self) -> Reach:
        """See the port."""
        return self.ends()

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        """See the port."""
        narrow = Narrow.read(self.folder, pinned, since, self.code.topic)
        taken = partial(self._taken, pinned)
        return examined_columns(narrow, self.code.pipeline.time, self.rules, settled_until, taken)

    def _taken(self, pinned: RawPosition, suspects: pa.Table) -> pa.Table:
        """Return those of some records that validation lets through; a heartbeat is none."""
        names = [suspects.column(name).to_pylist() for name in ("topic_id", "partition", "offset")]
        positions = RecordPositions.of(zip(*names, strict=True))
        rows = RawTable(self.folder, pinned.version, pinned.reach).rows(self.spark)
        good = good_records(raw_records(rows_at(rows, positions, self.spark)), self.code)
        own = good.select(F.col("_topic_id").alias("topic_id"), F.col("_partition").alias("partition"), "_offset")
        found = own.withColumnRenamed("_offset", "offset").toArrow()
        return suspects.join(found, ["topic_id", "partition", "offset"], join_type="left semi")

    def compute(self, pinned: RawPosition, below: Reach, intervals: Interval) -> CollectedRows:
        """See the port."""
        bound, length = IntervalBound(below, late=False), self.rules.length
        count = (intervals.end - intervals.start) // length
        bounds: Mapping[datetime, IntervalBound] = {intervals.start + n * length: bound for n in range(count)}
        raw = RawTable(self.folder, pinned.version, pinned.reach)
        column = partition_column(self.code.pipeline.intervals)
        rows = Records(self.spark, raw, self.code, bounds).results().where(within(column, [intervals]))
        found, content = content_of_collected(with_hash(rows).toArrow(), column)
        return CollectedRows(found, content)


def settling_rules(code: PipelineCode, arrival_disorder: timedelta) -> SettlingRules:
    """Return the rules that a pipeline's spec amounts to."""
    return SettlingRules(
        length=code.pipeline.intervals.interval_length,
        allowed_lateness=code.pipeline.time.allowed_lateness,
        arrival_disorder=arrival_disorder,
    )
