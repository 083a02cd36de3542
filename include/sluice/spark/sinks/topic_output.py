"""A `topic` output: a batch's rows as Kafka records that say which batch they are of.

Kafka has no transaction that spans a Spark job, so a crash may leave a part of a batch. What makes that harmless is in
the headers; see `sluice.topics.deduplication`. Which batches are sent is kept in a small Delta table beside, so that
neither a restart nor a lost checkpoint sends them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.delta.writer_log import WriterLog
from sluice.failpoints import failpoint
from sluice.intervals.entries import StreamEntry
from sluice.kafka.client.stream_options import KAFKA_SINK
from sluice.spark.records.as_json import as_json
from sluice.spark.records.content import named, row_hash
from sluice.spark.records.kafka_source import KafkaTopic
from sluice.spark.sinks.sink import LoggedOutput, MicroBatch, run_only
from sluice.specs.model.outputs import TopicOutput
from sluice.topics.deduplication import GENERATION, ID, POSITION

_PLACE = "_place"


class Messages(Protocol):
    """Makes records of a batch's rows."""

    def __call__(self, rows: DataFrame, *, generation: int, position: int) -> DataFrame:
        """Return key, value, headers and maybe partition.

        Args:
            rows: of the batch.
            generation: of the driver.
            position: of the batch.
        """


class TopicMessages:
    """Makes the records of a topic output's batches.

    What is the same in each batch is made once: every function of Spark's is a call of the JVM, and the hundred of them
    took a sixth of a small batch.

    Args:
        output: the topic output.
    """

    def __init__(self, output: TopicOutput) -> None:
        self._output = output
        self._made: tuple[list[Column], list[Column]] | None = None

    def __call__(self, rows: DataFrame, *, generation: int, position: int) -> DataFrame:
        """Return the records of a batch.

        The id is made of the batch's position, the row's keys and, where several rows have them, its number among
        these. So a batch that is sent again has the same ids, also where a sum of floats differs in its last bit.
        The numbers are those of the order of hashes, and the records keep the order of the rows.

        Args:
            rows: what the transform returns, with `output.keys`; of the same columns at each call.
            generation: of the driver.
            position: of the batch.

        Returns:
            `key` (JSON of the keys) and `value` (JSON of all columns), both binary, and `headers` (array of key and
            value).
        """
        if self._made is None:
            schema = rows.schema
            self._made = content_columns(schema, self._output), _among_equal_keys(schema, self._output.keys)
        content, identity = self._made
        number = F.lit(str(position))
        headers = delivery_headers(F.concat_ws("-", number, *identity), generation=generation, position=number)
        placed = rows.withColumn(_PLACE, F.monotonically_increasing_id())
        made = placed.select(*content, F.array(*headers).alias("headers"), _PLACE)
        return made.sortWithinPartitions(_PLACE).drop(_PLACE)  # all rows of a key are in one partition


def _among_equal_keys(schema: StructType, keys: Sequence[str]) -> list[Column]:
    """Return the hash of a row's keys, and its number among the rows that have them."""
    key_hash = row_hash(StructType([schema[key] for key in keys]))
    among = Window.partitionBy(*(named(key) for key in keys)).orderBy(row_hash(schema))
    return [F.hex(key_hash), F.row_number().over(among).cast("string")]


def content_columns(schema: StructType, output: TopicOutput) -> list[Column]:
    """Return the columns `key` and `value` of a record, both JSON and binary.

    Args:
        schema: of what the transform returns, with `output.keys`.
        output: the topic output.
    """
    of_keys = StructType([schema[key] for key in output.keys])
    return [as_json(of_keys).cast("binary").alias("key"), as_json(schema).cast("binary").alias("value")]


def delivery_headers(identity: Column, *, generation: int, position: Column) -> list[Column]:
    """Return the headers by which a reader tells a repetition; see `sluice.topics.deduplication`."""
    said = {ID: identity, GENERATION: F.lit(str(generation)), POSITION: position}
    return [text_header(name, value) for name, value in said.items()]


def text_header(name: str, value: Column) -> Column:
    """Return a header, as Spark's sink for Kafka takes it."""
    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))


POSITIONS_PER_EPOCH = 1 << 48
"""More than a topic can hold records. After a reset positions go on above all that were sent, though offsets begin
again: what is sent a second time on purpose is no repetition."""


class TopicRecords(LoggedOutput):
    """Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        topic: where to send.
        log: of the table of deliveries, opened.
        make: makes the records.
        code_hash: of the code that makes the rows.
        epoch: the number of the stream's reset epoch.
        at_most_once: whether a crash loses the rest of a batch, instead of repeating its beginning.
    """

    def __init__(
        self,
        topic: KafkaTopic,
        log: WriterLog,
        make: Messages,
        code_hash: str,
        epoch: int = 0,
        *,
        at_most_once: bool = False,
    ) -> None:
        super().__init__(topic.name, log, code_hash)
        self._topic = topic
        self._make = make
        self._positions_from = epoch * POSITIONS_PER_EPOCH
        self._at_most_once = at_most_once

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Send a batch and put it on record, in the order that the delivery asks for."""
        entry = self._entry(batch)
        position = self._positions_from + batch.version
        records = self._make(rows, generation=self._log.generation, position=position)
        if self._at_most_once:
            self._mark_and_send(records, entry, batch)
            return
        self._log.check_fence()
        failpoint("before_write", self.name)
        self._send(records)
        failpoint("after_write_before_commit", self.name)
        self._log.record(entry, batch.version)

    def _mark_and_send(self, records: DataFrame, entry: StreamEntry, batch: MicroBatch) -> None:
        """Only a crash may cost a batch, not a transform that fails: the records are computed before the mark."""
        computed = records.persist()
        try:
            run_only(computed)
            failpoint("before_write", self.name)
            self._log.record(entry, batch.version)
            failpoint("after_mark", self.name)
            self._send(computed)
            failpoint("after_write_before_commit", self.name)
        finally:
            computed.unpersist()

    def _send(self, records: DataFrame) -> None:
        address = {**self._topic.spark_options, "topic": self._topic.name}
        records.write.format("kafka").options(**KAFKA_SINK, **address).save()
