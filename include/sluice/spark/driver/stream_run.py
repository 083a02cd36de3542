"""One stream of a driver as it runs: its query, why that ended, and when it is started again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sluice.clock import Clock
from sluice.errors import NotReadyError
from sluice.kafka.client.stream_options import KAFKA_SMALL_BATCHES
from sluice.observability.logs import get_logger
from sluice.spark.driver.progress import ProgressFile
from sluice.spark.session.preset import SMALL_BATCHES
from sluice.spark.session.session import settings_for
from sluice.spark.sinks.preparation import DirectSink
from sluice.streams.failures.failure import Failure
from sluice.streams.life.governor import chance
from sluice.streams.life.retrying import StreamEnd, again_at
from sluice.streams.position.checkpoint import location

log = get_logger()


def _undeclared(spark: SparkSession, preset: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that no spec has given to the session."""
    declared = spark.sparkContext.getConf()
    return {name: value for name, value in preset.items() if not declared.contains(name)}


def _read_something(progress: StreamingQueryProgress) -> bool:
    """Return whether a trigger had anything to read. A settler's batches have no rows, and move its offsets."""
    return progress.numInputRows > 0 or any(source.startOffset != source.endOffset for source in progress.sources)


def _unowned() -> None:
    """Only its own commits ask who owns this output."""


@dataclass(frozen=True)
class Stream:
    """A stream that is ready to start.

    Attributes:
        name: the stream's name; also the query's name.
        rows: what to write.
        sink: the foreachBatch function, and whatever it raises ends the stream; or Spark's own sink.
        checkpoint: the checkpoint folder.
        trigger_seconds: least time between two micro-batches; in real time how long a batch lasts.
        output_mode: `append` or `update`, as Spark calls it.
        between_batches: what its outputs have to do beside batches; called often, also while a batch runs.
        give_up: lets a batch end that waits for something, because the driver stops.
        waits: whether its batch waits for another stream.
        ended: is given why it has failed, if the driver reads only what is there now and does not start it again.
        check_fence: raises FencedError if a newer generation owns what it writes.
        opened_again: returns it with its outputs read again, as a second start in the same driver needs them; None: it
            is not started a second time.
    """

    name: str
    rows: DataFrame
    sink: Callable[[DataFrame, int], None] | DirectSink
    checkpoint: Path
    trigger_seconds: float
    output_mode: str = "append"
    between_batches: Callable[[], None] = lambda: None
    give_up: Callable[[], None] = lambda: None
    waits: Callable[[], bool] = lambda: False
    ended: Callable[[Exception], None] = lambda _: None
    check_fence: Callable[[], None] = _unowned
    opened_again: Callable[[], Stream] | None = None


class StreamRun:
    """Runs one stream, again and again if need be.

    Args:
        stream: which.
        progress: where it is told how it goes; None: nowhere.
        available_now: whether it reads what is there now, then ends.
        clock: gives the time.
    """

    def __init__(self, stream: Stream, progress: ProgressFile | None, *, available_now: bool, clock: Clock) -> None:
        self.stream = stream
        self.failure: Failure | None = None
        """Why it has ended alone; None while it runs."""
        self.at_rest = False
        """Whether the newest that Spark says is that there was nothing to read."""
        self._progress = progress
        self._available_now = available_now
        self._clock = clock
        self._query: StreamingQuery | None = None
        self._raised: Exception | None = None
        self._interrupted = False
        self._begins_no_other = False
        self._newest: StreamingQueryProgress | None = None
        self._began_at = clock.now()
        self._ends: list[StreamEnd] = []
        self._again_at: datetime | None = None
        self._completed = False

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.stream.name

    @property
    def in_real_time(self) -> bool:
        """Whether Spark hands on each record by itself: a batch always runs."""
        return isinstance(self.stream.sink, DirectSink) and self.stream.sink.in_real_time

    @property
    def active(self) -> bool:
        """Whether its query runs."""
        return self._query is not None and bool(self._query.isActive)

    @property
    def idle(self) -> bool:
        """Whether it runs and has nothing to read: while a batch runs, the newest progress is of a time before it."""
        query = self._query
        return self.at_rest and query is not None and query.isActive and not query.status["isDataAvailable"]

    @property
    def raised(self) -> bool:
        """Whether a batch of it has raised, and that is not dealt with yet; costs no check of the JVM."""
        return self._raised is not None and self.failure is None

    @property
    def busy(self) -> bool:
        """Whether a batch runs whose end is worth waiting for."""
        return (
            not self.in_real_time
            and self._query is not None
            and self.active
            and bool(self._query.status["isTriggerActive"])
        )

    @property
    def error(self) -> Exception | None:
        """What ended its query; None if nothing did, or a stop. Asked only once the query is not active any more."""
        if self._raised is not None:  # in our own words: Spark wraps what a sink raises
            return self._raised
        return None if self._query is None or self._interrupted else self._query.exception()

    def start(self) -> None:
        """Start its query."""
        stream, self._raised, self._interrupted, self._began_at = self.stream, None, False, self._clock.now()
        writer = (
            stream.rows.writeStream.queryName(stream.name)
            .outputMode(stream.output_mode)
            .option("checkpointLocation", location(stream.checkpoint))
        )
        log.info("stream starts", stream=stream.name, checkpoint=str(stream.checkpoint))
        ready = self._triggered(self._written(writer))
        if self._small:
            with settings_for(stream.rows.sparkSession, _undeclared(stream.rows.sparkSession, SMALL_BATCHES)):
                self._query = ready.start()
        else:
            self._query = ready.start()

    @property
    def _small(self) -> bool:
        """Whether its batches follow one another at once, by Spark's own sink."""
        return isinstance(self.stream.sink, DirectSink) and not self.in_real_time and not self._available_now

    def _written(self, writer: DataStreamWriter) -> DataStreamWriter:
        sink = self.stream.sink
        if isinstance(sink, DirectSink):
            return writer.format("kafka").options(**sink.options, **(KAFKA_SMALL_BATCHES if self._small else {}))
        return writer.foreachBatch(self._sink(sink))

    def _triggered(self, writer: DataStreamWriter) -> DataStreamWriter:
        if self._available_now:
            return writer.trigger(availableNow=True)
        length = f"{self.stream.trigger_seconds} seconds"
        if self.in_real_time:
            return cast(DataStreamWriter, writer.trigger(realTime=length))  # type: ignore[call-overload]  # not in its types
        return writer.trigger(processingTime=length)

    def start_again_if_due(self) -> None:
        """Start a stream again that has ended alone, if it is time. What fails at that is another end of it."""
        if self.failure is None or self._again_at is None or self._clock.now() < self._again_at:
            return
        self.failure, self._again_at, self._query = None, None, None
        self._began_at = self._clock.now()  # an opening that fails is a life of its own, and a short one
        try:
            if self.stream.opened_again is not None:
                self.stream = self.stream.opened_again()
            self.start()
        except Exception as error:  # noqa: BLE001 - the others go on
            self._raised = error
            return
        if self._progress is not None:
            self._progress.go_on()

    def end_alone(self, failure: Failure) -> None:
        """Let it end while others go on, say so, and see whether it is started again by itself."""
        error = self.error
        self.interrupt()
        self._ends.append(StreamEnd(failure.kind, self._began_at, self._clock.now()))
        bounded = self._available_now or self.stream.opened_again is None
        self._again_at = None if bounded else again_at(self._ends, chance(f"{self.name}{len(self._ends)}"))
        self.failure = replace(failure, again_at=self._again_at)
        if self._available_now and error is not None:
            self.stream.ended(error)
        log.error(
            "stream stops",
            stream=self.name,
            failure=failure.kind.value,
            why=str(failure),
            again_at=None if self._again_at is None else self._again_at.isoformat(timespec="seconds"),
        )
        if self._progress is not None:
            self._progress.end(self.failure)

    def begin_no_other(self) -> None:
        """Let the batch that may run be its last one: what comes behind it is for the next driver."""
        self._begins_no_other = True
        self._newest = None if self._query is None else self._query.lastProgress

    def finished(self) -> bool:
        """Stop it once its last batch is over; return whether that is so.

        Spark's own sink asks nobody before a batch: the next one may have begun, and is replayed.
        """
        if self.busy and self._query is not None and self._query.lastProgress == self._newest:
            return False
        self.interrupt()
        return True

    def give_up(self) -> None:
        """Let its batch end, if that waits for something. From now on nothing that ends it is a failure."""
        if self._query is not None and not self.active:
            self._raised = self.error
        self._interrupted = True
        self.stream.give_up()

    def interrupt(self) -> None:
        """Stop its query, if there is one. What a stop interrupts is no failure, and is replayed at the next start."""
        self.give_up()  # Spark interrupts no Python code: a batch that waits there has to end by itself
        if self._query is None:
            return
        try:
            self._query.stop()
        except Exception:  # Spark waits for its batch for a minute: the others go on, and it ends when that does
            log.warning("the batch of a stopped stream has not ended yet", stream=self.name, exc_info=True)

    def report(self) -> None:
        """Report how it goes, and let outputs do what they have to beside batches; a failure of that ends it."""
        if self._query is None or self.failure is not None:
            return
        progress = self._query.lastProgress
        self.at_rest = progress is not None and not _read_something(progress)
        if progress is None and not self.in_real_time:
            return
        if self._progress is not None and progress is not None:
            self._progress.update(progress)
        self._report_completion()
        try:
            self.stream.between_batches()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            self._fail_by(error)

    def _fail_by(self, error: Exception) -> None:
        if not self._interrupted:
            self._raised = self._raised or error

    def _report_completion(self) -> None:
        """Report once that what was there is read: what comes since then is for the next driver."""
        if not self._available_now or self._completed or self.active or self.error is not None:
            return
        self._completed = not self._interrupted
        if self._completed and self._progress is not None:
            self._progress.complete(self._clock.now())

    @property
    def failed(self) -> bool:
        """Whether it has failed, and that is not dealt with yet."""
        if self.failure is not None:
            return False
        return self._raised is not None if self.active or self._query is None else self.error is not None

    def _sink(self, sink: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        stream = self.stream

        def run_batch(rows: DataFrame, batch_id: int) -> None:
            if self._begins_no_other:
                self._interrupted = True
                raise NotReadyError(
                    f"the driver stops before batch {batch_id}.", fix="nothing: the next driver runs it."
                )
            try:
                stream.check_fence()
                sink(rows, batch_id)
                stream.check_fence()  # who slept in the middle of a batch must not end it: the newer driver does
            except Exception as error:
                self._fail_by(error)
                raise

        return run_batch
