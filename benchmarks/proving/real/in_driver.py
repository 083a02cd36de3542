"""Sabotages of a driver. The file is copied into a project, whose main calls some of them before it starts.

Each replaces one step of the shipped code by one that breaks a promise. Batches, which tell what is due, are not
touched: their main calls nothing of this.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.spark.records import pipeline
from sluice.spark.records.validation import validate
from sluice.spark.sinks.latest_output import LatestRows
from sluice.spark.sinks.raw import RawSink
from sluice.spark.sinks.rows_output import RowsTable
from sluice.spark.sinks.sink import MicroBatch
from sluice.spark.sinks.topic_output import TopicMessages, TopicRecords
from sluice.topics.deduplication import ID

_LETTERS = "_dead"
_HEAD, _TAIL, _ONE = 3, 30, 11
_ALWAYS = timedelta(days=10_000)
_SLOW_SECONDS, _BETWEEN_SECONDS = 20, 5
_OLD_AFTER = 1


def _raw_rows(change: Callable[[DataFrame], DataFrame]) -> None:
    honest = RawSink.__call__

    def call(self: RawSink, rows: DataFrame, batch_id: int) -> None:
        honest(self, change(rows), batch_id)

    RawSink.__call__ = call  # type: ignore[method-assign]


def drop_one_record() -> None:
    """Lose one record of the raw table, somewhere in the middle."""
    _raw_rows(lambda rows: rows.where(~((F.col("partition") == 1) & (F.col("offset") == _ONE))))


def lose_the_head() -> None:
    """Lose the first records of the raw table's partitions, but for the very first, which the proof waits for."""
    _raw_rows(lambda rows: rows.where((F.col("offset") >= _HEAD) | (F.col("partition") % 2 == 1)))


def lose_the_tail() -> None:
    """Lose the last records of the raw table's partitions: all from some offset on."""
    _raw_rows(lambda rows: rows.where((F.col("offset") < _TAIL) | (F.col("partition") == 0)))


def change_values() -> None:
    """Store other bytes than came."""

    def change(rows: DataFrame) -> DataFrame:  # a column can only be made when there is a session
        text = F.regexp_replace(F.decode("value", "ISO-8859-1"), "EWR", "JFK")
        return rows.withColumn("value", F.encode(text, "ISO-8859-1"))

    _raw_rows(change)


def rest_once() -> None:
    """Let one batch of the raw stream wait; the other minutes are as fast as ever."""
    honest, rested = RawSink.__call__, list[int]()

    def call(self: RawSink, rows: DataFrame, batch_id: int) -> None:
        if batch_id > _OLD_AFTER and not rested:
            rested.append(batch_id)
            time.sleep(_SLOW_SECONDS)
        honest(self, rows, batch_id)

    RawSink.__call__ = call  # type: ignore[method-assign]


def repeat_on_restart() -> None:
    """Append the first batch after a restart twice."""
    honest, repeated = RowsTable.write, list[int]()

    def write(self: RowsTable, rows: DataFrame, batch: MicroBatch) -> None:
        if self._log.generation > 1 and batch.has_input and not repeated:
            repeated.append(batch.batch_id)
            rows = rows.union(rows)
        honest(self, rows, batch)

    RowsTable.write = write  # type: ignore[method-assign]


def commit_before_the_write() -> None:
    """Put a batch on record, and write it a moment later."""

    def write(self: RowsTable, rows: DataFrame, batch: MicroBatch) -> None:
        found = rows.toArrow()
        self._log.record(self._entry(batch), batch.version)
        time.sleep(_BETWEEN_SECONDS)
        rows.sparkSession.createDataFrame(found).write.format("delta").mode("append").save(str(self._folder))

    RowsTable.write = write  # type: ignore[method-assign]


def _fail_sometimes(batch_id: int) -> None:
    if batch_id % 3 == 1:
        raise OSError


def swallow_exceptions() -> None:
    """Go on as if nothing had happened where a write fails; one of three does."""
    honest = RowsTable.write

    def write(self: RowsTable, rows: DataFrame, batch: MicroBatch) -> None:
        try:
            _fail_sometimes(batch.batch_id)
            honest(self, rows, batch)
        except OSError:
            self._log.record(self._entry(batch), batch.version)

    RowsTable.write = write  # type: ignore[method-assign]


def _messages(change: Callable[[DataFrame], DataFrame]) -> None:
    honest = TopicMessages.__call__

    def call(self: TopicMessages, rows: DataFrame, *, generation: int, position: int) -> DataFrame:
        return change(honest(self, rows, generation=generation, position=position))

    TopicMessages.__call__ = call  # type: ignore[method-assign]


def reorder() -> None:
    """Send the records of a batch in another order than they came in."""
    _messages(lambda records: records.coalesce(1).sortWithinPartitions(F.desc(F.xxhash64("value"))))


def send_twice() -> None:
    """Send each record again, under an id by which no reader knows it."""

    def header(each: Column) -> Column:
        other = F.struct(each["key"].alias("key"), F.md5(each["value"]).cast("binary").alias("value"))
        return F.when(each["key"] == ID, other).otherwise(each)

    def twice(records: DataFrame) -> DataFrame:
        return records.union(records.withColumn("headers", F.transform("headers", header)))

    _messages(twice)


def deliver_late_records() -> None:
    """Take late records for good ones in live outputs."""

    def validated(self: pipeline.SourceCode, records: DataFrame) -> DataFrame:
        time = self.time.model_copy(update={"allowed_lateness": _ALWAYS})
        return validate(records, self.value, time, self.expected)

    pipeline.SourceCode.validated = validated  # type: ignore[method-assign]


def keep_old_values() -> None:
    """Stop merging newest values after the first batch."""
    honest = LatestRows.write

    def write(self: LatestRows, rows: DataFrame, batch: MicroBatch) -> None:
        honest(self, rows.where(F.lit(batch.batch_id < _OLD_AFTER)), batch)

    LatestRows.write = write  # type: ignore[method-assign]


def lose_dead_letters() -> None:
    """Send every second dead letter only."""
    honest, sent = TopicRecords.write, list[int]()

    def write(self: TopicRecords, rows: DataFrame, batch: MicroBatch) -> None:
        if self.name.endswith(_LETTERS):
            sent.append(batch.batch_id)
            rows = rows.where(F.col("_offset") % 2 == 0)
        honest(self, rows, batch)

    TopicRecords.write = write  # type: ignore[method-assign]


def lose_a_group() -> None:
    """Leave one carrier out of what is settled."""
    honest = pipeline.partitioned

    def partitioned(rows: DataFrame, output: Any) -> DataFrame:  # noqa: ANN401 - as it is given
        return honest(rows.where(F.col("carrier") != "carrier-3"), output)

    pipeline.partitioned = partitioned
