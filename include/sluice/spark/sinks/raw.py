"""The raw stream: every record of a topic, once, into its raw table.

Exactly once rests on offsets alone: a batch is compared with what the table covers, so a replayed or re-cut batch
writes only what is missing, also after a lost checkpoint. A hole is never skipped, unless a person has acknowledged it
by a reset: the first commit of that epoch may begin beyond it.

Beside the bytes stand a record's two times, by which it is found. Where the spec has come to read them otherwise, a
start reads those of all records again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import or_

from deltalake import write_deltalake
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.delta.table import ensure_table, refuse_unfit
from sluice.delta.upkeep import APPENDED
from sluice.delta.writer_log import DataLossError, WriterLog
from sluice.failpoints import failpoint
from sluice.intervals.coverage import NOWHERE, Fit, fit, joined
from sluice.intervals.entries import StreamEntry
from sluice.intervals.reach import Hole
from sluice.intervals.writers import topic_of, writer_id
from sluice.observability.logs import get_logger
from sluice.spark.records.decoding import decode
from sluice.spark.records.kafka_source import KafkaTopic, read_stream
from sluice.spark.records.validation import arrival_time, decodes, plausible
from sluice.spark.sinks.collected import in_files
from sluice.spark.sinks.preparation import Opened, Prepared
from sluice.spark.sinks.sink import MicroBatch, append, entry_for, planned_batch
from sluice.specs.catalog.streams import raw_stream
from sluice.specs.model.model import TopicSpec, TopicValue
from sluice.storage.folder import Folder, remove_folder
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import EpochInForce

_log = get_logger()

_RAW_SCHEMA = (
    "topic_id string, partition int, offset long, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
_DISTINCT = {f"parquet.enable.dictionary#{name}": "false" for name in ("offset", "event_time", "value")}
"""Of these hardly two are equal, and a dictionary of them would be built for nothing."""


def raw_rows(records: DataFrame, topic: TopicSpec) -> DataFrame:
    """Return the rows of the raw table.

    Args:
        records: the columns of `read_stream`.
        topic: says how they decode.

    Returns:
        `topic_id` string, `partition` int, `offset` long, `timestamp` timestamp, `key` and `value` binary,
        `headers` array; `event_time` and `arrival_time` timestamps, null where they do not decode; `decodes` boolean.
    """
    value = topic.value
    readable, arrival = decodes(), arrival_time(value)
    return decode(records, value).select(
        F.col("_topic_id").alias("topic_id"),
        F.col("_partition").alias("partition"),
        F.col("_offset").alias("offset"),
        F.col("_timestamp").alias("timestamp"),
        F.col("_key").alias("key"),
        F.col("_value").alias("value"),
        F.col("_headers").alias("headers"),
        happened(value).alias("event_time"),
        F.when(readable & plausible(arrival), arrival).alias("arrival_time"),
        readable.alias("decodes"),
    )


def happened(value: TopicValue) -> Column:
    """Return when a decoded record happened; null if its bytes do not say so."""
    event = F.col(value.event_time)
    return F.when(decodes() & plausible(event), event)


def raw_records(raw_table: DataFrame, *kept: str) -> DataFrame:
    """Return the raw table's rows with the columns of `read_stream`: what validation takes.

    Args:
        raw_table: its rows; see `raw_rows`.
        kept: further columns of it.
    """
    return raw_table.select(
        F.col("topic_id").alias("_topic_id"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("timestamp").alias("_timestamp"),
        F.col("key").alias("_key"),
        F.col("value").alias("_value"),
        F.col("headers").alias("_headers"),
        *kept,
    )


def empty_raw_rows(spark: SparkSession) -> DataFrame:
    """Return the rows of a raw table of which nothing is written yet, as far as `raw_records` reads them."""
    return spark.createDataFrame([], _RAW_SCHEMA)


def raw_writer(source: KafkaTopic, epoch: int = 0) -> str:
    """Return the app id under which a topic's raw stream writes."""
    return writer_id(raw_stream(source.name), source.topic_id, epoch)


class RawSink:
    """The foreachBatch function of a raw stream."""

    def __init__(self, folder: Folder, checkpoint: Checkpoint, log: WriterLog, times: str) -> None:
        self._times = times
        self._folder = folder
        self._checkpoint = checkpoint
        self._log = log

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Write what the table does not hold yet."""
        batch = planned_batch(self._checkpoint, batch_id)
        held = self._log.inherited.position if self._log.inherited else NOWHERE
        holes = self._log.newest.holes if self._log.newest else ()
        match fit(held, batch.start, batch.end):
            case Fit.COVERED:
                return
            case Fit.GAP if self._log.latest is not None:
                raise self._hole(batch, held.offsets)
            case Fit.OVERLAP | Fit.GAP:
                holes += holes_between(held.offsets, batch.start, topic_of(self._log.writer))
                rows = rows.where(beyond(held.offsets, "partition", "offset"))
                batch = replace(batch, end=joined(held, batch.end))
            case Fit.NEXT:
                pass
        entry = replace(entry_for(batch, self._log), holes=holes, times=self._times)
        append(rows, self._folder, self._log, entry, batch, options=_DISTINCT)

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns the table."""
        self._log.check_fence()

    def _hole(self, batch: MicroBatch, held: Mapping[str, int]) -> DataLossError:
        ranges = ", ".join(map(str, holes_between(held, batch.start, topic_of(self._log.writer))))
        return DataLossError(
            f"{self._folder} ends before {ranges}, and the stream's next batch starts after them.",
            fix="restore the records, or acknowledge the loss by `sluice streams reset --to earliest`.",
        )


def holes_between(held: Mapping[str, int], start: Mapping[str, int], topic: str) -> tuple[Hole, ...]:
    """Return what lies between the end of a raw table and the first offsets of a batch.

    Args:
        held: next offset per `topic/partition`.
        start: first offset of the batch.
        topic: id of the topic.
    """
    return tuple(
        Hole(topic, partition, held.get(partition, 0), first)
        for partition, first in sorted(start.items())
        if first > held.get(partition, 0)
    )


def beyond(held: Mapping[str, int], partition: str, offset: str) -> Column:
    """Return the condition that a record lies beyond what is held.

    Args:
        held: next offset per `topic/partition`; of a partition that is missing nothing is held.
        partition: the column with its partition.
        offset: the column with its offset.
    """
    keys = {int(name.rpartition("/")[2]): first for name, first in held.items()}
    known = F.col(partition).isin(*keys) if keys else F.lit(False)
    newer = [(F.col(partition) == number) & (F.col(offset) >= first) for number, first in keys.items()]
    return reduce(or_, newer, ~known)


def prepare_raw(
    spark: SparkSession,
    topic: TopicSpec,
    source: KafkaTopic,
    *,
    table: Folder,
    epoch: EpochInForce,
    generation: int,
    staging: Folder,
) -> Prepared:
    """Return the stream that keeps every record of a topic in its raw table.

    Args:
        spark: the session.
        topic: the topic's spec.
        source: the topic as it is.
        table: the folder of the raw table.
        epoch: that the stream goes on with.
        generation: the attempt.
        staging: a folder for records whose times are read again.
    """
    cap, tasks = topic.raw.max_records_per_batch, topic.raw.min_partitions
    records = read_stream(spark, source, start=epoch.start, most=cap, tasks=tasks)
    rows = raw_rows(records, topic)
    schema = rows.schema.json()

    def opened() -> Opened:
        ensure_table(table, schema, configuration=APPENDED)
        log = WriterLog(table, raw_writer(source, epoch.number), generation)
        log.open()
        if log.newest is not None and log.newest.times not in ("", topic.value.times):
            _read_times_again(spark, topic, log, log.newest, staging)
        return Opened(rows, RawSink(table, Checkpoint(epoch.checkpoint), log, topic.value.times))

    return Prepared(rows, (partial(refuse_unfit, table, schema),), opened)


def _read_times_again(
    spark: SparkSession, topic: TopicSpec, log: WriterLog, newest: StreamEntry, staging: Folder
) -> None:
    """Read the times of all records as the spec says now, and replace the table by that in one commit.

    Raises:
        NotReadyError: another commit was quicker.
    """
    _log.warning(
        "the spec reads times otherwise: those of all records are read again",
        table=log.table.name,
        were=newest.times,
        now=topic.value.times,
        records=sum(newest.end.values()),
    )
    version = log.version
    held = spark.read.format("delta").option("versionAsOf", version).load(str(log.table))
    try:
        again = in_files(raw_rows(raw_records(held), topic), staging)
        failpoint("before_write", log.table.name)
        log.rewrite(
            replace(newest, times=topic.value.times),
            version,
            lambda table, properties: write_deltalake(
                table, again.scanner().to_reader(), mode="overwrite", commit_properties=properties
            ),
        )
        failpoint("after_write_before_commit", log.table.name)
    finally:
        remove_folder(staging)
