"""The stream of a pipeline that is in a hurry: records of one topic go to another by Spark's own sink for Kafka.

Nothing is done for each batch, so nothing is put on record before a record is sent, and a crash repeats what came since
the last batch was committed: in real time, by Spark's Real-Time Mode, up to a minute; else a micro-batch. Each record
therefore names the one that it was made of, from which readers tell a repetition exactly; see
`sluice.topics.deduplication`.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.intervals.writers import writer_id
from sluice.kafka.client.stream_options import KAFKA_DIRECT_SINK, KAFKA_REALTIME_SOURCE, KAFKA_SOURCE
from sluice.spark.records.columns import refuse_unwritable
from sluice.spark.records.kafka_source import identity_of, read_streams
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.sinks.output_stream import OutputContext, deliveries_log, refuse_unfit_deliveries, streamed, unread
from sluice.spark.sinks.positions import OFFSET, PARTITION, with_positions
from sluice.spark.sinks.preparation import DirectSink, Opened, Prepared
from sluice.spark.sinks.topic_output import POSITIONS_PER_EPOCH, content_columns, delivery_headers, text_header
from sluice.specs.model.lanes import Lane
from sluice.specs.model.outputs import TopicOutput
from sluice.streams.position.epochs import EpochInForce
from sluice.topics.deduplication import SOURCE


def prepare_direct(
    spark: SparkSession,
    code: PipelineCode,
    context: OutputContext,
    output: TopicOutput,
    *,
    stream: str,
    epoch: EpochInForce,
    generation: int,
) -> Prepared:
    """Return the stream of a pipeline whose one live output is a topic, by Spark's own sink.

    Raises:
        ManyRowsError: a record may make several rows, or a state makes them.
        SpecError: the output does not fit what the transform returns.
    """
    pipeline, in_real_time = code.pipeline, code.pipeline.lane is Lane.REALTIME
    records = _read(spark, code, context, epoch)
    rows = streamed(records, code)
    refuse_unwritable(rows, pipeline.side_outputs)
    made = partial(_messages, output, source=context.sources[0].name, epoch=epoch.number, generation=generation)
    made(rows, python=not in_real_time)
    writer = writer_id(stream, identity_of(context.sources), epoch.number)

    def opened() -> Opened:
        log = deliveries_log(context, output.topic, code, writer, generation, direct=True)
        to = context.topics[output.topic]

        def check_fence() -> None:
            """Ask who owns the topic: Kafka cannot be asked with each record, so this is asked beside them."""
            log.check_fence()
            epoch.refuse_superseded()

        options = {**KAFKA_DIRECT_SINK, **to.spark_options, "topic": to.name}
        sent = log.latest.end if log.latest else {}  # batch by batch, before the lane or the outputs were others
        messages = made(streamed(unread(records, sent), code), python=not in_real_time)
        return Opened(messages, DirectSink(options, check_fence, in_real_time), check_fence)

    mode = "update" if in_real_time else "append"
    return Prepared(rows, (lambda: refuse_unfit_deliveries(context, output.topic),), opened, mode)


def _read(spark: SparkSession, code: PipelineCode, context: OutputContext, epoch: EpochInForce) -> dict[str, DataFrame]:
    preset = KAFKA_REALTIME_SOURCE if code.pipeline.lane is Lane.REALTIME else KAFKA_SOURCE
    most = code.pipeline.max_records_per_batch
    return read_streams(spark, context.sources, start=epoch.start, most=most, preset=preset)


def _messages(
    output: TopicOutput, rows: DataFrame, *, python: bool, source: str, epoch: int, generation: int
) -> DataFrame:
    """Return the records of the rows that the output takes; the arguments are those of the functions that it calls."""
    chosen = rows if output.where is None else rows.where(output.where)
    carried = with_positions(chosen, python=python)
    return direct_messages(carried, chosen.schema, output, source=source, epoch=epoch, generation=generation)


def direct_messages(
    rows: DataFrame, schema: StructType, output: TopicOutput, *, source: str, epoch: int, generation: int
) -> DataFrame:
    """Return the records that rows make.

    Args:
        rows: what the transform returns, and the position of each row's record (see `with_positions`).
        schema: of what the transform returns.
        output: the topic output.
        source: the topic that is read.
        epoch: the number of the stream's reset epoch: positions go on above those of the epoch before.
        generation: of the driver.

    Returns:
        `key` (JSON of the keys) and `value` (JSON of the transform's columns), both binary, and `headers`.
    """
    partition = F.concat(F.lit(f"{source}/"), F.col(PARTITION).cast("string"))
    position = (F.lit(epoch * POSITIONS_PER_EPOCH) + F.col(OFFSET)).cast("string")
    identity = F.concat_ws("-", partition, position)
    delivery = delivery_headers(identity, generation=generation, position=position)
    headers = F.array(*delivery, text_header(SOURCE, partition)).alias("headers")
    return rows.select(*content_columns(schema, output), headers)
