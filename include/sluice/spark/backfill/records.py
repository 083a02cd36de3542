"""The raw table at one version, and the records in it that stand behind given intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import newest_stream_commit
from sluice.delta.reading import open_table
from sluice.errors import NotReadyError
from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.bounds import Bound, with_margin
from sluice.quality.reasons import Outcome
from sluice.spark.backfill.ranges import within
from sluice.spark.instants import instant
from sluice.spark.pipeline import PipelineCode, good_records, result_rows
from sluice.spark.raw import raw_records
from sluice.spark.validation import OUTCOME, validate

_ENDS = pa.schema(
    [("_interval", pa.timestamp("us", tz="UTC")), ("_of_partition", pa.int32()), ("_end", pa.int64())],
)


@dataclass(frozen=True)
class RawTable:
    """A topic's raw table, pinned: what the raw stream adds meanwhile is not seen.

    Attributes:
        folder: of the table.
        version: of the table.
        ends: next offset per `topic/partition` that it holds at that version.
    """

    folder: Path
    version: int
    ends: Mapping[str, int]

    @classmethod
    def pin(cls, folder: Path) -> RawTable:
        """Take the table as it is now.

        Raises:
            NotReadyError: there is none, or no stream has written it.
        """
        open_table(folder)
        found = newest_stream_commit(folder)
        if found is None:
            raise NotReadyError(f"no stream has filled {folder} yet.", fix="start the stream that writes it.")
        version, entry = found
        return cls(folder, version, entry.end)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return all of it."""
        return spark.read.format("delta").option("versionAsOf", self.version).load(str(self.folder))


class Records:
    """The records behind some intervals, each interval with a bound of its own.

    Args:
        spark: the session.
        raw: the pinned raw table.
        code: what makes rows of them; its output says how far around an interval records matter.
        bounds: what is taken of each interval, by its start.
    """

    def __init__(
        self, spark: SparkSession, raw: RawTable, code: PipelineCode, bounds: Mapping[datetime, Bound]
    ) -> None:
        self._code = code
        self._length = code.pipeline.intervals.interval_length
        widened = with_margin(bounds, self._length, code.pipeline.intervals.settle)
        rows = raw.rows(spark).where(within("event_time", self._ranges(widened)))
        self._rows = self._before(spark, rows, {start: bound.offsets for start, bound in widened.items()})
        late = self._ranges(start for start, bound in widened.items() if bound.late)
        self._late = F.expr(within(code.topic.value.event_time, late))

    def results(self) -> DataFrame:
        """Return the rows that the code makes of the records: those of the intervals, and maybe further ones.

        They are not cut off here: Spark would push the condition below the aggregation, and judge every record.
        """
        return result_rows(raw_records(self._rows), self._code, late=self._late)

    def count(self) -> int:
        """Count the records, whatever validation makes of them: cheap, from the columns beside their bytes."""
        return self._rows.count()

    def count_good(self) -> int:
        """Count what the transform is given; parses every record once more."""
        return good_records(raw_records(self._rows), self._code, late=self._late).count()

    def count_late(self) -> dict[datetime, int]:
        """Count the late records per interval, taken or not; intervals without any are not in the result."""
        value, rules = self._code.topic.value, self._code.pipeline.time
        seconds = int(rules.allowed_lateness.total_seconds())
        # The raw table knows both times, so only what can be late is parsed.
        suspects = raw_records(self._rows.where(f"arrival_time - event_time > interval {seconds} seconds"))
        late = validate(suspects, value, rules).where(F.col(OUTCOME) == Outcome.LATE.value)
        start = F.unix_micros(self._interval(F.col(value.event_time))).alias("start")
        counted = late.groupBy(start).agg(F.count("*").alias("records")).collect()
        return {instant(row["start"]): row["records"] for row in counted}

    def _before(
        self, spark: SparkSession, rows: DataFrame, offsets: Mapping[datetime, Mapping[str, int] | None]
    ) -> DataFrame:
        """Keep the rows before the offsets of their interval; where there are none, the pinned table is the bound."""
        bounded = {start: ends for start, ends in offsets.items() if ends is not None}
        if not bounded:
            return rows
        first, *others = bounded.values()
        if len(bounded) == len(offsets) and all(other == first for other in others):
            return rows.where(_before(first))
        lines = [(start, partition, end) for start, ends in bounded.items() for partition, end in _by_number(ends)]
        columns = [list(column) for column in zip(*lines, strict=True)]
        ends = F.broadcast(spark.createDataFrame(pa.table(columns, schema=_ENDS)))
        own = (self._interval(rows["event_time"]) == ends["_interval"]) & (rows["partition"] == ends["_of_partition"])
        return rows.join(ends, own & (rows["offset"] < ends["_end"])).select(*rows.columns)

    def _interval(self, instant: Column) -> Column:
        return F.date_trunc(self._code.pipeline.intervals.interval, instant)

    def _ranges(self, starts: Iterable[datetime]) -> list[Interval]:
        return contiguous(Interval(start, start + self._length) for start in starts)


def _before(ends: Mapping[str, int]) -> Column:
    parts = [(F.col("partition") == partition) & (F.col("offset") < end) for partition, end in _by_number(ends)]
    return reduce(or_, parts, F.lit(False))


def _by_number(ends: Mapping[str, int]) -> list[tuple[int, int]]:
    return [(int(partition.rpartition("/")[2]), end) for partition, end in ends.items()]
