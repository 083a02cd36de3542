"""The raw table of one topic as a settler reads it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.conditions import during
from sluice.delta.log import raw_position
from sluice.delta.reading import dataset_of, open_table
from sluice.delta.settled_log import CollectedRows, StagedRows
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules
from sluice.settling.strays import refuse_strays
from sluice.spark.records.offsets import rows_at
from sluice.spark.records.pipeline import PipelineCode, good_records, partition_column, result_rows
from sluice.spark.settling.arrivals import TimeColumns, arrivals_around, between, examined_columns
from sluice.spark.settling.computed import ComputedRows, joined
from sluice.spark.sinks.raw import raw_records
from sluice.spark.tables.ranges import within
from sluice.spark.tables.records import FEW, RawTable, below_reach, refuse_other_times
from sluice.specs.model.outputs import HOUR, IntervalsOutput

_RAW_COLUMNS = ["topic_id", "partition", "offset", "timestamp", "key", "value", "headers"]
_MOST_CALLS = 24
"""Calls of a transform that is given one interval at a time, for one commit: what a crash repeats takes seconds."""


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
        max_examined: how many records one examination reads.
        staging: the folder for rows that outgrow the driver.
        settled: the folder of the interval table; None: no row of it reaches further back than declared.
    """

    spark: SparkSession
    folder: Path
    code: PipelineCode
    rules: SettlingRules
    ends: Callable[[], Reach]
    staging: Path
    max_records: int = 4_000_000
    max_examined: int = 1_000_000
    settled: Path | None = None
    position: Callable[[], RawPosition] | None = None

    def pin(self) -> RawPosition:
        """See the port.

        Raises:
            NotReadyError: it finds records by other times than the topic's spec says.
        """
        pinned = raw_position(self.folder) if self.position is None else self.position()
        refuse_other_times(self.folder, pinned, self.code.topic)
        return pinned

    def listed_ends(self) -> Reach:
        """See the port."""
        return self.ends()

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        """See the port."""
        columns = TimeColumns.read(self.folder, self._first_of(pinned, since), since, self.code.topic)
        taken = partial(self._taken, pinned)
        found = examined_columns(columns, self.code.pipeline.time, self.rules, settled_until, taken)
        return replace(found, overtaken=self._with_long_rows(found.overtaken)) if found.overtaken else found

    def around(self, pinned: RawPosition, hole: Hole) -> tuple[datetime | None, datetime | None]:
        """See the port."""
        return arrivals_around(self.folder, pinned, hole, self.code.pipeline.time)

    def _first_of(self, pinned: RawPosition, since: Reach) -> RawPosition:
        """Return how far one examination goes, which holds what it reads in memory.

        Any cut will do: a partition of which records are left holds the clock at those that were read.
        """
        until = pinned.reach
        if since.topics and since.topics[-1:] != until.topics[-1:]:
            return pinned
        least = pc.min(_statistics(self.folder, pinned.version).column("min.offset")).as_py() or 0
        each = max(1, self.max_examined // max(1, len(until.offsets)))
        ends = {p: min(end, since.offsets.get(p, least) + each) for p, end in until.offsets.items()}
        return replace(pinned, reach=replace(until, offsets=ends))

    def _with_long_rows(self, overtaken: Mapping[datetime, Mapping[str, int]]) -> Mapping[datetime, Mapping[str, int]]:
        """Return overtaken intervals with those whose rows reach further back than declared, down to one of them."""
        since, column = self._output.since_column, partition_column(self._output)
        if since is None or self.settled is None:
            return overtaken
        first, last = min(overtaken), max(overtaken) + self.rules.length + self.rules.lookback
        reaching = (ds.field(since) < pa.scalar(last)) & (ds.field(column) > pa.scalar(first))
        starts = pc.unique(dataset_of(self.settled).to_table(columns=[column], filter=reaching).column(column))
        names = {name for each in overtaken.values() for name in each}
        furthest = {name: max(each.get(name, 0) for each in overtaken.values()) for name in names}
        return {**{start.astimezone(UTC): furthest for start in starts.to_pylist()}, **overtaken}

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
        """See the port. How many records there are is estimated from the log alone, which knows each file's bounds.

        What lies before the intervals is read once, however many are computed: the more of them, the less often.
        """
        length, rules = self.rules.length, self.rules
        files = self._files(pinned, rules.read_range(intervals))
        most = min(self.max_records, FEW) if rules.per_interval else self.max_records

        def fits(count: int) -> bool:
            inside = Interval(intervals.start, intervals.start + count * length + rules.lookahead)
            return sum(file.records_in(inside) for file in files) <= most

        fitting = bisect_left(
            range(1, (intervals.end - intervals.start) // length + 1), x=True, key=lambda n: not fits(n)
        )
        found = Interval(intervals.start, intervals.start + max(1, fitting) * length)
        more = self._with_records(pinned, found)[_MOST_CALLS:] if rules.per_interval else []
        return Interval(found.start, more[0].start) if more else found

    def _with_records(self, pinned: RawPosition, intervals: Interval) -> list[Interval]:
        """Return those of some intervals whose rows records may be made into, in order."""
        read, rules = self.rules.read_range(intervals), self.rules
        inside = during("event_time", read)
        times = dataset_of(self.folder, pinned.version).to_table(columns=["event_time"], filter=inside)
        hours = pc.unique(pc.floor_temporal(times.column("event_time"), unit="hour")).to_pylist()
        happened = (Interval(hour.astimezone(UTC), hour.astimezone(UTC) + HOUR) for hour in hours)
        touched = {each for hour in happened for each in rules.touched_by_any_of(hour)}
        return sorted(each for each in touched if intervals.start <= each.start < intervals.end)

    def compute(self, pinned: RawPosition, below: Reach, intervals: Interval) -> CollectedRows | StagedRows:
        """See the port.

        Raises:
            RefusedError: rows lie in intervals that are not made of the records that were read.
        """
        if not self.rules.per_interval:
            return self._computed(pinned, below, intervals, self.staging)
        first = Interval(intervals.start, intervals.start + self.rules.length)
        calls = self._with_records(pinned, intervals) or [first]  # one that makes no rows says of which columns
        folders = (self.staging / f"{call.start:%Y%m%dT%H}" for call in calls)
        parts = [self._computed(pinned, below, *each) for each in zip(calls, folders, strict=True)]
        return joined(parts, self.staging)

    def _computed(
        self, pinned: RawPosition, below: Reach, intervals: Interval, folder: Path
    ) -> CollectedRows | StagedRows:
        """Return the rows of intervals, by one call of the transform that is given what they are made of.

        Args:
            pinned: see `compute`.
            below: see `compute`.
            intervals: see `compute`.
            folder: for files, if the rows outgrow the driver.
        """
        read, breadth = self.rules.read_range(intervals), 1
        rows = self._rows(pinned, below, read, folder)
        while self._may_lack_records(rows, intervals, read.start + breadth * self.rules.lookback / 2):
            breadth *= 2
            read = self.rules.read_range(intervals, breadth)
            rows = self._rows(pinned, below, read, folder)
        refuse_strays(self._output.table, rows.span(), read, self.rules)
        return rows.only(intervals)

    @property
    def _output(self) -> IntervalsOutput:
        return self.code.pipeline.intervals

    def _rows(self, pinned: RawPosition, below: Reach, read: Interval, folder: Path) -> ComputedRows:
        rows = result_rows(raw_records(self._stored(pinned, below, read)), self.code)
        return ComputedRows.of(rows, partition_column(self._output), folder)

    def _may_lack_records(self, rows: ComputedRows, intervals: Interval, instant: datetime) -> bool:
        """Whether a row begins so close to the first records that were read that earlier ones may belong to it."""
        since = self._output.since_column
        return since is not None and rows.any_before(since, instant, intervals)

    def _stored(self, pinned: RawPosition, below: Reach, read: Interval) -> DataFrame:
        """Return the raw rows of a range of time.

        Few of them are read by Arrow, past Spark's copy of the table's log. Then the plan is the same each time, and
        Spark need not generate and compile code for other literals.
        """
        if sum(file.records for file in self._files(pinned, read)) <= min(FEW, self.max_records):
            wanted = between(Reach({}), below) & during("event_time", read)
            table = dataset_of(self.folder, pinned.version).to_table(columns=_RAW_COLUMNS, filter=wanted)
            # A file without such records leaves an empty batch, and Spark reads none of the batches behind one.
            return self.spark.createDataFrame(table.combine_chunks())
        rows = RawTable(self.folder, pinned.version, pinned.reach).rows(self.spark)
        return rows.where(within("event_time", [read])).where(below_reach(below))

    def _files(self, pinned: RawPosition, between: Interval) -> list[_RawFile]:
        """Return the files that may hold records of a range of time."""
        files = _statistics(self.folder, pinned.version)
        names = ("min.event_time", "max.event_time", "num_records")
        rows = zip(*(files.column(name).to_pylist() for name in names), strict=True)
        known = (_RawFile(first, last, records) for first, last, records in rows if first is not None)
        return [file for file in known if file.overlaps(between)]


@dataclass(frozen=True)
class _RawFile:
    """A file of the raw table: when its first and last record happened, and how many there are."""

    first: datetime
    last: datetime
    records: int

    def overlaps(self, between: Interval) -> bool:
        """Whether records of it may lie in a range of time."""
        return self.first < between.end and self.last >= between.start

    def records_in(self, between: Interval) -> float:
        """Return how many lie in a range of time, if they are spread evenly."""
        if not self.overlaps(between):
            return 0
        since, until = max(self.first, between.start), min(self.last, between.end)
        return self.records * ((until - since) / (self.last - self.first) if self.last > self.first else 1)


@lru_cache(maxsize=2)  # an examination, its bounds and its computation ask for the same
def _statistics(folder: Path, version: int) -> pa.Table:
    """Return what the log of a raw table says of its files."""
    return pa.table(open_table(folder, version).get_add_actions(flatten=True))
