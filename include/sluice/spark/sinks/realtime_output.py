"""The stream of a pipeline in real time: each record goes to its topic by itself, by Spark's Real-Time Mode.

A batch lasts a minute, and nothing waits for its end: Spark's own sink sends each row as soon as it is made. So nothing
can be put on record before a record is sent, and a crash repeats what came since the last batch. Each record therefore
names the one that it was made of, from which readers tell a repetition exactly; see `sluice.topics.deduplication`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.intervals.writers import writer_id
from sluice.kafka.client.stream_options import KAFKA_REALTIME_SINK
from sluice.spark.records.columns import refuse_unwritable
from sluice.spark.records.kafka_source import identity_of, read_streams
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.sinks.output_stream import OutputContext, deliveries_log, refuse_unfit_deliveries, streamed
from sluice.spark.sinks.positions import OFFSET, PARTITION, with_positions
from sluice.spark.sinks.preparation import DirectSink, Opened, Prepared
from sluice.spark.sinks.topic_output import POSITIONS_PER_EPOCH, content_columns, delivery_headers, text_header
from sluice.specs.model.outputs import TopicOutput
from sluice.streams.position.epochs import EpochInForce
from sluice.topics.deduplication import SOURCE


def prepare_realtime(
    spark: SparkSession,
    code: PipelineCode,
    context: OutputContext,
    *,
    stream: str,
    epoch: EpochInForce,
    generation: int,
) -> Prepared:
    """Return the stream of a pipeline in the lane `realtime`, whose one output is a topic.

    Raises:
        SpecError: the transform has an operator that cannot run in real time.
    """
    pipeline, (source,) = code.pipeline, context.sources
    (output,) = (each for each in pipeline.side_outputs if isinstance(each, TopicOutput))
    rows = streamed(read_streams(spark, context.sources, start=epoch.start), code)
    refuse_unwritable(rows, pipeline.side_outputs)
    chosen = rows if output.where is None else rows.where(output.where)
    messages = realtime_messages(
        with_positions(chosen), chosen.schema, output, source=source.name, epoch=epoch.number, generation=generation
    )
    writer = writer_id(stream, identity_of(context.sources), epoch.number)

    def opened() -> Opened:
        log, to = deliveries_log(context, output.topic, code, writer, generation), context.topics[output.topic]

        def check_fence() -> None:
            """Ask who owns the topic: Kafka cannot be asked with each record, so this is asked beside them."""
            log.check_fence()
            epoch.refuse_superseded()

        sink = DirectSink({**KAFKA_REALTIME_SINK, **to.spark_options, "topic": to.name}, check_fence)
        return Opened(messages, sink, check_fence)

    return Prepared(rows, (lambda: refuse_unfit_deliveries(context, output.topic),), opened, "update")


def realtime_messages(
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
