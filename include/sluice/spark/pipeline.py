"""A pipeline's stream: validation, watermark, transform, and the interval table that it appends to.

In append mode a window's rows appear in the batch whose watermark passes its end, all of them at once. Where window
and interval are the same, that batch replaces the interval's partition, which makes a replay harmless by itself;
otherwise rows are appended. Either way, rows of windows that this writer has closed before are kept out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.ledger import DataLossError, Ledger
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import closed_until, interval_of
from sluice.intervals.coverage import Fit, fit
from sluice.quality.reasons import Outcome
from sluice.spark.kafka_source import KafkaTopic, read_stream
from sluice.spark.sink import Batch, commit, entry_for, planned_batch, run_only
from sluice.spark.transforms import load_transform
from sluice.spark.validation import OUTCOME, is_heartbeat, validate
from sluice.specs.model import IntervalsOutput, PipelineSpec, TopicSpec
from sluice.streams.checkpoint import Checkpoint

INTERVAL = "interval_start"
"""The partition column of tables whose interval is longer than their window."""


@dataclass(frozen=True)
class PipelineCode:
    """What turns records into rows: the spec, its topic, the static inputs and the hash of it all."""

    pipeline: PipelineSpec
    topic: TopicSpec
    static: Mapping[str, DataFrame]
    code_hash: str


def result_rows(records: DataFrame, code: PipelineCode) -> DataFrame:
    """Return the pipeline's result: validation, then the transform over what is good.

    The same for a stream and a batch; on a batch the watermark does nothing.
    """
    pipeline, value = code.pipeline, code.topic.value
    accepted = validate(records, value, pipeline.time).where(
        F.col(OUTCOME).isin(Outcome.GOOD.value, Outcome.CONTROL.value)
    )
    marked = accepted.withWatermark(value.event_time, f"{int(pipeline.time.delay.total_seconds())} seconds")
    # A heartbeat moves the watermark and must go no further. Naming the event time keeps Spark from pushing this
    # filter below the watermark, where the heartbeat would be lost.
    good = marked.where(~is_heartbeat(value) | F.col(value.event_time).isNull())
    rows = load_transform(pipeline.transform)(good.select(*value.fields), **code.static)
    return (
        rows if _window_is_interval(pipeline.output) else rows.withColumn(INTERVAL, _interval_column(pipeline.output))
    )


def partition_column(output: IntervalsOutput) -> str:
    """Return the column that the output table is partitioned by."""
    return output.time_column if _window_is_interval(output) else INTERVAL


class IntervalsSink:
    """The foreachBatch function of an `intervals` output."""

    def __init__(self, code: PipelineCode, folder: Path, checkpoint: Checkpoint, ledger: Ledger) -> None:
        self._output = code.pipeline.output
        self._code_hash = code.code_hash
        self._cores = code.pipeline.resources.cores
        self._folder = folder
        self._checkpoint = checkpoint
        self._ledger = ledger

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Publish the windows that this batch closes; a batch that closes none only feeds the state."""
        batch = planned_batch(self._checkpoint, batch_id)
        watermark = batch.end.watermark
        if watermark is None or not self._closes_a_window(watermark):
            run_only(rows)
            return
        # The state behind these rows knows every record since the checkpoint's origin, however batches were cut.
        match fit(self._ledger.position, batch.origin, batch.end):
            case Fit.COVERED:
                run_only(rows)
            case Fit.GAP:
                raise DataLossError(
                    f"{self._folder} holds results up to {dict(self._ledger.position.offsets)}; this checkpoint knows "
                    f"records only from {batch.origin}. Its open intervals would lack what lies between.",
                    fix="let the topic keep the records, or acknowledge the loss by `sluice streams reset`.",
                )
            case Fit.NEXT | Fit.OVERLAP:
                self._publish(rows, batch, watermark)

    def _publish(self, rows: DataFrame, batch: Batch, watermark: datetime) -> None:
        complete = self._knows_all(batch)
        entry = entry_for(
            batch,
            self._ledger,
            code=self._code_hash,
            closed_until=closed_until(watermark, self._output.interval_length, self._output.settle),
            complete=complete,
        )
        replace = complete and _window_is_interval(self._output)
        commit(self._publishable(rows), self._folder, self._ledger, entry, batch, replace=replace)

    def _knows_all(self, batch: Batch) -> bool:
        """Whether the state behind this batch saw everything that the writer's earlier commits saw.

        A lineage that began later must not replace an interval: it may hold less than what is there.
        """
        latest = self._ledger.latest
        return latest is None or (
            latest.complete and all(first <= latest.origin.get(p, 0) for p, first in batch.origin.items())
        )

    def _closes_a_window(self, watermark: datetime) -> bool:
        """Whether any window can have closed since the writer's last commit."""
        before = self._ledger.position.watermark
        window = self._output.window
        return before is None or interval_of(watermark, window).start > interval_of(before, window).start

    def _publishable(self, rows: DataFrame) -> DataFrame:
        before = self._ledger.position.watermark
        if before is not None:
            seconds = int(self._output.window.total_seconds())
            end = F.col(self._output.time_column) + F.expr(f"interval {seconds} seconds")
            rows = rows.where(end > F.lit(before))
        # One file per interval, not one per interval and task.
        return rows.repartition(self._cores, partition_column(self._output))


def start_pipeline(
    spark: SparkSession,
    code: PipelineCode,
    source: KafkaTopic,
    *,
    table: Path,
    checkpoint: Path,
    generation: int,
) -> tuple[DataFrame, IntervalsSink]:
    """Prepare table and ledger; return the rows to stream and the sink for them."""
    rows = result_rows(read_stream(spark, source), code)
    ensure_table(table, rows.schema.json(), partition_by=[partition_column(code.pipeline.output)])
    ledger = Ledger(table, f"{code.pipeline.name}:{source.topic_id}:0", generation)
    ledger.open()
    return rows, IntervalsSink(code, table, Checkpoint(checkpoint), ledger)


def _window_is_interval(output: IntervalsOutput) -> bool:
    return output.window == output.interval_length


def _interval_column(output: IntervalsOutput) -> Column:
    return F.date_trunc(output.interval, F.col(output.time_column))
