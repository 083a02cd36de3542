"""The stream of a pipeline's outputs of other kinds than `intervals`: what it reads, and where it delivers.

Beside an interval table, which is settled from the raw table, it is a streaming query of its own over the topic: its
values are there as records arrive, and provisional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from sluice.delta.latest import DeltaLatest
from sluice.delta.table import ensure_table, refuse_unfit
from sluice.delta.upkeep import APPENDED
from sluice.delta.writer_log import WriterLog
from sluice.errors import SpecError
from sluice.failpoints import uncommitted_data
from sluice.intervals.writers import of_all_epochs, writer_id
from sluice.live.store import LatestStore, LatestTable
from sluice.postgres.latest import PostgresLatest, connect
from sluice.spark.records.columns import refuse_unwritable
from sluice.spark.records.kafka_source import KafkaTopic, identity_of, own_offsets, read_streams
from sluice.spark.records.pipeline import PipelineCode, good_records, transformed
from sluice.spark.sinks.batch_outputs import (
    BatchOutput,
    BatchOutputsSink,
    ChosenRows,
    Inheritance,
    WholeWindows,
    all_known,
)
from sluice.spark.sinks.history import SourceHistory
from sluice.spark.sinks.latest_output import LatestRows, OpenWindows
from sluice.spark.sinks.own_output import LoggedSink, TransactionalSink, load_sink
from sluice.spark.sinks.preparation import Opened, Prepared
from sluice.spark.sinks.raw import beyond
from sluice.spark.sinks.rows_output import RowsTable
from sluice.spark.sinks.statefulness import output_mode, state_in
from sluice.spark.sinks.topic_output import TopicMessages, TopicRecords
from sluice.specs.model.outputs import LatestOutput, RowsOutput, SideOutput, SinkOutput, TopicOutput
from sluice.specs.rules.output_rules import deliveries
from sluice.storage.folder import Folder
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import EpochInForce

_DELIVERIES = '{"type":"struct","fields":[{"name":"position","type":"long","nullable":true,"metadata":{}}]}'
"""The table of deliveries has no rows: what was sent is in its commits."""


@dataclass(frozen=True)
class OutputContext:
    """Where a stream finds what it reads and writes.

    Attributes:
        sources: the topics that it reads.
        topics: the topics that it writes, by name.
        table: returns the folder of a Delta table.
        connection: returns the URL of a database by the connection's name.
        settled_until: returns how far the pipeline's interval table is settled; None if that is not known.
        shares_disk: whether executors see the disk with the checkpoint, which would hold a state.
    """

    sources: Sequence[KafkaTopic]
    topics: Mapping[str, KafkaTopic]
    table: Callable[[str], Folder]
    connection: Callable[[str], str]
    settled_until: Callable[[], datetime | None] = lambda: None
    shares_disk: bool = True


def prepare_outputs(
    spark: SparkSession,
    code: PipelineCode,
    context: OutputContext,
    *,
    stream: str,
    epoch: EpochInForce,
    generation: int,
) -> Prepared:
    """Return the stream that delivers to every output of a pipeline but an interval table.

    Raises:
        SpecError: an output does not fit what the transform returns, or a `rows` output a transform with state; or the
            transform keeps state, and executors have no disk to keep it on.
    """
    pipeline = code.pipeline
    records = read_streams(spark, context.sources, start=epoch.start, most=pipeline.max_records_per_batch)
    rows = streamed(records, code)
    refuse_unwritable(rows, pipeline.side_outputs)
    state = state_in(rows)
    appended = any(isinstance(output, RowsOutput) for output in pipeline.side_outputs)
    _refuse_stateful_rows(pipeline.name, state if appended else None)
    _refuse_scattered_state(stream, state, context)
    writer = writer_id(stream, identity_of(context.sources), epoch.number)
    outputs = _Outputs(code, context, rows, writer, epoch.number, generation)

    def opened() -> Opened:
        found = [outputs.open(output) for output in pipeline.side_outputs]
        floor = None if state is not None else held_by_all(found)
        read = streamed(unread(records, floor), code) if floor else rows
        known = all_known if state is None else _whole_windows(spark, code, context)
        sink = BatchOutputsSink(found, Checkpoint(epoch.checkpoint), floor=floor, known=known)
        return Opened(read, sink, sink.expire)

    checks = tuple(partial(outputs.check, output) for output in pipeline.side_outputs)
    return Prepared(rows, checks, opened, output_mode(rows, appended=appended))


def _refuse_scattered_state(stream: str, state: str | None, context: OutputContext) -> None:
    if state is not None and not context.shares_disk:
        raise SpecError(
            f"{stream} keeps state ({state}) in its checkpoint, on a disk of the driver's machine: tables are in a "
            "bucket, and executors of the cluster would each keep their part on a disk of their own.",
            fix="let this unit run on `local`, keep tables in a folder that all machines see, or declare an output "
            "whose values need no state.",
        )


def streamed(records: Mapping[str, DataFrame], code: PipelineCode) -> DataFrame:
    """Return the rows that a transform makes of the records of each topic; quarantined ones are counted."""
    good = {t: good_records(own, code.sources[t], counting=True) for t, own in records.items()}
    return transformed(good, code)


def unread(records: Mapping[str, DataFrame], held: Mapping[str, int] | None) -> dict[str, DataFrame]:
    """Return the records of each topic that lie behind those offsets which every output holds."""
    ends = {topic: own_offsets(held or {}, topic) for topic in records}
    return {t: own.where(beyond(ends[t], "_partition", "_offset")) if ends[t] else own for t, own in records.items()}


def _whole_windows(spark: SparkSession, code: PipelineCode, context: OutputContext) -> Inheritance:
    histories = [
        SourceHistory(spark, code.sources[t.name], t, context.table(code.sources[t.name].topic.raw.table))
        for t in context.sources
    ]

    def newest_before(origin: Mapping[str, int]) -> datetime | None:
        found = (history.newest_before(origin) for history in histories)
        return max((newest for newest in found if newest is not None), default=None)

    time_column = code.pipeline.intervals.time_column if code.pipeline.has_intervals else None
    return WholeWindows(time_column, newest_before)


def _refuse_stateful_rows(pipeline: str, state: str | None) -> None:
    if state is None:
        return
    raise SpecError(
        f"the `rows` output of {pipeline!r} needs a transform that works record by record; "
        f"this one keeps state ({state}).",
        fix="declare `intervals` or `latest` instead.",
    )


def held_by_all(outputs: Sequence[BatchOutput]) -> Mapping[str, int]:
    """Return the offsets below which every output holds everything.

    A stream without state need not read them again, whatever its checkpoint says: this is what keeps a batch that a
    new checkpoint cuts again from being written in part a second time.
    """
    held = [output.latest.end if output.latest else {} for output in outputs]
    return {p: min(h[p] for h in held) for p in sorted(set.intersection(*(set(h) for h in held)))}


def deliveries_log(
    context: OutputContext, name: str, code: PipelineCode, writer: str, generation: int, *, direct: bool = False
) -> WriterLog:
    """Open the log of the table that keeps what was sent to a topic or sink; it is created where it is not there.

    Args:
        context: where it is.
        name: of the topic or sink.
        code: that makes what is sent.
        writer: of the stream.
        generation: of the driver.
        direct: see `WriterLog.open`.

    Raises:
        FencedError: a newer generation owns it.
    """
    return _opened(context.table(deliveries(name)), _DELIVERIES, code, writer, generation, direct=direct)


def refuse_unfit_deliveries(context: OutputContext, name: str) -> None:
    """Make sure that the table of what was sent to a topic or sink could be opened. Nothing is changed.

    Raises:
        RefusedError: another table has its name.
    """
    refuse_unfit(context.table(deliveries(name)), _DELIVERIES)


def _opened(
    folder: Folder, schema: str, code: PipelineCode, writer: str, generation: int, *, direct: bool = False
) -> WriterLog:
    ensure_table(folder, schema, configuration=APPENDED)
    log = WriterLog(folder, writer, generation)
    log.open(code=code.code_hash, direct=direct)
    return log


@dataclass(frozen=True)
class _Outputs:
    """The outputs of one stream: checked, and opened: created where they are not there, and taken over."""

    code: PipelineCode
    context: OutputContext
    rows: DataFrame
    writer: str
    epoch: int
    generation: int

    def check(self, output: SideOutput) -> None:
        """Make sure that an output could be opened. Nothing is changed.

        Raises:
            RefusedError: it is there and does not fit.
            NotReadyError: nothing says how it is reached.
            UnreachableError: it could not be asked.
        """
        match output:
            case RowsOutput():
                refuse_unfit(self.context.table(output.table), self.rows.schema.json())
            case LatestOutput():
                self._store(output, self._described(output)).check()
            case TopicOutput():
                refuse_unfit_deliveries(self.context, output.topic)
            case SinkOutput():
                self._refuse_unfit_sink(output)

    def open(self, output: SideOutput) -> BatchOutput:
        """Open an output.

        Raises:
            FencedError: a newer generation owns it.
        """
        opened = self._open(output)
        return opened if output.where is None else ChosenRows(opened, output.where)

    def _open(self, output: SideOutput) -> BatchOutput:
        match output:
            case RowsOutput():
                return self._rows(output)
            case LatestOutput():
                return self._latest(output)
            case TopicOutput():
                return self._topic(output)
            case SinkOutput():
                return self._sink(output)

    def _rows(self, output: RowsOutput) -> RowsTable:
        folder = self.context.table(output.table)
        log = _opened(folder, self.rows.schema.json(), self.code, self.writer, self.generation)
        return RowsTable(folder, log, self.code.code_hash)

    def _topic(self, output: TopicOutput) -> TopicRecords:
        log = deliveries_log(self.context, output.topic, self.code, self.writer, self.generation)
        topic, make = self.context.topics[output.topic], TopicMessages(output)
        once = output.delivery == "at_most_once"
        return TopicRecords(topic, log, make, self.code.code_hash, self.epoch, at_most_once=once)

    def _refuse_unfit_sink(self, output: SinkOutput) -> None:
        sink, connection = load_sink(output.function), self._connection(output)
        if sink.newest is None:
            refuse_unfit_deliveries(self.context, output.name)
        else:
            sink.newest(of_all_epochs(self.writer), connection)

    def _sink(self, output: SinkOutput) -> LoggedSink | TransactionalSink:
        sink, url, code = load_sink(output.function), self._connection(output), self.code.code_hash
        if sink.newest is None:
            log = deliveries_log(self.context, output.name, self.code, self.writer, self.generation)
            return LoggedSink(output.name, sink, log, url, code)
        opened = TransactionalSink(output.name, sink, self.writer, self.generation, connection=url, code_hash=code)
        opened.open()
        return opened

    def _connection(self, output: SinkOutput) -> str | None:
        return None if output.connection is None else self.context.connection(output.connection)

    def _latest(self, output: LatestOutput) -> LatestRows:
        pipeline, kept, table = self.code.pipeline, None, self._described(output)
        if output.keep == "open":
            kept = OpenWindows(self.context.settled_until, pipeline.intervals.window, self._delay)
        store = self._store(output, table)
        store.open()
        folder = self.context.table(output.table)
        appeared = (lambda: uncommitted_data(folder)) if output.store == "delta" else None
        return LatestRows(table, store, kept, appeared)

    @property
    def _delay(self) -> timedelta:
        return max(source.time.delay for source in self.code.sources.values())

    def _described(self, output: LatestOutput) -> LatestTable:
        return LatestTable(
            output.table,
            to_arrow_schema(self.rows.schema, timezone="UTC"),
            output.keys,
            output.newest_by,
            self.code.pipeline.intervals.time_column if output.keep == "open" else None,
        )

    def _store(self, output: LatestOutput, table: LatestTable) -> LatestStore:
        if output.connection is None:
            folder, schema = self.context.table(output.table), self.rows.schema.json()
            return DeltaLatest(folder, table, schema, self.writer, self.generation)
        newest = partial(self.context.connection, output.connection)
        engine = connect(newest(), output.connection, newest)
        return PostgresLatest(engine, table, self.writer, self.generation)
