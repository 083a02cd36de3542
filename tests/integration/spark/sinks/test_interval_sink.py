"""The sink of an interval table, batch by batch: real Delta commits, checkpoints written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.log import read_log
from sluice.delta.reading import read_rows
from sluice.delta.table import ensure_table
from sluice.delta.writer_log import DataLossError, FencedError, WriterLog
from sluice.errors import CorruptionError, RefusedError
from sluice.intervals.ledger import Ledger, fold
from sluice.intervals.writers import writer_id
from sluice.spark.records.content import content_of
from sluice.spark.records.pipeline import INTERVAL, PipelineCode, partition_column
from sluice.spark.sinks.interval_stream import IntervalsSink
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import IntervalsOutput
from sluice.streams.position.checkpoint import Checkpoint

DAY = datetime(2013, 1, 1, tzinfo=UTC)
WRITER = "departures:topic:0"


@dataclass
class Lineage:
    """A checkpoint as Spark would have written it, one planned batch at a time."""

    folder: Path
    name: str
    origin: int = 0
    batches: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in ("offsets", "sources/0"):
            (self.folder / part).mkdir(parents=True)
        (self.folder / "metadata").write_text(json.dumps({"id": self.name}))
        (self.folder / "sources/0/0").write_text(json.dumps({"t": {"0": self.origin}}))

    def plan(self, end: int, watermark: datetime | None, **others: int) -> int:
        """Plan the next batch up to `end` (of partition 0; `p1` of 1), evicting by `watermark`; return its id."""
        milliseconds = int(watermark.timestamp() * 1000) if watermark else 0
        batch, ends = len(self.batches), {"0": end, **{name[1:]: other for name, other in others.items()}}
        lines = ["v1", json.dumps({"batchWatermarkMs": milliseconds}), json.dumps({"t": ends})]
        (self.folder / "offsets" / str(batch)).write_text("\n".join(lines))
        self.batches.append(end)
        return batch


@dataclass
class Bench:
    """A table, its pipeline, and the rows that a batch brings."""

    spark: SparkSession
    pipeline: PipelineSpec
    table: Path
    newest_before: datetime | None = None
    """The newest event time of the records below a lineage's origin."""
    settled: list[int] = field(default_factory=list)

    def rows(self, *hours: int, value: int = 1) -> DataFrame:
        """Return one row per hour of the first day."""
        data = [((DAY + timedelta(hours=hour)).isoformat(), value) for hour in hours]
        frame = self.spark.createDataFrame(data, "hour string, n int").select(F.to_timestamp("hour").alias("hour"), "n")
        return frame if self.output.window == self.output.interval_length else self._with_day(frame)

    def _with_day(self, frame: DataFrame) -> DataFrame:
        return frame.withColumn(INTERVAL, F.date_trunc("day", "hour"))

    @property
    def output(self) -> IntervalsOutput:
        return self.pipeline.intervals

    def sink(self, lineage: Lineage, catalog: Catalog, generation: int = 1, epoch: int = 0) -> IntervalsSink:
        """Return a sink as a driver that has just started has it."""
        ensure_table(self.table, self.rows(0).schema.json(), partition_by=[partition_column(self.output)])
        code = PipelineCode(self.pipeline, catalog.topics["flights"], {}, "code")
        return IntervalsSink(
            code,
            self.table,
            Checkpoint(lineage.folder),
            self.log(generation, epoch),
            settle=self.settled.append,
            newest_before=lambda origin: self.newest_before if any(origin.values()) else None,
        )

    def log(self, generation: int = 1, epoch: int = 0) -> WriterLog:
        log = WriterLog(self.table, writer_id("departures", "topic", epoch), generation)
        log.open()
        return log

    def ledger(self) -> Ledger:
        return fold(read_log(self.table), self.output.interval_length)

    def found(self) -> dict[int, list[int]]:
        """Return the values in the table by hour."""
        frame = read_rows(self.table).to_pandas().sort_values(["hour", "n"])
        return {int(hour.hour): list(map(int, group["n"])) for hour, group in frame.groupby("hour")}


def at(hour: int) -> datetime:
    return DAY + timedelta(hours=hour)


def put(bench: Bench, *hours: int) -> None:
    """Append a row of somebody else's to each hour."""
    bench.rows(*hours, value=7).write.format("delta").mode("append").save(str(bench.table))


@pytest.fixture
def new_bench(spark: SparkSession, catalog: Catalog, tmp_path: Path) -> Callable[..., Bench]:
    def build(interval: str = "hour") -> Bench:
        output = IntervalsOutput(table="out", time_column="hour", window=timedelta(hours=1), interval=interval)  # type: ignore[arg-type]
        pipeline = catalog.pipelines["departures"].model_copy(update={"output": output})
        return Bench(spark, pipeline, tmp_path / "out")

    return build


def test_a_replayed_batch_changes_nothing_also_after_a_restart(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench(), Lineage(tmp_path / "a", "a")
    batch = lineage.plan(10, at(3))
    bench.sink(lineage, catalog)(bench.rows(1, 2), batch)
    version = DeltaTable(str(bench.table)).version()
    bench.sink(lineage, catalog)(bench.rows(1, 2, value=9), batch)
    assert bench.found() == {1: [1], 2: [1]}
    assert DeltaTable(str(bench.table)).version() == version


def test_a_batch_that_closes_no_window_commits_nothing(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench(), Lineage(tmp_path / "a", "a")
    sink = bench.sink(lineage, catalog)
    sink(bench.rows(1), lineage.plan(10, at(2)))
    version = DeltaTable(str(bench.table)).version()
    sink(bench.rows(), lineage.plan(20, at(2) + timedelta(minutes=59)))
    assert DeltaTable(str(bench.table)).version() == version
    sink(bench.rows(2), lineage.plan(20, at(3)))
    assert bench.found() == {1: [1], 2: [1]}


def test_an_interval_without_rows_closes_in_the_ledger(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench(), Lineage(tmp_path / "a", "a")
    bench.sink(lineage, catalog)(bench.rows(), lineage.plan(10, at(5)))
    latest = bench.log().latest
    assert latest is not None
    assert (latest.closed_until, latest.suspect_until, latest.end) == (at(5), None, {"t/0": 10})


def test_a_lost_checkpoint_that_reads_everything_again_closes_nothing_twice(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, second = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b")
    bench.sink(first, catalog)(bench.rows(1, 2), first.plan(10, at(3)))
    sink = bench.sink(second, catalog)
    sink(bench.rows(1), second.plan(4, at(2)))  # cut otherwise than before
    sink(bench.rows(2, 3), second.plan(12, at(4)))
    assert bench.found() == {1: [1], 2: [1], 3: [1]}


def test_a_lineage_that_began_later_replaces_nothing_that_it_may_know_in_part(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, later = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b", origin=5)
    bench.newest_before = at(3) + timedelta(minutes=10)
    bench.sink(first, catalog)(bench.rows(1), first.plan(10, at(2)))
    sink = bench.sink(later, catalog)
    put(bench, 2, 3, 4)  # as a backfill beside the stream would
    sink(bench.rows(2), later.plan(20, at(3)))
    sink(bench.rows(3), later.plan(30, at(4)))
    sink(bench.rows(4), later.plan(40, at(5)))
    assert bench.found() == {1: [1], 2: [1, 7], 3: [1, 7], 4: [1]}
    rows = bench.ledger().rows
    assert {start.hour for start, row in rows.items() if row.dirty} == {2, 3}
    assert "lineage b began" in rows[at(2)].dirty[0]


def test_what_a_lineage_may_lack_is_found_once_and_outlives_its_drivers(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, later = new_bench(), Lineage(tmp_path / "b", "b", origin=5)
    bench.newest_before = at(9)
    bench.sink(later, catalog)(bench.rows(2), later.plan(20, at(3)))
    bench.newest_before = None
    bench.sink(later, catalog)(bench.rows(3), later.plan(30, at(4)))
    latest = bench.log().latest
    assert latest is not None
    assert latest.suspect_until == at(9)


def test_a_reset_to_the_beginning_closes_nothing_twice_and_lacks_nothing_of_what_is_open(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, again = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b")
    bench.sink(first, catalog)(bench.rows(1, 2), first.plan(10, at(3)))
    closed = {hour: bench.ledger().rows[at(hour)] for hour in (1, 2)}
    for _crash in range(2):
        sink = bench.sink(again, catalog, generation=2, epoch=1)
    sink(bench.rows(1, value=9), again.plan(4, at(2)))
    sink(bench.rows(2, 3, value=9), again.plan(8, at(4)))
    bench.sink(again, catalog, generation=3, epoch=1)(bench.rows(4, value=9), again.plan(12, at(5)))
    assert bench.found() == {1: [1], 2: [1], 3: [9], 4: [9]}
    rows = bench.ledger().rows
    assert {hour: rows[at(hour)] for hour in (1, 2)} == closed
    written = rows[at(3)].base
    assert written is not None
    assert (written.owner, written.offsets, rows[at(3)].dirty) == ("departures:topic:1", {"t/0": 8}, ())
    assert bench.ledger().closed_until == at(5)


def test_what_a_backfill_published_stays_when_its_stream_is_reset(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, again = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b")
    bench.sink(first, catalog)(bench.rows(1, 2), first.plan(10, at(3)))
    put(bench, 1, 2)  # as a backfill would
    bench.sink(again, catalog, generation=2, epoch=1)(bench.rows(1, 2, 3, value=9), again.plan(10, at(4)))
    assert bench.found() == {1: [1, 7], 2: [1, 7], 3: [9]}


def test_a_reset_forwards_is_no_gap_and_leaves_open_intervals_dirty(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, later = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b", origin=15)
    bench.newest_before = at(3) + timedelta(minutes=10)
    bench.sink(first, catalog)(bench.rows(1), first.plan(10, at(2)))
    closed = bench.ledger().rows[at(1)]
    sink = bench.sink(later, catalog, generation=2, epoch=1)
    sink(bench.rows(3), later.plan(20, at(4)))
    sink(bench.rows(4), later.plan(30, at(5)))
    assert bench.found() == {1: [1], 3: [1], 4: [1]}
    rows = bench.ledger().rows
    assert rows[at(1)] == closed
    assert {start.hour for start, row in rows.items() if row.dirty} == {2, 3}
    # What is repaired has read beyond the new position.
    assert all(row.base is not None and row.base.offsets == {"t/0": 20} for row in (rows[at(2)], rows[at(3)]))


def test_a_day_that_was_open_at_a_reset_holds_the_windows_of_both_epochs(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, again = new_bench("day"), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b")
    bench.sink(first, catalog)(bench.rows(1, 2), first.plan(10, at(3)))
    sink = bench.sink(again, catalog, generation=2, epoch=1)
    sink(bench.rows(1, 2, 3, value=9), again.plan(10, at(4)))
    sink(bench.rows(), again.plan(20, at(24)))
    assert bench.found() == {1: [1], 2: [1], 3: [9]}
    written = bench.ledger().rows[DAY].base
    assert written is not None
    stored = bench.spark.read.format("delta").load(str(bench.table))
    assert written.content == content_of(stored, INTERVAL)[DAY]


def test_an_attempt_of_an_older_epoch_is_fenced(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first = new_bench(), Lineage(tmp_path / "a", "a")
    old = bench.sink(first, catalog, generation=1)
    bench.log(generation=2, epoch=1)
    with pytest.raises(FencedError, match="generation 2"):
        old(bench.rows(1), first.plan(10, at(2)))


def test_a_commit_names_the_content_that_it_adds_to_each_interval(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench("day"), Lineage(tmp_path / "a", "a")
    sink = bench.sink(lineage, catalog)
    sink(bench.rows(1, 2), lineage.plan(10, at(3)))
    sink(bench.rows(3), lineage.plan(20, at(24)))
    written = bench.ledger().rows[DAY].base
    assert written is not None
    stored = bench.spark.read.format("delta").load(str(bench.table))
    assert written.content == content_of(stored, INTERVAL)[DAY]
    assert (written.content.rows, written.offsets) == (3, {"t/0": 20})


def test_the_drops_of_the_batch_before_are_settled_first(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench(), Lineage(tmp_path / "a", "a")
    sink = bench.sink(lineage, catalog)
    for end in (10, 20, 30):
        sink(bench.rows(), lineage.plan(end, None))
    assert bench.settled == [0, 1]


def test_records_between_table_and_checkpoint_that_nobody_read_stop_the_stream(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, later = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b", origin=11)
    bench.sink(first, catalog)(bench.rows(1), first.plan(10, at(2)))
    with pytest.raises(DataLossError, match="t/0"):
        bench.sink(later, catalog)(bench.rows(2), later.plan(20, at(3)))
    assert bench.found() == {1: [1]}


def test_windows_shorter_than_the_interval_are_appended_into_one_partition_a_day(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench("day"), Lineage(tmp_path / "a", "a")
    sink = bench.sink(lineage, catalog)
    sink(bench.rows(1, 2), lineage.plan(10, at(3)))
    sink(bench.rows(3), lineage.plan(20, at(4)))
    assert bench.found() == {1: [1], 2: [1], 3: [1]}
    assert DeltaTable(str(bench.table)).metadata().partition_columns == [INTERVAL]


def test_an_older_generation_is_fenced_before_it_writes(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench(), Lineage(tmp_path / "a", "a")
    old = bench.sink(lineage, catalog, generation=1)
    bench.log(generation=2)
    with pytest.raises(FencedError, match="generation 2"):
        old(bench.rows(1), lineage.plan(10, at(2)))
    with pytest.raises(FencedError):
        bench.log(generation=1)
    assert bench.found() == {}


def test_a_write_that_delta_skips_without_a_word_is_corruption(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, lineage = new_bench(), Lineage(tmp_path / "a", "a")
    sink = bench.sink(lineage, catalog)
    foreign = bench.rows(7).write.format("delta").mode("append")
    foreign.option("txnAppId", WRITER).option("txnVersion", 10_000).save(str(bench.table))
    with pytest.raises(CorruptionError, match="10000"):
        sink(bench.rows(1), lineage.plan(10, at(2)))


def test_a_table_with_other_columns_is_refused(new_bench: Callable[..., Bench]) -> None:
    bench = new_bench()
    ensure_table(bench.table, bench.rows(0).schema.json(), partition_by=["hour"])
    other = bench.rows(0).withColumn("hour", F.col("hour").cast("string"))
    with pytest.raises(RefusedError, match="hour is timestamp there and string here"):
        ensure_table(bench.table, other.schema.json(), partition_by=["hour"])
    with pytest.raises(RefusedError, match="partitioned by"):
        ensure_table(bench.table, bench.rows(0).schema.json())
