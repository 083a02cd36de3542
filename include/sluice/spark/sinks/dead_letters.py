"""A `dead_letters` output: a copy of each quarantined record in a topic, for consumers of the topic there.

Its stream validates and delivers, and knows no transform. The headers are those of Kafka Connect's dead letters under
a prefix of our own; they say where a record was and why it was refused, and quote nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from itertools import chain

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

from sluice.intervals.writers import writer_id
from sluice.quality.quarantine import LETTER_PREFIX
from sluice.quality.reasons import Outcome, Reason
from sluice.spark.records.kafka_source import identity_of, read_streams
from sluice.spark.records.pipeline import PipelineCode, SourceCode
from sluice.spark.records.validation import DETAIL, OUTCOME, REASON, broken_expectations
from sluice.spark.sinks.batch_outputs import BatchOutputsSink, all_known
from sluice.spark.sinks.output_stream import (
    OutputContext,
    deliveries_log,
    held_by_all,
    refuse_unfit_deliveries,
    unread,
)
from sluice.spark.sinks.preparation import Opened, Prepared
from sluice.spark.sinks.topic_output import TopicRecords, delivery_headers, text_header
from sluice.specs.model.outputs import DeadLettersOutput
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import EpochInForce

_STAGE = "VALIDATION"


def refused(records: Mapping[str, DataFrame], code: PipelineCode) -> DataFrame:
    """Return what validation quarantines.

    Args:
        records: the columns of `read_stream`, by topic.
        code: the pipeline's.

    Returns:
        The columns of `read_stream`, `_topic` (string), `_reason` (string) and `_message` (string): what is wrong, as a
        sentence.
    """
    return reduce(DataFrame.unionByName, (_refused(own, code.sources[topic]) for topic, own in records.items()))


def _refused(records: DataFrame, source: SourceCode) -> DataFrame:
    quarantined = source.validated(records).where(F.col(OUTCOME) == Outcome.QUARANTINED.value)
    kept = ("_topic_id", "_partition", "_offset", "_timestamp", "_key", "_value", "_headers", REASON)
    return quarantined.select(*kept, F.lit(source.topic.name).alias("_topic"), _message(source).alias("_message"))


def letters(rows: DataFrame, code: PipelineCode, *, partitions: int, generation: int, position: int) -> DataFrame:
    """Return the records to send: key and value as they were, their headers and ours.

    Args:
        rows: see `refused`.
        code: the pipeline's.
        partitions: of the topic that they go to. A record always goes to the same one: readers find repetitions so.
        generation: of the driver.
        position: of the batch.

    Returns:
        `key`, `value` (binary), `headers` (array of key and value) and `partition` (int).
    """
    place = F.concat_ws("-", "_topic_id", "_partition", "_offset")
    said = {
        "topic": F.col("_topic"),
        "topic.id": F.col("_topic_id"),
        "partition": F.col("_partition").cast("string"),
        "offset": F.col("_offset").cast("string"),
        "timestamp": F.unix_millis("_timestamp").cast("string"),
        "pipeline": F.lit(code.pipeline.name),
        "pipeline.code": F.lit(code.code_hash),
        "stage": F.lit(_STAGE),
        "reason": F.col(REASON),
        "message": F.col("_message"),
    }
    ours = [text_header(f"{LETTER_PREFIX}{name}", value) for name, value in said.items()]
    delivery = delivery_headers(place, generation=generation, position=F.lit(str(position)))
    own = F.coalesce(F.col("_headers"), F.array().cast("array<struct<key:string,value:binary>>"))
    return rows.select(
        F.col("_key").alias("key"),
        F.col("_value").alias("value"),
        F.concat(own, F.array(*ours, *delivery)).alias("headers"),
        (F.col("_partition") % partitions).alias("partition"),
    )


def prepare_dead_letters(
    spark: SparkSession,
    code: PipelineCode,
    output: DeadLettersOutput,
    context: OutputContext,
    *,
    stream: str,
    epoch: EpochInForce,
    generation: int,
) -> Prepared:
    """Return the stream that sends what validation quarantines."""
    topic = context.topics[output.topic]
    writer = writer_id(stream, identity_of(context.sources), epoch.number)
    source = read_streams(spark, context.sources, start=epoch.start, most=code.pipeline.max_records_per_batch)

    def opened() -> Opened:
        log = deliveries_log(context, output.topic, code, writer, generation)
        make = partial(letters, code=code, partitions=topic.partitions)
        records = TopicRecords(topic, log, make, code.code_hash, epoch.number)
        held = held_by_all([records])
        unsent = unread(source, held)
        sink = BatchOutputsSink([records], Checkpoint(epoch.checkpoint), floor=held, known=all_known)
        return Opened(refused(unsent, code), sink)

    return Prepared(refused(source, code), (partial(refuse_unfit_deliveries, context, output.topic),), opened)


def _message(source: SourceCode) -> Column:
    meant = F.create_map(*map(F.lit, chain.from_iterable((str(r), r.meaning) for r in Reason)))
    named = [
        F.when(broken, F.lit(f"{each.expect} ({each.subject})"))
        for each, broken in broken_expectations(source.expected, source.value)
    ]
    message = F.concat_ws(": ", F.element_at(meant, F.col(REASON)), F.col(DETAIL))
    if not named:
        return message
    unexpected = F.concat_ws(": ", message, F.concat_ws(", ", *named))
    return F.when(F.col(REASON) == Reason.UNEXPECTED.value, unexpected).otherwise(message)
