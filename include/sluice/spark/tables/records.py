"""The raw table at one version, and the records in it that stand behind given intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.delta.reading import dataset_of, open_table
from sluice.errors import NotReadyError
from sluice.intervals.alignment import Interval, contiguous
from sluice.intervals.backfill.bounds import IntervalBound, by_bound
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.quality.reasons import Outcome
from sluice.settling.rules import SettlingRules
from sluice.spark.records.instants import instant
from sluice.spark.records.offsets import rows_at, rows_elsewhere
from sluice.spark.records.pipeline import PipelineCode, good_records, partition_column, result_rows
from sluice.spark.records.validation import OUTCOME, validate
from sluice.spark.sinks.raw import raw_records, raw_rows
from sluice.spark.tables.ranges import before, kept, within
from sluice.specs.model.model import TopicSpec
from sluice.specs.model.outputs import HOUR

FEW = 500_000
"""Records that Arrow reads into the driver's memory."""
_ENDS = pa.schema(
    {
        "_interval": pa.timestamp("us", tz="UTC"),
        "_topic": pa.string(),  # null: whichever
        "_ends": pa.map_(pa.int32(), pa.int64()),  # null: everything
    }
)


@dataclass(frozen=True)
class RawTable:
    """A topic's raw table, pinned: what the raw stream adds meanwhile is not seen.

    Attributes:
        folder: of the table.
        version: of the table.
        reach: how far it goes at that version.
        holes: what it lacks of that, as its log says.
    """

    folder: Path
    version: int
    reach: Reach
    holes: tuple[Hole, ...] = ()

    @classmethod
    def pin(cls, folder: Path, position: RawPosition, topic: TopicSpec) -> RawTable:
        """Take the table as it was at a position.

        Raises:
            NotReadyError: there is none, no stream has written it, or it finds records by other times than the topic's
                spec says.
        """
        open_table(folder)
        if position.version < 0:
            raise NotReadyError(f"no stream has filled {folder} yet.", fix="start the stream that writes it.")
        refuse_other_times(folder, position, topic)
        return cls(folder, position.version, position.reach, position.holes)

    @property
    def position(self) -> RawPosition:
        """How far it goes, and what it lacks."""
        return RawPosition(self.version, self.reach, self.holes)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return all of it."""
        return spark.read.format("delta").option("versionAsOf", self.version).load(str(self.folder))


def refuse_other_times(folder: Path, position: RawPosition, topic: TopicSpec) -> None:
    """Refuse a raw table that finds records by other times than the topic's spec says: it would find the wrong ones.

    Raises:
        NotReadyError: it does.
    """
    if position.times not in ("", topic.value.times):
        raise NotReadyError(
            f"{folder.name} holds the times of its records as the spec of {topic.name} read them before "
            f"({position.times}), and it reads them otherwise now ({topic.value.times}).",
            fix=f"run `sluice streams restart {topic.raw.driver}`: it reads them again before it continues.",
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


class Records:
    """The records behind some intervals, each interval with a bound of its own.

    Args:
        spark: the session.
        raw: the pinned raw table.
        code: what makes rows of them.
        bounds: what is taken of each interval, by its start.

    Attributes:
        length: of an interval.
        rows: the records in the intervals, as the raw table holds them.
        whole: all that the raw table holds.
    """

    def __init__(
        self, spark: SparkSession, raw: RawTable, code: PipelineCode, bounds: Mapping[datetime, IntervalBound]
    ) -> None:
        self._spark = spark
        self._raw = raw
        self._code = code
        self._bounds = bounds
        self._rules = SettlingRules.of(code.pipeline)
        self.length = code.pipeline.intervals.interval_length
        self.whole = raw.rows(spark)
        again = reduce(or_, (bound.replayed for bound in bounds.values()), RecordPositions())
        rows = self._between(self._ranges(bounds), again)
        self.rows = self._before(spark, rows, {start: bound.reach for start, bound in bounds.items()})
        late = self._ranges(start for start, bound in bounds.items() if bound.late)
        self._late = F.expr(within(code.topic.value.event_time, late))

    @property
    def schema(self) -> StructType:
        """Of `results`."""
        return result_rows(raw_records(self.rows.limit(0)), self._code).schema

    def results(self, variation: Variation = AS_DECLARED) -> Iterator[DataFrame]:
        """Yield the rows that the code makes of the records: those of the intervals, and maybe further ones.

        Where rows are made of the records of their own interval, they are not cut off here: Spark would push the
        condition below the aggregation, and judge every record.

        Yields:
            Once, but where a call of the transform is given one interval: then once per interval with records, if any.
        """
        if self._rules.per_interval:
            for start in self._with_records(variation):
                yield self._results_of(self._bounds[start], [start], variation)
        elif self._code.pipeline.intervals.reaches_beyond:
            groups = [self._results_of(bound, starts, variation) for bound, starts in by_bound(self._bounds)]
            yield reduce(DataFrame.unionByName, groups)
        else:
            yield result_rows(raw_records(_in_order(self.rows, variation)), self._code, late=self._late)

    def result(self, variation: Variation = AS_DECLARED) -> DataFrame:
        """Return all of `results` as one: of few intervals."""
        nothing = result_rows(raw_records(self.rows.limit(0)), self._code)
        return reduce(DataFrame.unionByName, self.results(variation), nothing)

    def _with_records(self, variation: Variation) -> list[datetime]:
        """Return the starts of the intervals whose rows records may be made into, in order."""
        read = contiguous(self._rules.read_range(target, variation.breadth) for target in self._ranges(self._bounds))
        again = reduce(or_, (bound.replayed for bound in self._bounds.values()), RecordPositions())
        here = [self._between(read, each).select("event_time") for each in (RecordPositions(), again)]
        times = reduce(DataFrame.unionByName, here) if again.count else here[0]
        hours = times.select(F.unix_micros(F.date_trunc("hour", "event_time")).alias("hour")).distinct().collect()
        happened = [Interval(at, at + HOUR) for at in (instant(row["hour"]) for row in hours)]
        rules = self._rules.widened(variation.breadth)
        touched = {each.start for hour in happened for each in rules.touched_by_any_of(hour)}
        return sorted(touched & self._bounds.keys())

    def cut_off(self, variation: Variation) -> str:
        """Return the SQL condition that a row of `results` may lack records from before those that were read."""
        output, parts = self._code.pipeline.intervals, []
        if output.since_column is None:
            return "false"
        if self._rules.per_interval:
            half = variation.breadth * self._rules.lookback // timedelta(microseconds=2)
            return f"unix_micros(`{output.since_column}`) < unix_micros(`{partition_column(output)}`) - {half}"
        for _, starts in by_bound(self._bounds):
            for target in self._ranges(starts):
                own = within(partition_column(output), [target])
                begun = self._rules.read_range(target, variation.breadth).start
                near = before(output.since_column, begun + variation.breadth * self._rules.lookback / 2)
                parts.append(f"(({own}) AND {near})")
        return " OR ".join(parts)

    def _results_of(self, bound: IntervalBound, starts: Sequence[datetime], variation: Variation) -> DataFrame:
        """Return the rows of intervals with one bound, which holds for all that they are made of."""
        rows = _in_order(self._behind(bound, starts, variation.breadth), variation)
        made = result_rows(raw_records(rows), self._code, late=F.lit(bound.late))
        return kept(made, within(partition_column(self._code.pipeline.intervals), self._ranges(starts)))

    def _behind(self, bound: IntervalBound, starts: Iterable[datetime], breadth: int = 1) -> DataFrame:
        """Return the records that rows of intervals with one bound are made of."""
        ranges = contiguous(self._rules.read_range(target, breadth) for target in self._ranges(starts))
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
        rows = self._few(ranges) if of_one else None
        rows = self.whole.where(inside) if rows is None else rows
        if not again.count:
            return rows
        read_again = raw_rows(raw_records(rows_at(self.whole, again, self._spark)), self._code.topic)
        return rows_elsewhere(rows, again, self._spark).unionByName(read_again.where(inside))

    def _few(self, ranges: list[Interval]) -> DataFrame | None:
        """Return the records of some ranges of time out of the driver's memory; None if they are many.

        Spark would plan a scan of the table for each call, and that costs more than few records do.
        """
        event = ds.field("event_time")
        inside = reduce(or_, ((event >= pa.scalar(r.start)) & (event < pa.scalar(r.end)) for r in ranges))
        if self._dataset.count_rows(filter=inside) > FEW:
            return None
        # A file without such records leaves an empty batch, and Spark reads none of the batches behind one.
        return self._spark.createDataFrame(self._dataset.to_table(filter=inside).combine_chunks())

    @cached_property
    def _dataset(self) -> ds.Dataset:
        return dataset_of(self._raw.folder, self._raw.version)

    def count(self) -> int:
        """Count the records, whatever validation makes of them: cheap, from the columns beside their bytes."""
        return self.rows.count()

    def count_good(self) -> int:
        """Count what the transform is given; parses every record once more."""
        return self.good().count()

    def good(self) -> DataFrame:
        """Return what the transform is given."""
        return good_records(raw_records(self.rows), self._code, late=self._late)

    def good_behind(self, interval: Interval) -> DataFrame:
        """Return what the transform is given for the rows of one of the intervals: the declared fields."""
        bound = self._bounds[interval.start]
        good = good_records(raw_records(self._behind(bound, [interval.start])), self._code, late=F.lit(bound.late))
        return good.select(*self._code.topic.value.fields)

    @property
    def event_time(self) -> Column:
        """When a good record happened."""
        return F.col(self._code.topic.value.event_time)

    def start(self, instant: Column) -> Column:
        """Return the start of the interval that an instant lies in, in microseconds."""
        return F.unix_micros(self._interval(instant))

    def count_late(self) -> dict[datetime, int]:
        """Count the late records that rows of each interval are made of, taken or not; those without any are left out.

        A record counts for every interval whose rows it may change.
        """
        value, rules = self._code.topic.value, self._code.pipeline.time
        seconds = int(rules.allowed_lateness.total_seconds())
        # The raw table knows both times, so only what can be late is parsed.
        suspects = raw_records(self._touching().where(f"arrival_time - event_time > interval {seconds} seconds"))
        late = validate(suspects, value, rules, self._code.expected).where(F.col(OUTCOME) == Outcome.LATE.value)
        touched = late.select(self._touched().alias("start")).select(F.unix_micros("start").alias("start"))
        counted = touched.groupBy("start").agg(F.count("*").alias("records")).collect()
        return {instant(row["start"]): row["records"] for row in counted if instant(row["start"]) in self._bounds}

    def _touching(self) -> DataFrame:
        """Return the records that rows of the intervals are made of."""
        if not self._code.pipeline.intervals.reaches_beyond:
            return self.rows
        return reduce(DataFrame.unionByName, [self._behind(bound, starts) for bound, starts in by_bound(self._bounds)])

    def _touched(self) -> Column:
        """Return the starts of the intervals whose rows a record may change, a row each."""
        if not self._code.pipeline.intervals.reaches_beyond:
            return self._interval(self.event_time)
        first = self._interval(self.event_time - F.lit(self._rules.lookahead))
        last = self.event_time + F.lit(self._rules.lookback)
        return F.explode(F.sequence(first, last, F.lit(self.length)))

    def _before(self, spark: SparkSession, rows: DataFrame, reaches: Mapping[datetime, Reach | None]) -> DataFrame:
        """Keep the rows below the reach of their interval; where there is none, the pinned table is the bound.

        Args:
            spark: the session.
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
        lines = [(start, *line) for start, reach in bounded.items() for line in _ends_by_topic(reach)]
        columns = [list(column) for column in zip(*lines, strict=True)]
        ends = F.broadcast(spark.createDataFrame(pa.table(columns, schema=_ENDS)))
        own = self._interval(rows["event_time"]) == ends["_interval"]
        topic = ends["_topic"].isNull() | (rows["topic_id"] == ends["_topic"])
        below = ends["_ends"].isNull() | (rows["offset"] < F.try_element_at(ends["_ends"], rows["partition"]))
        return rows.join(ends, own & topic & below).select(*rows.columns)

    def _interval(self, instant: Column) -> Column:
        return F.date_trunc(self._code.pipeline.intervals.interval, instant)

    def _ranges(self, starts: Iterable[datetime]) -> list[Interval]:
        return contiguous(Interval(start, start + self.length) for start in starts)


def _in_order(rows: DataFrame, variation: Variation) -> DataFrame:
    if not variation.shuffled:
        return rows
    order = F.xxhash64("offset", "partition")
    return rows.repartition(order).sortWithinPartitions(order)


def below_reach(reach: Reach) -> Column:
    """Return the condition that a row of a raw table lies below a reach; read are its topic, partition and offset."""
    column, parts = F.col("topic_id"), []
    for topic, ends in _ends_by_topic(reach):
        below = F.lit(True) if ends is None else _before(ends)
        parts.append(below if topic is None else (column == topic) & below)
    return reduce(or_, parts)


def _before(ends: Iterable[tuple[int, int]]) -> Column:
    parts = [(F.col("partition") == partition) & (F.col("offset") < end) for partition, end in ends]
    return reduce(or_, parts, F.lit(False))


def _ends_by_topic(reach: Reach) -> list[tuple[str | None, list[tuple[int, int]] | None]]:
    """Return the next offset per partition number for each topic; None where every record is below."""
    ends = [(int(partition.rpartition("/")[2]), end) for partition, end in reach.offsets.items()]
    *earlier, newest = reach.topics or (None,)
    return [*((topic, None) for topic in earlier), (newest, ends)]
