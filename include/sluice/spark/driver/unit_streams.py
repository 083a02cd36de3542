"""The streams of a unit, made from the specs: checked all together, then opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from sluice.clock import SystemClock
from sluice.delta.writer_log import DataLossError
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.failpoints import failpoint
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.settings import connection_url
from sluice.settling.status import SettlingStatus, to_record
from sluice.spark.driver.pipeline_code import pipeline_code
from sluice.spark.driver.progress import replace_if_possible
from sluice.spark.driver.rebuilding import is_incompatible, new_beginning
from sluice.spark.driver.rehearsal import refuse_incompatible
from sluice.spark.driver.stream_run import Stream
from sluice.spark.records.kafka_source import KafkaTopic, identity_of
from sluice.spark.records.pipeline import PipelineCode
from sluice.spark.settling.stream import SettledTopic, SettlingContext, prepare_settled
from sluice.spark.sinks.breaker import Breaker
from sluice.spark.sinks.dead_letters import prepare_dead_letters
from sluice.spark.sinks.direct_output import prepare_direct
from sluice.spark.sinks.history import SourceHistory
from sluice.spark.sinks.output_stream import OutputContext, prepare_outputs
from sluice.spark.sinks.preparation import DirectSink, Prepared
from sluice.spark.sinks.raw import prepare_raw
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.rhythm import rhythm_of
from sluice.specs.catalog.streams import dead_stream, live_stream, raw_stream, streams_of
from sluice.specs.code.transforms import ManyRowsError
from sluice.specs.model.access import Role
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.start import Edge
from sluice.specs.rules.output_rules import direct_output
from sluice.streams.life.driver_files import settling_status
from sluice.streams.life.preflight import Preflight
from sluice.streams.position.checkpoint import Checkpoint
from sluice.streams.position.epochs import Epoch, EpochInForce, Epochs
from sluice.streams.position.starting import begin, beginnings
from sluice.topics.administration import TopicExtent
from sluice.topics.identity import gained_ids

log = get_logger()

BatchFunction = Callable[[DataFrame, int], None]


@dataclass(frozen=True)
class PreparedStream:
    """A stream of the unit that nothing stands against.

    Attributes:
        name: of the stream.
        prepared: its rows, and how its outputs are opened.
        epoch: that it goes on with.
        trigger_seconds: least time between two micro-batches.
        guarded: puts the circuit breaker in front of a sink.
        ended: see `Stream`.
    """

    name: str
    prepared: Prepared
    epoch: EpochInForce
    trigger_seconds: float
    guarded: Callable[[BatchFunction], BatchFunction]
    ended: Callable[[Exception], None] = lambda _: None

    def open(self) -> Stream:
        """Open the outputs, and return the stream, ready to start."""
        found = self.prepared.open()
        return Stream(
            self.name,
            found.rows,
            found.sink if isinstance(found.sink, DirectSink) else _under(self.epoch, self.guarded(found.sink)),
            self.epoch.checkpoint,
            self.trigger_seconds,
            output_mode=self.prepared.output_mode,
            between_batches=found.between_batches,
            give_up=found.give_up,
            waits=found.waits,
            ended=self.ended,
            check_fence=found.sink.check_fence,
            opened_again=self.open,
        )


def unit_streams(project: Project, spark: SparkSession, unit: Unit, generation: int) -> list[Stream]:
    """Return the streams of a unit, ready to start.

    Nothing is changed before everything that the start of all of them needs is known to be there.

    Raises:
        NotStartableError: what stands against it; nothing was changed.
        FencedError: a newer generation owns an output.
    """
    preparation = _Preparation(project, spark, unit, generation)
    prepared = preparation.prepare()
    failpoint("before_open", unit.name)
    preparation.put_on_record()
    return [stream.open() for stream in prepared]


def refuse_unstartable(project: Project, spark: SparkSession, unit: Unit, generation: int) -> None:
    """Make sure that a generation could start now: everything that its start needs is there, and state fits its code.

    Nothing is changed, and a driver of the generation before may go on meanwhile.

    Raises:
        NotStartableError: what stands against it.
        UnreachableError: the broker did not answer.
    """
    _Preparation(project, spark, unit, generation).prepare()


class _Preparation:
    """Checks everything that a start needs. It changes nothing."""

    def __init__(self, project: Project, spark: SparkSession, unit: Unit, generation: int) -> None:
        self._project = project
        self._spark = spark
        self._unit = unit
        self._generation = generation
        self._pipelines = [project.catalog.pipelines[name] for name in unit.pipelines]
        self._preflight = Preflight()
        self._topics: dict[str, KafkaTopic] = {}
        self._extents: dict[str, TopicExtent] = {}
        self._first: dict[str, Epoch] = {}
        self._again: dict[str, Epoch] = {}
        self._codes: dict[str, PipelineCode] = {}
        self._settled: dict[str, datetime | None] = {}
        self._ended: dict[str, Exception] = {}

    def prepare(self) -> list[PreparedStream]:
        """Return all streams of the unit.

        Raises:
            NotStartableError: something stands against a start.
        """
        with self._project.kafka.administration(Role.STREAM) as cluster:
            self._read_topics(cluster)
            self._read_beginnings(cluster)
        found: list[PreparedStream] = []
        for name, topics, prepare in self._makers():
            if all(topic in self._topics for topic in topics):  # what a topic lacks is known
                with self._preflight.of(name):
                    found.append(prepare(name))
        for stream in found:
            for check in stream.prepared.checks:
                with self._preflight.of(stream.name):
                    check()
        self._preflight.refuse()
        ready: list[PreparedStream] = []
        for stream in found:
            with self._preflight.of(stream.name):
                ready.append(self._with_fitting_state(stream))
        self._preflight.refuse()
        return ready

    def put_on_record(self) -> None:
        """Put on record where those streams begin that never began, or that begin again."""
        for stream, first in self._first.items():
            begin(self._epochs(stream), first)
        for stream, epoch in self._again.items():
            log.warning("stream begins again", stream=stream, epoch=epoch.number, why=epoch.why)
            self._epochs(stream).record(epoch)

    def _with_fitting_state(self, stream: PreparedStream) -> PreparedStream:
        """Return the stream, or one that begins again at its open intervals, because its state does not fit."""
        prepared = stream.prepared
        try:
            if prepared.refuse_state is not None:
                prepared.refuse_state()
            refuse_incompatible(prepared.rows, stream.epoch.checkpoint, prepared.output_mode)
        except Exception as error:
            pipeline = self._project.catalog.pipeline_of(stream.name)
            if pipeline is None or not is_incompatible(error):
                raise
            number, now = stream.epoch.number + 1, SystemClock().now()
            code, extents = self._code(pipeline), {topic: self._extents[topic] for topic in pipeline.topics}
            epoch = new_beginning(self._project, code, extents, number=number, now=now)
            if epoch is None:
                raise
            self._again[stream.name] = epoch
            (made,) = (prepare(name) for name, _, prepare in self._makers() if name == stream.name)
            return made
        return stream

    def _makers(self) -> list[tuple[str, Sequence[str], Callable[[str], PreparedStream]]]:
        """Return name, topics and maker of each stream, in the order in which they start."""
        raw = [(raw_stream(t), (t,), partial(self._raw, self._project.catalog.topics[t])) for t in self._unit.topics]
        intervals = [(p.name, p.topics, partial(self._intervals, p)) for p in self._pipelines if p.has_intervals]
        side = [
            (live_stream(p) or p.name, (*p.topics, *_written(p)), partial(self._side_outputs, p))
            for p in self._pipelines
            if p.side_outputs
        ]
        dead = [
            (name, (*p.topics, p.dead_letters.topic), partial(self._dead_letters, p))
            for p in self._pipelines
            if (name := dead_stream(p)) is not None and p.dead_letters is not None
        ]
        return [*raw, *intervals, *side, *dead]

    def _read_topics(self, cluster: KafkaPythonAdministration) -> None:
        sources = {topic for pipeline in self._pipelines for topic in pipeline.topics}
        written = {o.topic for pipeline in self._pipelines for o in pipeline.written_topics}
        names = sorted({*self._unit.topics, *sources, *written})
        bootstrap, client = self._project.kafka.bootstrap(), self._project.kafka.client(Role.STREAM)
        for name, told in cluster.extents(names).items():
            with self._preflight.of(""):
                self._topics[name] = _topic(bootstrap, name, told, client)
                if isinstance(told, TopicExtent):
                    self._extents[name] = told

    def _read_beginnings(self, cluster: KafkaPythonAdministration) -> None:
        earliest = Edge.EARLIEST  # a raw table holds every record
        raw = [(earliest, (topic,), [raw_stream(topic)], tuple[str, ...]()) for topic in self._unit.topics]
        pipelines = [(p.start, p.topics, [stream.name for stream in streams_of(p)], p.tables) for p in self._pipelines]
        for start, topics, streams, tables in (*raw, *pipelines):
            if all(topic in self._topics for topic in topics):
                with self._preflight.of(streams[0]):
                    epochs = {stream: self._epochs(stream) for stream in streams}
                    self._first |= beginnings(start, topics, epochs, cluster, SystemClock(), tables=tables)

    def _epochs(self, stream: str) -> Epochs:
        return self._project.streams.epochs(stream)

    def _epoch(self, stream: str, *sources: KafkaTopic, tables: Sequence[str] = ()) -> EpochInForce:
        """Return the epoch that a stream goes on with.

        Raises:
            DataLossError: its offsets are those of another topic of the same name.
        """
        if stream in self._again:
            return self._epochs(stream).in_future(self._again[stream])
        epoch = self._epochs(stream).in_force(self._first.get(stream))
        if epoch.topic_id and epoch.topic_id != (identity := identity_of(sources, tables)):
            names = " and ".join([*(source.name for source in sources), *tables])
            since = (
                "the cluster gave no ids then, and whether a topic was created again since is not known"
                if gained_ids(epoch.topic_id, identity)
                else "a topic was created again since, or the pipeline reads others"
            )
            raise DataLossError(
                f"epoch {epoch.number} of {stream} counts in offsets of {names} with the id {epoch.topic_id}; "
                f"{since}: it is {identity} now. Nothing was read.",
                fix=f"stop the unit, then run `sluice streams reset` with `--stream {stream} --to earliest`.",
            )
        return epoch

    def _code(self, pipeline: PipelineSpec) -> PipelineCode:
        if pipeline.name not in self._codes:
            self._codes[pipeline.name] = pipeline_code(self._project, self._spark, pipeline)
        return self._codes[pipeline.name]

    def _raw(self, topic: TopicSpec, name: str) -> PreparedStream:
        source, folder = self._topics[topic.name], self._project.folder
        epoch = self._epoch(name, source)
        table = folder.table(topic.raw.table)
        staging = folder.staging / f"{topic.raw.table}_{self._generation}"
        prepared = prepare_raw(
            self._spark, topic, source, table=table, epoch=epoch, generation=self._generation, staging=staging
        )
        seconds = rhythm_of(self._project.catalog, name).trigger.total_seconds()
        return PreparedStream(name, prepared, epoch, seconds, lambda sink: sink, partial(self._ended.__setitem__, name))

    def _intervals(self, pipeline: PipelineSpec, name: str) -> PreparedStream:
        code, table, topics = self._code(pipeline), self._project.folder.table, self._read_by(pipeline)
        epoch = self._epoch(name, *topics, tables=pipeline.tables)
        cluster = partial(self._project.kafka.administration, Role.STREAM)
        file = self._project.folder.settling_file(pipeline.name)
        context = SettlingContext(
            [self._settled_topic(topic, code) for topic in topics],
            table(pipeline.intervals.table),
            cluster,
            self._project.folder.staging / f"settle_{pipeline.name}",
            report=partial(self._report_settling, name, file),
            reported=partial(settling_status, file),
            upstream={source.reads: table(source.table) for source in pipeline.table_sources.values()},
            carried=self._project.folder.carried / pipeline.name,
        )
        prepared = prepare_settled(self._spark, code, context, epoch=epoch, generation=self._generation)
        return self._of_pipeline(name, prepared, epoch, code)

    def _read_by(self, pipeline: PipelineSpec) -> list[KafkaTopic]:
        return [self._topics[topic] for topic in pipeline.topics]

    def _settled_topic(self, topic: KafkaTopic, code: PipelineCode) -> SettledTopic:
        return SettledTopic(
            topic,
            self._project.folder.table(code.sources[topic.name].topic.raw.table),
            partial(self._project.tables.raw_position, topic.name),
            partial(self._ended.get, raw_stream(topic.name)),
        )

    def _report_settling(self, pipeline: str, file: Path, status: SettlingStatus) -> None:
        self._settled[pipeline] = status.settled_until
        replace_if_possible(file, to_record(status))

    def _side_outputs(self, pipeline: PipelineSpec, name: str) -> PreparedStream:
        context, code = self._output_context(pipeline), self._code(pipeline)
        epoch = self._epoch(name, *context.sources)
        prepared = self._direct(name, epoch, code, context) or prepare_outputs(
            self._spark, code, context, stream=name, epoch=epoch, generation=self._generation
        )
        return self._of_pipeline(name, prepared, epoch, code)

    def _direct(self, name: str, epoch: EpochInForce, code: PipelineCode, context: OutputContext) -> Prepared | None:
        """Return the stream by Spark's own sink; None: its outputs are written batch by batch."""
        output = direct_output(code.pipeline)
        if output is None:
            return None
        try:
            return prepare_direct(
                self._spark, code, context, output, stream=name, epoch=epoch, generation=self._generation
            )
        except ManyRowsError:
            if code.pipeline.lane is Lane.REALTIME:
                raise
            return None

    def _dead_letters(self, pipeline: PipelineSpec, name: str) -> PreparedStream:
        context, code, output = self._output_context(pipeline), self._code(pipeline), pipeline.dead_letters
        assert output is not None  # noqa: S101 - it has such a stream
        epoch = self._epoch(name, *context.sources)
        prepared = prepare_dead_letters(
            self._spark, code, output, context, stream=name, epoch=epoch, generation=self._generation
        )
        return self._of_pipeline(name, prepared, epoch, code)

    def _output_context(self, pipeline: PipelineSpec) -> OutputContext:
        settled_until = partial(self._settled.get, pipeline.name)
        table, shared = self._project.folder.table, self._project.processes.shares_disk()
        return OutputContext(self._read_by(pipeline), self._topics, table, connection_url, settled_until, shared)

    def _of_pipeline(self, name: str, prepared: Prepared, epoch: EpochInForce, code: PipelineCode) -> PreparedStream:
        histories = {
            topic: SourceHistory(
                self._spark, source, self._topics[topic], self._project.folder.table(source.topic.raw.table)
            )
            for topic, source in code.sources.items()
        }
        guarded = partial(_behind_breaker, stream=name, epoch=epoch, code=code, histories=histories)
        seconds = rhythm_of(self._project.catalog, name).trigger.total_seconds()
        return PreparedStream(name, prepared, epoch, seconds, guarded)


def _written(pipeline: PipelineSpec) -> list[str]:
    """Return the topics that the outputs beside the interval table fill."""
    return [output.topic for output in pipeline.written_topics if output is not pipeline.dead_letters]


def _topic(
    bootstrap: tuple[str, ...], name: str, answer: TopicExtent | SluiceError, client: Mapping[str, str]
) -> KafkaTopic:
    if isinstance(answer, RefusedError):
        raise NotReadyError(
            f"the cluster at {', '.join(bootstrap)} has no topic {name}.",
            fix="run the DAG `topics`, or `sluice topics apply`.",
        )
    if isinstance(answer, SluiceError):
        raise answer
    return KafkaTopic(bootstrap, name, answer.topic_id, client, len(answer.ends))


def _under(epoch: EpochInForce, sink: BatchFunction) -> BatchFunction:
    """Return a sink that writes nothing once its stream was reset to a newer epoch."""

    def run_batch(rows: DataFrame, batch_id: int) -> None:
        epoch.refuse_superseded()
        sink(rows, batch_id)

    return run_batch


def _behind_breaker(
    sink: BatchFunction, stream: str, epoch: EpochInForce, code: PipelineCode, histories: Mapping[str, SourceHistory]
) -> BatchFunction:
    """Return a sink that gets no batch of which more is quarantined than the pipeline allows."""
    limit = code.pipeline.circuit_breaker
    if limit is None:
        return sink
    between = {topic: history.between for topic, history in histories.items()}
    return Breaker(limit, code, stream, Checkpoint(epoch.checkpoint), between).before(sink)
