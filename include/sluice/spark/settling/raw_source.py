"""The raw table of one topic as a settler reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.conditions import during, hours_of, partition_number
from sluice.delta.log import raw_position
from sluice.delta.reading import dataset_of, open_table
from sluice.intervals.alignment import Interval
from sluice.intervals.reach import Hole, RawPosition, Reach
from sluice.intervals.record_positions import RecordPositions
from sluice.settling.examination import Examination
from sluice.settling.rules import SettlingRules
from sluice.spark.records.offsets import rows_at
from sluice.spark.records.pipeline import SourceCode, good_records, partition_column
from sluice.spark.settling.arrivals import TimeColumns, arrivals_around, between, examined_columns
from sluice.spark.sinks.raw import empty_raw_rows, raw_records
from sluice.spark.tables.ranges import within
from sluice.spark.tables.raw_table import FEW, RawTable, below_reach, few_rows, frame_of, refuse_other_times
from sluice.specs.model.outputs import IntervalsOutput
from sluice.storage.folder import Folder

_RAW_COLUMNS = ["topic_id", "partition", "offset", "timestamp", "key", "value", "headers"]


@dataclass(frozen=True)
class RawTableSource:
    """Implements `sluice.settling.ports.RawSource`.

    Attributes:
        spark: the session.
        folder: of the raw table.
        source: what is done with the topic's records.
        rules: the topic's, for settling.
        ends: lists the ends of the topic now, and its id.
        output: the interval table.
        max_examined: how many records one examination reads.
        settled: the folder of the interval table; None: no row of it reaches further back than declared.
        position: returns how far the raw table goes; None: its log says it.
    """

    spark: SparkSession
    folder: Folder
    source: SourceCode
    rules: SettlingRules
    ends: Callable[[], Reach]
    output: IntervalsOutput
    max_examined: int = 1_000_000
    settled: Folder | None = None
    position: Callable[[], RawPosition] | None = None

    def pin(self) -> RawPosition:
        """See the port.

        Raises:
            NotReadyError: it finds records by other times than the topic's spec says.
        """
        pinned = raw_position(self.folder) if self.position is None else self.position()
        refuse_other_times(self.folder, pinned, self.source.topic)
        return pinned

    def listed_ends(self) -> Reach:
        """See the port."""
        return self.ends()

    def examine(self, pinned: RawPosition, since: Reach, settled_until: datetime | None) -> Examination:
        """See the port."""
        columns = TimeColumns.read(self.folder, self._first_of(pinned, since), since, self.source.topic)
        taken = partial(self._taken, pinned)
        found = examined_columns(columns, self.source.time, self.rules, settled_until, taken)
        return replace(found, overtaken=self._with_long_rows(found.overtaken)) if found.overtaken else found

    def around(self, pinned: RawPosition, hole: Hole) -> tuple[datetime | None, datetime | None]:
        """See the port."""
        return arrivals_around(self.folder, pinned, hole, self.source.time)

    def _first_of(self, pinned: RawPosition, since: Reach) -> RawPosition:
        """Return how far one examination goes, which holds what it reads in memory.

        Any cut will do: a partition of which records are left holds the clock at those that were read. It begins where
        it was read up to, or with its first record: Kafka or retention may have taken what lay before it.
        """
        until = pinned.reach
        if since.topics and since.topics[-1:] != until.topics[-1:]:
            return pinned
        unknown = until.offsets.keys() - since.offsets.keys()
        begins = {**since.offsets, **(self._first_offsets(pinned, unknown) if unknown else {})}
        each = max(1, self.max_examined // max(1, len(until.offsets)))
        ends = {p: min(end, begins.get(p, end) + each) for p, end in until.offsets.items()}
        return replace(pinned, reach=replace(until, offsets=ends))

    def _first_offsets(self, pinned: RawPosition, partitions: Collection[str]) -> dict[str, int]:
        """Return the first offset that the table holds of some partitions of its newest topic; none of an empty one."""
        names = {partition_number(name): name for name in partitions}
        own = ds.field("partition").isin([*names])
        for topic in pinned.reach.topics[-1:]:
            own &= ds.field("topic_id") == topic
        found: dict[str, int] = {}
        # Batch by batch: of a large table not even two columns are held in memory.
        for batch in dataset_of(self.folder, pinned.version).to_batches(columns=["partition", "offset"], filter=own):
            firsts = pa.Table.from_batches([batch]).group_by("partition").aggregate([("offset", "min")])
            for row in firsts.to_pylist():
                name, first = names[row["partition"]], row["offset_min"]
                found[name] = min(first, found.get(name, first))
        return found

    def _with_long_rows(self, overtaken: Mapping[datetime, Mapping[str, int]]) -> Mapping[datetime, Mapping[str, int]]:
        """Return overtaken intervals with those whose rows reach further back than declared, down to one of them."""
        since, column = self.output.since_column, partition_column(self.output)
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
        good = good_records(raw_records(rows_at(rows, positions, self.spark)), self.source)
        own = good.select(F.col("_topic_id").alias("topic_id"), F.col("_partition").alias("partition"), "_offset")
        found = own.withColumnRenamed("_offset", "offset").toArrow()
        return suspects.join(found, ["topic_id", "partition", "offset"], join_type="left semi")

    def records(self, pinned: RawPosition, below: Reach, read: Interval, *, few: int = FEW) -> DataFrame:
        """Return what `result_rows` takes of a range of time.

        Few of them, if they are small, are read by Arrow, past Spark's copy of the table's log. Then the plan is the
        same each time, and Spark need not generate and compile code for other literals.

        Args:
            pinned: the table.
            below: what is taken of it.
            read: when they happened.
            few: how many Arrow reads at most.
        """
        if pinned.version < 0:
            return raw_records(empty_raw_rows(self.spark))
        if sum(file.records for file in self.files(pinned, read)) <= few:
            wanted = between(Reach({}), below) & during("event_time", read)
            found = few_rows(dataset_of(self.folder, pinned.version), wanted, columns=_RAW_COLUMNS)
            if found is not None:
                return raw_records(frame_of(self.spark, found))
        rows = RawTable(self.folder, pinned.version, pinned.reach).rows(self.spark)
        return raw_records(rows.where(within("event_time", [read])).where(below_reach(below)))

    def hours(self, pinned: RawPosition, read: Interval) -> list[Interval]:
        """Return the hours of a range of time in which records happened, in no order."""
        if pinned.version < 0:
            return []
        return hours_of(dataset_of(self.folder, pinned.version), "event_time", during("event_time", read))

    def files(self, pinned: RawPosition, between: Interval) -> list[RawFile]:
        """Return the files that may hold records of a range of time."""
        if pinned.version < 0:
            return []
        files = _statistics(self.folder, pinned.version)
        names = ("min.event_time", "max.event_time", "num_records")
        rows = zip(*(files.column(name).to_pylist() for name in names), strict=True)
        known = (RawFile(first, last, records) for first, last, records in rows if first is not None)
        return [file for file in known if file.overlaps(between)]


@dataclass(frozen=True)
class RawFile:
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
def _statistics(folder: Folder, version: int) -> pa.Table:
    """Return what the log of a raw table says of its files."""
    return pa.table(open_table(folder, version).get_add_actions(flatten=True))
