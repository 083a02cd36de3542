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

from sluice.delta.ledger import DataLossError, FencedError, Ledger
from sluice.delta.table import ensure_table
from sluice.errors import CorruptionError, RefusedError
from sluice.spark.pipeline import INTERVAL, IntervalsSink, PipelineCode, partition_column
from sluice.specs.catalog import Catalog
from sluice.specs.model import IntervalsOutput, PipelineSpec
from sluice.streams.checkpoint import Checkpoint

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

    def plan(self, end: int, watermark: datetime | None) -> int:
        """Plan the next batch up to `end`, evicting by `watermark`; return its id."""
        milliseconds = int(watermark.timestamp() * 1000) if watermark else 0
        batch = len(self.batches)
        lines = ["v1", json.dumps({"batchWatermarkMs": milliseconds}), json.dumps({"t": {"0": end}})]
        (self.folder / "offsets" / str(batch)).write_text("\n".join(lines))
        self.batches.append(end)
        return batch


@dataclass
class Bench:
    """A table, its pipeline, and the rows that a batch brings."""

    spark: SparkSession
    pipeline: PipelineSpec
    table: Path

    def rows(self, *hours: int, value: int = 1) -> DataFrame:
        """Return one row per hour of the first day."""
        data = [((DAY + timedelta(hours=hour)).isoformat(), value) for hour in hours]
        frame = self.spark.createDataFrame(data, "hour string, n int").select(F.to_timestamp("hour").alias("hour"), "n")
        return frame if self.output.window == self.output.interval_length else self._with_day(frame)

    def _with_day(self, frame: DataFrame) -> DataFrame:
        return frame.withColumn(INTERVAL, F.date_trunc("day", "hour"))

    @property
    def output(self) -> IntervalsOutput:
        return self.pipeline.output

    def sink(self, lineage: Lineage, catalog: Catalog, generation: int = 1) -> IntervalsSink:
        """Return a sink as a driver that has just started has it."""
        ensure_table(self.table, self.rows(0).schema.json(), partition_by=[partition_column(self.output)])
        code = PipelineCode(self.pipeline, catalog.topics["flights"], {}, "code")
        return IntervalsSink(code, self.table, Checkpoint(lineage.folder), self.ledger(generation))

    def ledger(self, generation: int = 1) -> Ledger:
        ledger = Ledger(self.table, WRITER, generation)
        ledger.open()
        return ledger

    def found(self) -> dict[int, list[int]]:
        """Return the values in the table by hour."""
        frame = DeltaTable(str(self.table)).to_pandas().sort_values(["hour", "n"])
        return {int(hour.hour): list(map(int, group["n"])) for hour, group in frame.groupby("hour")}


def at(hour: int) -> datetime:
    return DAY + timedelta(hours=hour)


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
    latest = bench.ledger().latest
    assert latest is not None
    assert (latest.closed_until, latest.complete, latest.end) == (at(5), True, {"t/0": 10})


def test_a_lost_checkpoint_that_reads_everything_again_closes_nothing_twice(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, second = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b")
    bench.sink(first, catalog)(bench.rows(1, 2), first.plan(10, at(3)))
    sink = bench.sink(second, catalog)
    sink(bench.rows(1), second.plan(4, at(2)))  # cut otherwise than before
    sink(bench.rows(2, 3), second.plan(12, at(4)))
    assert bench.found() == {1: [1], 2: [1], 3: [1]}


def test_a_lineage_that_began_later_appends_and_replaces_nothing(
    new_bench: Callable[..., Bench], catalog: Catalog, tmp_path: Path
) -> None:
    bench, first, later = new_bench(), Lineage(tmp_path / "a", "a"), Lineage(tmp_path / "b", "b", origin=5)
    bench.sink(first, catalog)(bench.rows(1), first.plan(10, at(2)))
    bench.sink(later, catalog)(bench.rows(2), later.plan(20, at(3)))
    latest = bench.ledger().latest
    assert latest is not None
    assert latest.complete is False
    assert bench.found() == {1: [1], 2: [1]}


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
    bench.ledger(generation=2)
    with pytest.raises(FencedError, match="generation 2"):
        old(bench.rows(1), lineage.plan(10, at(2)))
    with pytest.raises(FencedError):
        bench.ledger(generation=1)
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
    with pytest.raises(RefusedError, match="extra"):
        ensure_table(bench.table, bench.rows(0).withColumn("extra", F.lit(1)).schema.json(), partition_by=["hour"])
    with pytest.raises(RefusedError, match="partitioned by"):
        ensure_table(bench.table, bench.rows(0).schema.json())
