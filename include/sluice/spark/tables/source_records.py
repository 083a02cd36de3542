"""The records of one topic that stand behind given intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, reduce
from operator import or_

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.reading import dataset_of
from sluice.intervals.alignment import Interval, ranges_of
from sluice.intervals.backfill.bounds import IntervalBound, by_bound
from sluice.intervals.reach import Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.quality.reasons import Outcome
from sluice.settling.rules import SettlingRules
from sluice.spark.records.instants import instant
from sluice.spark.records.offsets import rows_at, rows_elsewhere
from sluice.spark.records.pipeline import SourceCode, good_records
from sluice.spark.records.validation import OUTCOME
from sluice.spark.sinks.raw import raw_records, raw_rows
from sluice.spark.tables.ranges import within
from sluice.spark.tables.raw_table import RawTable, below_reach, ends_by_topic, few_rows, frame_of
from sluice.specs.model.outputs import HOUR, IntervalsOutput

_ENDS = pa.schema(
    {
        "_interval": pa.timestamp("us", tz="UTC"),
        "_topic": pa.string(),  # null: whichever
        "_ends": pa.map_(pa.int32(), pa.int64()),  # null: everything
    }
)


@dataclass(frozen=True)
class Variation:
    """How records are read for a computation. Whatever a table declares truly, none of it changes a row.

    Attributes:
        breadth: how many times as far beyond an interval as declared.
        shuffled: whether in an order of no meaning, and spread over other tasks.
    """

    breadth: int = 1
    shuffled: bool = False


AS_DECLARED = Variation()
"""As a settler reads."""
POSITION = ("offset", "partition")
"""What tells the records of a raw table apart."""


class SourceRecords:
    """The records of one topic behind some intervals, each interval with a bound of its own.

    Args:
        spark: the session.
        raw: the pinned raw table.
        source: what is done with the records.
        bounds: what is taken of each interval, by its start; their reaches are of this topic alone.
        rules: of the topic, for settling.
        output: the interval table.

    Attributes:
        raw: the pinned raw table.
        whole: all that it holds.
    """

    def __init__(
        self,
        spark: SparkSession,
        raw: RawTable,
        source: SourceCode,
        bounds: Mapping[datetime, IntervalBound],
        *,
        rules: SettlingRules,
        output: IntervalsOutput,
    ) -> None:
        self._spark = spark
        self.raw = raw
        self._source = source
        self._rules = rules
        self._output = output
        self._bounds = bounds
        self.whole = raw.rows(spark)

    @cached_property
    def rows(self) -> DataFrame:
        """The records in the intervals, as the raw table holds them."""
        rows = self._between(ranges_of(self._bounds, self._rules.length), self._again)
        return self._before(rows, {start: bound.reach for start, bound in self._bounds.items()})

    @property
    def late(self) -> Column:
        """Whether a record lies in an interval of which late ones are taken."""
        late = (start for start, bound in self._bounds.items() if bound.late)
        return F.expr(within(self._source.value.event_time, ranges_of(late, self._rules.length)))

    @property
    def good(self) -> DataFrame:
        """Those of `rows` that the transform is given."""
        return good_records(raw_records(self.rows), self._source, late=self.late)

    @property
    def event_time(self) -> Column:
        """When a good record happened."""
        return F.col(self._source.value.event_time)

    def of_bound(
        self, bound: IntervalBound, starts: Sequence[datetime], variation: Variation = AS_DECLARED
    ) -> DataFrame:
        """Return the records that rows of intervals with one bound are made of, as the raw table holds them."""
        return in_order(self._behind(bound, starts, variation.breadth), variation, *POSITION)

    def good_behind(self, bound: IntervalBound, start: datetime) -> DataFrame:
        """Return what the transform is given for the rows of one of the intervals."""
        behind = raw_records(self._behind(bound, [start]))
        return self._source.given(good_records(behind, self._source, late=F.lit(bound.late)))

    def with_records(self, variation: Variation) -> set[datetime]:
        """Return the starts of the intervals whose rows records may be made into."""
        read = self._rules.read_ranges(self._bounds, variation.breadth)
        here = [self._between(read, each).select("event_time") for each in (RecordPositions(), self._again)]
        times = reduce(DataFrame.unionByName, here) if self._again.count else here[0]
        hours = times.select(F.unix_micros(F.date_trunc("hour", "event_time")).alias("hour")).distinct().collect()
        happened = [Interval(at, at + HOUR) for at in (instant(row["hour"]) for row in hours)]
        rules = self._rules.widened(variation.breadth)
        touched = {each.start for hour in happened for each in rules.touched_by_any_of(hour)}
        return touched & self._bounds.keys()

    def count_late(self) -> dict[datetime, int]:
        """Count the late records that rows of each interval are made of, taken or not; those without any are left out.

        A record counts for every interval whose rows it may change.
        """
        seconds = int(self._source.time.allowed_lateness.total_seconds())
        # The raw table knows both times, so only what can be late is parsed.
        suspects = raw_records(self._touching().where(f"arrival_time - event_time > interval {seconds} seconds"))
        late = self._source.validated(suspects).where(F.col(OUTCOME) == Outcome.LATE.value)
        touched = late.select(self._touched().alias("start")).select(F.unix_micros("start").alias("start"))
        counted = touched.groupBy("start").agg(F.count("*").alias("records")).collect()
        return {instant(row["start"]): row["records"] for row in counted if instant(row["start"]) in self._bounds}

    @cached_property
    def _again(self) -> RecordPositions:
        return reduce(or_, (bound.replayed for bound in self._bounds.values()), RecordPositions())

    @property
    def _reaches_beyond(self) -> bool:
        return bool(self._rules.lookback or self._rules.lookahead)

    def _behind(self, bound: IntervalBound, starts: Iterable[datetime], breadth: int = 1) -> DataFrame:
        ranges = self._rules.read_ranges(starts, breadth)
        rows = self._between(ranges, bound.replayed, of_one=self._rules.per_interval)
        return rows if bound.reach is None else rows.where(below_reach(bound.reach))

    def _between(self, ranges: list[Interval], again: RecordPositions, *, of_one: bool = False) -> DataFrame:
        """Return the records of some ranges of time, with those that are read again in their place.

        Args:
            ranges: of time.
            again: the records that are read again.
            of_one: the ranges are what one of many calls is given.
        """
        inside = within("event_time", ranges)
        rows = self._few(ranges) if of_one and not self.raw.left_out.count else None
        rows = self.whole.where(inside) if rows is None else rows
        if not again.count:
            return rows
        read_again = raw_rows(raw_records(rows_at(self.whole, again, self._spark)), self._source.topic)
        return rows_elsewhere(rows, again, self._spark).unionByName(read_again.where(inside))

    def _few(self, ranges: list[Interval]) -> DataFrame | None:
        """Return the records of some ranges of time out of the driver's memory; None if they outgrow it.

        Spark would plan a scan of the table for each call, and that costs more than few records do.
        """
        event = ds.field("event_time")
        inside = reduce(or_, ((event >= pa.scalar(r.start)) & (event < pa.scalar(r.end)) for r in ranges))
        found = few_rows(self._dataset, inside)
        return None if found is None else frame_of(self._spark, found)

    @cached_property
    def _dataset(self) -> ds.Dataset:
        return dataset_of(self.raw.folder, self.raw.version)

    def _touching(self) -> DataFrame:
        """Return the records that rows of the intervals are made of."""
        if not self._reaches_beyond:
            return self.rows
        return reduce(DataFrame.unionByName, [self._behind(bound, starts) for bound, starts in by_bound(self._bounds)])

    def _touched(self) -> Column:
        """Return the starts of the intervals whose rows a record may change, a row each."""
        if not self._reaches_beyond:
            return self._interval(self.event_time)
        first = self._interval(self.event_time - F.lit(self._rules.lookahead))
        last = self.event_time + F.lit(self._rules.lookback)
        return F.explode(F.sequence(first, last, F.lit(self._rules.length)))

    def _before(self, rows: DataFrame, reaches: Mapping[datetime, Reach | None]) -> DataFrame:
        """Keep the rows below the reach of their interval; where there is none, the pinned table is the bound.

        Args:
            rows: of the raw table. Read are `topic_id`, `partition`, `offset` and `event_time`; all are
                returned.
            reaches: by interval.
        """
        bounded = {start: reach for start, reach in reaches.items() if reach is not None}
        if not bounded:
            return rows
        first, *others = bounded.values()
        if len(bounded) == len(reaches) and all(other == first for other in others):
            return rows.where(below_reach(first))
        lines = [(start, *line) for start, reach in bounded.items() for line in ends_by_topic(reach)]
        columns = [list(column) for column in zip(*lines, strict=True)]
        ends = F.broadcast(self._spark.createDataFrame(pa.table(columns, schema=_ENDS)))
        own = self._interval(rows["event_time"]) == ends["_interval"]
        topic = ends["_topic"].isNull() | (rows["topic_id"] == ends["_topic"])
        below = ends["_ends"].isNull() | (rows["offset"] < F.try_element_at(ends["_ends"], rows["partition"]))
        return rows.join(ends, own & topic & below).select(*rows.columns)

    def _interval(self, instant: Column) -> Column:
        return F.date_trunc(self._output.interval, instant)


def in_order(rows: DataFrame, variation: Variation, *columns: Column | str) -> DataFrame:
    """Return rows in the order of a variation; a shuffled one follows from the values of some columns."""
    if not variation.shuffled:
        return rows
    order = F.xxhash64(*columns)
    return rows.repartition(order).sortWithinPartitions(order)


def of_topic(bound: IntervalBound, topic: str) -> IntervalBound:
    """Return a bound as it is for one of several topics."""
    return bound if bound.reach is None else replace(bound, reach=bound.reach.of(topic))
