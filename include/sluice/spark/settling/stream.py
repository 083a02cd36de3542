"""The stream of a pipeline whose interval table is settled.

It is a query over its topics, and over the versions of the settled tables that it reads, of which no record is ever
read: its batches are ranges of offsets, its checkpoint says how far the table has been settled, and all that watches,
retries and stops streams works on it as on any other. A batch is done when the raw tables hold its range, all of it was
examined, and what is complete is settled. A topic that is silent brings no batch: what its silence completes, or a
person, is settled beside batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from threading import Lock
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from sluice.clock import Clock, SystemClock
from sluice.delta.log import has_commit_after, raw_position
from sluice.delta.settled_log import CollectedRows, SettledLog, StagedRows
from sluice.delta.table import ensure_table, refuse_unfit
from sluice.errors import CorruptionError, NotReadyError, UnreachableError
from sluice.intervals.reach import RawPosition, Reach
from sluice.observability.logs import get_logger
from sluice.settling.rules import SettlingRules
from sluice.settling.settler import Round, RoundOutcome, Settler, SettlerIdentity
from sluice.settling.status import SettlingStatus, status_after, status_of_log
from sluice.settling.wording import disorder_text
from sluice.spark.records.columns import refuse_unwritable
from sluice.spark.records.kafka_source import KafkaTopic, own_offsets, read_streams
from sluice.spark.records.pipeline import PipelineCode, partition_column, result_rows
from sluice.spark.records.table_versions import version_stream
from sluice.spark.records.unbounded import refuse_unbounded
from sluice.spark.settling.computation import RawComputation
from sluice.spark.settling.ends import Extents, log_ends
from sluice.spark.settling.periodic_task import PeriodicTask
from sluice.spark.settling.raw_source import RawTableSource
from sluice.spark.settling.table_source import SettledTableSource
from sluice.spark.sinks.preparation import Opened, Prepared
from sluice.spark.sinks.sink import planned_batch
from sluice.spark.tables.continuation import settling_continuation
from sluice.spark.tables.upstream import UpstreamTable
from sluice.storage.folder import Folder, remove_folder
from sluice.streams.position.checkpoint import Checkpoint, IncompatibleStateError
from sluice.streams.position.epochs import Epoch, EpochInForce

log = get_logger()

Cluster = Callable[[], AbstractContextManager[Extents]]
"""Opens a connection that lists the ends of topics."""

_POOL = "spark.scheduler.pool"
"""The property of a thread that says in which of the session's pools its jobs run (`spark/session/pools.xml`)."""
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 300.0
"""For how long a raw table may stand still that lacks records which are in the topic."""
_DECISION_SECONDS = 10.0
"""How often the log is asked whether a person has decided about an advance that is held back."""
_SILENCE_SECONDS = (1.0, 60.0)
"""How often a silent topic is looked after: a tenth of `idle`, within these bounds."""


def settler_name(pipeline: str) -> str:
    """Return the name under which a pipeline's settler writes."""
    return f"settle:{pipeline}"


@dataclass(frozen=True)
class SettledTopic:
    """A topic that a settler reads.

    Attributes:
        kafka: the topic.
        raw: the folder of its raw table.
        position: returns how far the raw table goes, and which topics of this name it has read; None: its log says it.
        raw_ended: returns why the raw stream has ended beside this one, for good; None while it runs.
    """

    kafka: KafkaTopic
    raw: Folder
    position: Callable[[], RawPosition] | None = None
    raw_ended: Callable[[], Exception | None] = lambda: None


@dataclass(frozen=True)
class SettlingContext:
    """Where a settler reads and writes.

    Attributes:
        topics: that it reads.
        table: the folder of the interval table.
        cluster: see `Cluster`.
        staging: a folder for rows that outgrow the driver; each generation has its own in it.
        report: is given where the settler stands after each round.
        reported: returns what was reported last; None if nothing is known of that.
        upstream: the folders of the settled tables that it reads, by what `table_input` calls them.
        carried: the folder of the states that its intervals hand on.
    """

    topics: Sequence[SettledTopic]
    table: Folder
    cluster: Cluster
    staging: Folder
    report: Callable[[SettlingStatus], object] = lambda _status: None
    reported: Callable[[], SettlingStatus | None] = lambda: None
    upstream: Mapping[str, Folder] = field(default_factory=dict)
    carried: Folder | None = None

    @property
    def read(self) -> str:
        """The tables that it reads, in words."""
        return " and ".join(map(str, (*(topic.raw for topic in self.topics), *self.upstream.values())))


class SettleSink:
    """The foreachBatch function of a settled interval table.

    Args:
        code: the pipeline's.
        context: where it reads and writes.
        checkpoint: of the stream.
        table: the interval table, opened.
        spark: the session.
        generation: the attempt.
    """

    def __init__(
        self,
        code: PipelineCode,
        context: SettlingContext,
        checkpoint: Checkpoint,
        table: SettledLog,
        spark: SparkSession,
        *,
        generation: int,
    ) -> None:
        self._context = context
        self._spark = spark
        self._at_work = Lock()
        self._checkpoint = checkpoint
        self._table = table
        self._clock: Clock = SystemClock()
        self._identity = SettlerIdentity(settler_name(code.pipeline.name), generation, code.code_hash)
        self._code = code
        self._settler: Settler[CollectedRows | StagedRows] | None = None
        self._rules = SettlingRules.by_topic(code.pipeline)
        self._status = self._first_status()
        self._warned = SettlingStatus(self._status.at)
        self._given_up = False
        self._waits = False
        self.between_batches = PeriodicTask(self._settle_without_a_batch, self._seconds_without_a_batch, self._clock)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Wait until the raw tables hold the batch, then settle what is complete."""
        batch = planned_batch(self._checkpoint, batch_id)
        self._waits = True
        try:
            for topic in self._context.topics:
                self._await_raw(topic, Reach(own_offsets(batch.end.offsets, topic.kafka.name), (topic.kafka.topic_id,)))
        finally:
            self._waits = False
        with self._at_work:
            self._settle(rows.sparkSession)

    def _settle_without_a_batch(self) -> None:
        if self._at_work.acquire(blocking=False):  # a batch does it anyway
            try:
                self._settle(self._spark)
            finally:
                self._at_work.release()

    def _seconds_without_a_batch(self) -> float | None:
        """Return after how long something may be complete that no batch brings; None: nothing is."""
        if self._given_up:
            return None
        if self._status.advance is not None:
            return _DECISION_SECONDS
        lengths = [rules.idle for rules in self._rules.values() if rules.idle is not None]
        if not lengths:
            return None
        least, most = _SILENCE_SECONDS
        return max(least, min(min(lengths).total_seconds() / 10, most))

    def _settle(self, spark: SparkSession) -> None:
        if self._settler is None:  # kept from batch to batch: it knows what it has examined since its last commit
            self._settler = self._new_settler(spark)
        with _yielding(spark):
            self._settle_all(self._settler)

    def _settle_all(self, settler: Settler[CollectedRows | StagedRows]) -> None:
        done = self._round(settler)
        while done.outcome is not RoundOutcome.WAITING:
            self._refuse_if_given_up()
            if done.outcome is RoundOutcome.RAW_BEHIND:
                raise CorruptionError(
                    f"{self._context.read} hold the batch, and lack records that {self._context.table} was settled "
                    "from.",
                    fix="restore the table that is another one now; until then nothing is settled.",
                )
            done = self._round(settler)

    def give_up(self) -> None:
        """Let a batch end that waits for the raw table, or has more rounds to go: another driver runs it again."""
        self._given_up = True

    def waits(self) -> bool:
        """Return whether a batch waits for a raw table."""
        return self._waits

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns the table."""
        self._table.check_fence()

    def _first_status(self) -> SettlingStatus:
        """Return what was reported last, unless the log says otherwise: it is true also where nobody reported."""
        reported, state = self._context.reported(), self._table.read()
        status = status_of_log(state, self._rules, self._clock.now())
        if reported is not None and reported.settled_until == state.settled_until and reported.topic == status.topic:
            status = replace(reported, declared_disorder=status.declared_disorder, idle=status.idle)
        self._context.report(status)
        return status

    def _round(self, settler: Settler[CollectedRows | StagedRows]) -> Round:
        done = settler.round()
        self._status = status_after(self._status, done, self._rules, self._clock.now())
        self._context.report(self._status)
        self._warn(self._status)
        return done

    def _new_settler(self, spark: SparkSession) -> Settler[CollectedRows | StagedRows]:
        context = self._context
        staging = context.staging / f"{context.table.name}_{self._identity.generation}"
        raw = {topic.kafka.name: self._raw(spark, topic) for topic in context.topics}
        upstream = {name: self._upstream(spark, name) for name in context.upstream}
        sources: dict[str, RawTableSource | SettledTableSource] = {**raw, **upstream}
        continuation = None
        if context.carried is not None:
            continuation = settling_continuation(spark, self._code.carries, context.carried, context.table)
        computation = RawComputation(sources, self._code, staging, continuation=continuation)
        return Settler(
            self._identity,
            self._rules,
            sources,
            computation,
            self._table,
            clock=self._clock,
            nonce=lambda: uuid4().hex,
        )

    def _raw(self, spark: SparkSession, topic: SettledTopic) -> RawTableSource:
        name = topic.kafka.name
        return RawTableSource(
            spark,
            topic.raw,
            self._code.sources[name],
            self._rules[name],
            partial(self._ends, name),
            self._code.pipeline.intervals,
            settled=self._context.table,
            position=topic.position,
        )

    def _upstream(self, spark: SparkSession, name: str) -> SettledTableSource:
        table = UpstreamTable(spark, self._context.upstream[name], self._code.tables[name])
        return SettledTableSource(name, table, self._rules[name])

    def _ends(self, topic: str) -> Reach:
        with self._context.cluster() as cluster:
            return log_ends(cluster, topic)

    def _await_raw(self, topic: SettledTopic, target: Reach) -> None:
        position, deadline = raw_position(topic.raw), self._clock.monotonic() + _PATIENCE_SECONDS
        while not position.reach.covers(target):
            if (ended := topic.raw_ended()) is not None:
                raise UnreachableError(
                    f"the raw stream of {topic.kafka.name} has ended, and {topic.raw} lacks records "
                    "that are in the topic. Nothing is settled until it continues.",
                    fix="see why the raw stream has ended.",
                ) from ended
            if self._clock.monotonic() > deadline:
                raise UnreachableError(
                    f"{topic.raw} ends at {dict(position.reach.offsets)} and has not grown for "
                    f"{_PATIENCE_SECONDS:.0f} s; the topic has records up to {dict(target.offsets)}.",
                    fix=f"see why the raw stream of {topic.kafka.name} does not continue.",
                )
            self.check_fence()
            self._refuse_if_given_up()
            self._clock.sleep(_POLL_SECONDS)
            if has_commit_after(topic.raw, position.version):
                before, position = position, raw_position(topic.raw)
                if position.version != before.version:
                    deadline = self._clock.monotonic() + _PATIENCE_SECONDS

    def _refuse_if_given_up(self) -> None:
        if self._given_up:
            raise NotReadyError(
                f"the driver stops before {self._context.table.name} is settled as far as it could be.",
                fix="nothing: the next driver continues here.",
            )

    def _warn(self, status: SettlingStatus) -> None:
        """Log what holds the table back, and what the spec should say, once for each reason."""
        if status.advance is not None and self._warned.advance is None:
            log.warning(
                "arrival times beyond max_advance settle nothing until something bears them out",
                table=self._context.table.name,
                see=f"sluice intervals advance {self._code.pipeline.name}",
                settled_until=None if status.settled_until is None else status.settled_until.isoformat(),
            )
        if status.exceeds_disorder and not self._warned.exceeds_disorder:
            log.warning("arrival times are in greater disorder than declared", why=disorder_text(status))
        self._warned = status


@contextmanager
def _yielding(spark: SparkSession) -> Iterator[None]:
    """Let jobs of this thread yield to those of streams, above all to the raw stream that it settles from."""
    context = spark.sparkContext
    context.setLocalProperty(_POOL, "settling")
    try:
        yield
    finally:
        context.setLocalProperty(_POOL, "default")  # the thread may serve another query next


def prepare_settled(
    spark: SparkSession, code: PipelineCode, context: SettlingContext, *, epoch: EpochInForce, generation: int
) -> Prepared:
    """Return the stream that settles the intervals of a pipeline.

    Raises:
        SpecError: the transform cannot be loaded, or returns what the output cannot take.
    """
    output, topics = code.pipeline.intervals, [topic.kafka for topic in context.topics]
    streams = read_streams(spark, topics, start=epoch.start, most=code.pipeline.max_records_per_batch)
    nothing = {topic: spark.createDataFrame([], records.schema) for topic, records in streams.items()}
    nothing |= {name: spark.createDataFrame([], table.schema) for name, table in code.tables.items()}
    rows = result_rows(nothing, code)
    refuse_unwritable(rows, [output])
    refuse_unbounded(rows, nothing.values(), output)
    schema, column = rows.schema.json(), partition_column(output)
    ranges = _ranges(spark, streams, context.upstream)

    def opened() -> Opened:
        ensure_table(context.table, schema, partition_by=[column])
        beginning = _beginning(epoch.beginning, [topic.name for topic in topics])
        name, rules = settler_name(code.pipeline.name), SettlingRules.by_topic(code.pipeline)
        table = SettledLog(context.table, column, name, generation, rules, beginning=beginning)
        table.open()
        remove_folder(context.staging)  # of generations that are fenced now
        sink = SettleSink(code, context, Checkpoint(epoch.checkpoint), table, spark, generation=generation)
        return Opened(ranges, sink, between_batches=sink.between_batches, give_up=sink.give_up, waits=sink.waits)

    checks = (partial(refuse_unfit, context.table, schema, partition_by=[column]),)
    return Prepared(ranges, checks, opened, refuse_state=partial(_refuse_state, epoch.checkpoint, code.pipeline.name))


def _beginning(epoch: Epoch | None, topics: Sequence[str]) -> dict[str, Reach] | None:
    """Return what the pipeline never reads of each topic; None if that is nothing."""
    if epoch is None:
        return None
    return {
        topic: Reach(own_offsets(epoch.offsets, topic), (topic_id,))
        for topic, topic_id in zip(topics, epoch.topic_ids, strict=False)  # behind them are tables
    }


def _ranges(spark: SparkSession, streams: Mapping[str, DataFrame], upstream: Mapping[str, Folder]) -> DataFrame:
    """Return all that brings batches as one query, with a source of its own for each topic and table."""
    schema = next(iter(streams.values())).schema if streams else StructType([StructField("nothing", LongType())])
    versions = [version_stream(spark, name, folder, schema) for name, folder in upstream.items()]
    return reduce(DataFrame.unionByName, [*streams.values(), *versions])


def _refuse_state(checkpoint: Path, stream: str) -> None:
    if (checkpoint / "state").exists():
        raise IncompatibleStateError(
            f"{checkpoint} holds the state of other outputs, from when {stream} had no interval table.",
            fix=f"stop the unit and run `sluice streams reset` with `--stream {stream} --to earliest`: the interval "
            "table is computed from the raw table.",
        )
