"""The stream of a pipeline with an `intervals` output: what it reads, and the table that it publishes to.

In append mode a window's rows appear in the batch whose watermark passes its end, all of them at once. Where window
and interval are the same, that batch replaces the interval's partition, which makes a replay harmless by itself;
otherwise rows are appended. Either way, rows of windows that were closed before are kept out: by this writer, or in an
epoch before a reset.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.table import ensure_table, refuse_unfit
from sluice.delta.writer_log import DataLossError, WriterLog
from sluice.intervals.alignment import closed_until, interval_of
from sluice.intervals.coverage import Fit, fit
from sluice.intervals.entries import StreamEntry
from sluice.intervals.writers import topic_of, writer_id
from sluice.spark.records.columns import refuse_unwritable
from sluice.spark.records.content import content_of, content_of_collected, with_hash
from sluice.spark.records.kafka_source import KafkaTopic, read_stream
from sluice.spark.records.pipeline import (
    PipelineCode,
    good_records,
    partition_column,
    partitioned,
    transformed,
    window_is_interval,
)
from sluice.spark.sinks.collected import collected
from sluice.spark.sinks.drops import Drops, observed
from sluice.spark.sinks.history import SourceHistory
from sluice.spark.sinks.preparation import Opened, Prepared
from sluice.spark.sinks.sink import MicroBatch, commit, commit_collected, entry_for, planned_batch, run_only
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import EpochInForce


class IntervalsSink:
    """The foreachBatch function of an `intervals` output.

    Args:
        code: the pipeline's.
        folder: of the output table.
        checkpoint: of the stream.
        log: of the table, opened.
        settle: accounts for the drops of the batch that has this id.
        newest_before: returns the newest event time of the good records below some offsets, None if there are none.
    """

    def __init__(
        self,
        code: PipelineCode,
        folder: Path,
        checkpoint: Checkpoint,
        log: WriterLog,
        *,
        settle: Callable[[int], None],
        newest_before: Callable[[Mapping[str, int]], datetime | None],
    ) -> None:
        self._output = code.pipeline.intervals
        self._code_hash = code.code_hash
        self._cores = code.pipeline.resources.cores
        self._folder = folder
        self._checkpoint = checkpoint
        self._log = log
        self._settle = settle
        self._newest_before = newest_before
        self._suspect: dict[str, datetime | None] = {}

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Publish the windows that this batch closes; a batch that closes none only feeds the state."""
        if batch_id:
            self._settle(batch_id - 1)
        batch = planned_batch(self._checkpoint, batch_id)
        watermark = batch.end.watermark
        if watermark is None or not self._closes_a_window(watermark):
            run_only(rows)
            return
        # The state behind these rows knows every record since the checkpoint's origin, however batches were cut.
        match fit(self._log.position, batch.origin, batch.end):
            case Fit.COVERED:
                run_only(rows)
            case Fit.GAP:
                raise DataLossError(
                    f"{self._folder} holds results up to {dict(self._log.position.offsets)}; this checkpoint knows "
                    f"records only from {batch.origin}. Its open intervals would lack what lies between.",
                    fix="let the topic keep the records, or acknowledge the loss by `sluice streams reset`.",
                )
            case Fit.NEXT | Fit.OVERLAP:
                self._publish(rows, batch, watermark)

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns the table."""
        self._log.check_fence()

    def _publish(self, rows: DataFrame, batch: MicroBatch, watermark: datetime) -> None:
        """Commit the windows that the batch closes; from the driver if their rows fit there, else by Spark."""
        suspect_until = self._suspect_until(batch)
        column = partition_column(self._output)
        whole = column if self._may_replace(suspect_until) else None
        publishable = self._publishable(rows)
        entry = dataclasses.replace(
            entry_for(batch, self._log),
            closed_until=closed_until(watermark, self._output.interval_length),
            suspect_until=suspect_until,
            code=self._code_hash,
        )
        found = collected(with_hash(publishable))
        if found is None:
            self._commit_by_spark(publishable, entry, batch, whole)
            return
        table, content = content_of_collected(found, column)
        entry = dataclasses.replace(entry, content=content)
        if whole and self._log.holds_any(column, content):
            commit(rows.sparkSession.createDataFrame(table), self._folder, self._log, entry, batch, replace=whole)
        else:
            commit_collected(table, self._folder, self._log, entry, batch)

    def _commit_by_spark(self, rows: DataFrame, entry: StreamEntry, batch: MicroBatch, whole: str | None) -> None:
        # One file per interval, not one per interval and task; and a stateful batch is executed once more, not twice.
        column = partition_column(self._output)
        publishable = rows.repartition(self._cores, column).persist()
        try:
            entry = dataclasses.replace(entry, content=content_of(publishable, column))
            commit(publishable, self._folder, self._log, entry, batch, replace=whole)
        finally:
            publishable.unpersist()

    def _suspect_until(self, batch: MicroBatch) -> datetime | None:
        """Return the newest event time that the state behind this batch may lack; found once per lineage."""
        latest = self._log.latest
        if latest is not None and latest.lineage == batch.lineage:
            return latest.suspect_until
        if batch.lineage not in self._suspect:
            self._suspect[batch.lineage] = self._newest_before(batch.origin)
        return self._suspect[batch.lineage]

    def _may_replace(self, suspect_until: datetime | None) -> bool:
        """Whether every interval that the batch closes is whole: what may lack records must replace nothing."""
        if not window_is_interval(self._output):
            return False
        closed = self._log.newest.closed_until if self._log.newest else None
        return suspect_until is None or (closed is not None and closed > suspect_until)

    def _closes_a_window(self, watermark: datetime) -> bool:
        """Whether any window can have closed since the last commit."""
        before = self._closed_by
        window = self._output.tumbling_window
        return before is None or interval_of(watermark, window).start > interval_of(before, window).start

    @property
    def _closed_by(self) -> datetime | None:
        """The watermark by which windows are closed; in no epoch they open again."""
        return self._log.newest.watermark if self._log.newest else None

    def _publishable(self, rows: DataFrame) -> DataFrame:
        before = self._closed_by
        if before is not None:
            seconds = int(self._output.tumbling_window.total_seconds())
            end = F.col(self._output.time_column) + F.expr(f"interval {seconds} seconds")
            rows = rows.where(end > F.lit(before))
        return rows


def prepare_pipeline(
    spark: SparkSession,
    code: PipelineCode,
    source: KafkaTopic,
    *,
    raw: Path,
    table: Path,
    epoch: EpochInForce,
    generation: int,
) -> Prepared:
    """Return the stream that publishes the intervals of a pipeline.

    Opening it accounts for the drops of the last attempt's last batch, too.

    Raises:
        SpecError: the transform cannot be loaded, or returns what the output cannot take.
    """
    pipeline = code.pipeline
    records = read_stream(spark, source, start=epoch.start, most=pipeline.max_records_per_batch)
    good = good_records(records, code, counting=True)
    windowed = transformed(observed(good, code.topic.value.event_time, pipeline.intervals.tumbling_window), code)
    refuse_unwritable(windowed, [pipeline.intervals])
    rows = partitioned(windowed, pipeline.intervals)
    schema, partition_by = rows.schema.json(), [partition_column(pipeline.intervals)]

    def opened() -> Opened:
        ensure_table(table, schema, partition_by=partition_by)
        log = WriterLog(table, writer_id(pipeline.name, source.topic_id, epoch.number), generation)
        sink, drops = _sink(SourceHistory(spark, code, source, raw), code, source, log, epoch)
        return Opened(rows, sink, drops)

    return Prepared(rows, (partial(refuse_unfit, table, schema, partition_by=partition_by),), opened)


def _sink(
    history: SourceHistory, code: PipelineCode, source: KafkaTopic, log: WriterLog, epoch: EpochInForce
) -> tuple[IntervalsSink, Drops]:
    """Mark the table for this generation; return the sink for it, and the account of what the stream drops."""
    pipeline, reader = code.pipeline, Checkpoint(epoch.checkpoint)
    watermark = reader.next_watermark()
    log.open(code=code.code_hash, state_until=None if watermark is None else watermark + pipeline.time.delay)
    drops = Drops(pipeline.intervals, reader, log, history.windows)
    drops.settle_newest()
    wrote = [topic_of(log.newest.writer)] if log.newest else []
    created_again = any(topic != source.topic_id for topic in (*epoch.topics, *wrote))
    newest_before = partial(history.newest_before, created_again=created_again)
    sink = IntervalsSink(code, log.table, reader, log, settle=drops.settle, newest_before=newest_before)
    return sink, drops
