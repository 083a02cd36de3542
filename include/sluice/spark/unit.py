"""A unit's streams, put together from the specs: session, tables, ledgers, code identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from sluice.clock import SystemClock
from sluice.delta.writer_log import DataLossError
from sluice.errors import NotReadyError, RefusedError, SluiceError
from sluice.local.cpu import TreeCpu
from sluice.project import Project
from sluice.settings import connection_url
from sluice.spark.breaker import Breaker
from sluice.spark.dead_letters import start_dead_letters
from sluice.spark.driver import Driver, Stream
from sluice.spark.executors import UnitFile, executors_of
from sluice.spark.history import History
from sluice.spark.interval_stream import start_pipeline
from sluice.spark.kafka_source import KafkaTopic
from sluice.spark.last_words import LastWords
from sluice.spark.output_stream import Surroundings, start_outputs
from sluice.spark.pipeline import PipelineCode
from sluice.spark.progress import ProgressFile
from sluice.spark.raw import start_raw
from sluice.spark.session import session
from sluice.spark.static import read_static
from sluice.spark.stopping import StopRequest
from sluice.specs.access import Role
from sluice.specs.catalog import Unit
from sluice.specs.identity import pipeline_hash
from sluice.specs.model import DEAD, PipelineSpec, TopicSpec
from sluice.specs.outputs import DeadLettersOutput
from sluice.specs.start import Edge
from sluice.specs.static import locate
from sluice.streams.checkpoint import Checkpoint
from sluice.streams.epochs import EpochInForce, Epochs
from sluice.streams.exits import ExitCode
from sluice.streams.needs import application_of, resources_of
from sluice.streams.starting import begin
from sluice.topics.administration import TopicExtent


def run_unit(
    project: Project,
    name: str,
    generation: int,
    *,
    stop: StopRequest,
    last_words: LastWords,
    available_now: bool = False,
) -> ExitCode:
    """Run the streams of a unit until they are asked to stop, or, if `available_now`, until they have read everything.

    Raises:
        SluiceError: Spark could not be started. Any later failure is the exit code.
    """
    spark = unit_session(project, project.catalog.units()[name])
    stop.listen()
    try:
        return run_streams(
            project, spark, name, generation, available_now=available_now, stop=stop, last_words=last_words
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be told before the JVM that knows it is gone
        return last_words.leave(error)
    finally:
        spark.stop()


def run_streams(
    project: Project,
    spark: SparkSession,
    name: str,
    generation: int,
    *,
    available_now: bool = False,
    stop: StopRequest | None = None,
    last_words: LastWords | None = None,
) -> ExitCode:
    """Run the streams of a unit in a session that somebody else ends; otherwise like `run_unit`."""
    unit = project.catalog.units()[name]
    topics = _topics(project, unit)
    pipelines = [project.catalog.pipelines[p] for p in unit.pipelines]
    _begin(project, unit.topics, pipelines)
    streams = [
        *(_raw(project, spark, project.catalog.topics[t], topics[t], generation) for t in unit.topics),
        *(_pipeline(project, spark, p, topics[p.source], generation) for p in pipelines if p.has_intervals),
        *(_beside(project, spark, p, topics, generation) for p in pipelines if p.beside),
        *(
            _dead(project, spark, output, pipeline_code(project, spark, p), topics, generation=generation)
            for p in pipelines
            if (output := p.dead_letters) is not None
        ),
    ]
    identity = {"unit": name, "generation": generation, "spark_ui": spark.sparkContext.uiWebUrl}
    folder, cpu = project.folder, TreeCpu()
    files = {
        s.name: ProgressFile(
            folder.progress_file(s.name), {**identity, "stream": s.name}, folder.batch_log(s.name), cpu.seconds
        )
        for s in streams
    }
    unit_file = UnitFile(project.folder.unit_file(name), identity, partial(executors_of, spark))
    driver = Driver(streams, files, stop=stop, last_words=last_words, look=unit_file.update)
    return driver.run(available_now=available_now)


def unit_session(project: Project, unit: Unit) -> SparkSession:
    """Start the session that a unit's streams share: the largest resources that one of them asks for."""
    pipelines = [project.catalog.pipelines[name] for name in unit.pipelines]
    overrides = {key: value for pipeline in pipelines for key, value in pipeline.spark.items()}
    return session(
        application_of(project.settings.deployment, unit.name),
        resources_of(project.catalog, unit),
        jars=project.settings.jars / "spark",
        warehouse=project.settings.state / "warehouse",
        master=project.spark_place().master,
        overrides=overrides,
        archive=project.archive(),
    )


def pipeline_code(project: Project, spark: SparkSession, pipeline: PipelineSpec) -> PipelineCode:
    """Return what turns records into rows, with the hash that names it."""
    include, topic = project.settings.home / "include", project.catalog.topics[pipeline.source]
    expected = project.catalog.expected_of_records(pipeline.name)
    return PipelineCode(
        pipeline=pipeline,
        topic=topic,
        static={n: read_static(spark, static, locate(static, include)) for n, static in pipeline.static.items()},
        code_hash=pipeline_hash(project.settings.home, pipeline, topic, expected),
        expected=expected,
    )


def _topics(project: Project, unit: Unit) -> dict[str, KafkaTopic]:
    sources = {project.catalog.pipelines[name].source for name in unit.pipelines}
    written = {o.topic for name in unit.pipelines for o in project.catalog.pipelines[name].written_topics}
    names = sorted({*unit.topics, *sources, *written})
    with project.administration(Role.STREAM) as cluster:
        told = cluster.extents(names)  # not `describe`: a stream need not be allowed to see configurations
    if missing := [name for name in names if isinstance(told[name], RefusedError)]:
        raise NotReadyError(
            f"the cluster at {', '.join(project.bootstrap())} has no topic {', '.join(missing)}.",
            fix="run the DAG `topics`, or `sluice topics apply`.",
        )
    bootstrap, client = project.bootstrap(), project.kafka_client(Role.STREAM)
    return {name: _topic(bootstrap, name, told[name], client) for name in names}


def _topic(
    bootstrap: tuple[str, ...], name: str, told: TopicExtent | SluiceError, client: Mapping[str, str]
) -> KafkaTopic:
    if isinstance(told, SluiceError):
        raise told
    return KafkaTopic(bootstrap, name, told.topic_id, client, len(told.ends))


def _begin(project: Project, topics: Sequence[str], pipelines: Sequence[PipelineSpec]) -> None:
    """Put on record where those streams begin that never began."""

    def epochs(streams: Sequence[str]) -> dict[str, Epochs]:
        return {stream: Epochs(project.folder.checkpoint(stream)) for stream in streams}

    with project.administration(Role.STREAM) as cluster:
        for topic in topics:  # a raw table holds every record
            begin(Edge.EARLIEST, topic, epochs([f"raw_{topic}"]), cluster, SystemClock())
        for pipeline in pipelines:
            begin(pipeline.start, pipeline.source, epochs(pipeline.streams), cluster, SystemClock())


def _epoch(project: Project, stream: str, source: KafkaTopic) -> EpochInForce:
    """Return the epoch that a stream goes on with.

    Raises:
        DataLossError: its offsets are those of another topic of the same name.
    """
    epoch = Epochs(project.folder.checkpoint(stream)).in_force()
    if epoch.topic_id and epoch.topic_id != source.topic_id:
        raise DataLossError(
            f"epoch {epoch.number} of {stream} counts in offsets of the topic {source.name} with the id "
            f"{epoch.topic_id}; the topic was created again since, and is {source.topic_id} now. Nothing was read.",
            fix=f"stop the unit, then run `sluice streams reset` with `--stream {stream} --to earliest`.",
        )
    return epoch


def _under(epoch: EpochInForce, sink: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
    """Return a sink that writes nothing once its stream was reset to a newer epoch."""

    def run_batch(rows: DataFrame, batch_id: int) -> None:
        epoch.refuse_superseded()
        sink(rows, batch_id)

    return run_batch


def _behind_breaker(
    sink: Callable[[DataFrame, int], None], stream: str, epoch: EpochInForce, code: PipelineCode, history: History
) -> Callable[[DataFrame, int], None]:
    """Return a sink that gets no batch of which more is quarantined than the pipeline allows."""
    limit = code.pipeline.circuit_breaker
    if limit is None:
        return sink
    return Breaker(limit, code, stream, Checkpoint(epoch.checkpoint), history.between).before(sink)


def _raw(project: Project, spark: SparkSession, topic: TopicSpec, source: KafkaTopic, generation: int) -> Stream:
    name = f"raw_{topic.name}"
    epoch = _epoch(project, name, source)
    table = project.folder.table(topic.raw.table)
    rows, sink = start_raw(spark, topic, source, table=table, epoch=epoch, generation=generation)
    readers = [p for p in project.catalog.pipelines.values() if p.source == topic.name]
    seconds = min((p.trigger.total_seconds() for p in readers), default=5.0)
    return Stream(name, rows, _under(epoch, sink), epoch.checkpoint, seconds, check_fence=sink.check_fence)


def _pipeline(
    project: Project, spark: SparkSession, pipeline: PipelineSpec, source: KafkaTopic, generation: int
) -> Stream:
    code = pipeline_code(project, spark, pipeline)
    epoch = _epoch(project, pipeline.name, source)
    table = project.folder.table(pipeline.intervals.table)
    raw = project.folder.table(code.topic.raw.table)
    rows, sink, drops = start_pipeline(spark, code, source, raw=raw, table=table, epoch=epoch, generation=generation)
    guarded = _behind_breaker(sink, pipeline.name, epoch, code, History(spark, code, source, raw))
    seconds, run_batch = pipeline.trigger.total_seconds(), _under(epoch, guarded)
    return Stream(pipeline.name, rows, run_batch, epoch.checkpoint, seconds, drops, check_fence=sink.check_fence)


def _beside(
    project: Project, spark: SparkSession, pipeline: PipelineSpec, topics: Mapping[str, KafkaTopic], generation: int
) -> Stream:
    name = pipeline.live_stream or pipeline.name
    around = Surroundings(topics[pipeline.source], topics, project.folder.table, connection_url)
    source, code = topics[pipeline.source], pipeline_code(project, spark, pipeline)
    epoch = _epoch(project, name, source)
    rows, sink, mode = start_outputs(spark, code, around, stream=name, epoch=epoch, generation=generation)
    history = History(spark, code, source, project.folder.table(code.topic.raw.table))
    guarded = _behind_breaker(sink, name, epoch, code, history)
    seconds, run_batch = pipeline.trigger.total_seconds(), _under(epoch, guarded)
    return Stream(name, rows, run_batch, epoch.checkpoint, seconds, output_mode=mode, check_fence=sink.check_fence)


def _dead(
    project: Project,
    spark: SparkSession,
    output: DeadLettersOutput,
    code: PipelineCode,
    topics: Mapping[str, KafkaTopic],
    *,
    generation: int,
) -> Stream:
    pipeline, name = code.pipeline, f"{code.pipeline.name}{DEAD}"
    around = Surroundings(topics[pipeline.source], topics, project.folder.table, connection_url)
    epoch = _epoch(project, name, around.source)
    rows, sink = start_dead_letters(spark, code, output, around, epoch=epoch, generation=generation)
    history = History(spark, code, around.source, project.folder.table(code.topic.raw.table))
    guarded = _behind_breaker(sink, name, epoch, code, history)
    seconds, run_batch = pipeline.trigger.total_seconds(), _under(epoch, guarded)
    return Stream(name, rows, run_batch, epoch.checkpoint, seconds, check_fence=sink.check_fence)
