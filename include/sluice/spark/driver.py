"""The life of a driver: start the unit's streams, keep them going, stop them between batches when asked.

One driver couples its streams: when one fails, all end, and the exit code says why.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import structlog
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from sluice.clock import Clock, SystemClock
from sluice.delta.writer_log import DataLossError, FencedError
from sluice.errors import CorruptionError, SluiceError, SpecError
from sluice.spark.drops import Drops
from sluice.spark.progress import ProgressFile
from sluice.streams.exits import ExitCode

log = structlog.get_logger()

_POLL_SECONDS = 0.25
_DRAIN_SECONDS = 60.0


@dataclass(frozen=True)
class Stream:
    """A stream that is ready to start.

    Attributes:
        name: the stream's name; also the query's name.
        rows: what to write.
        sink: the foreachBatch function; it raises SluiceError to end the driver.
        checkpoint: the checkpoint folder.
        trigger_seconds: least time between two micro-batches.
        drops: the account of what the stream drops; None for one without state.
    """

    name: str
    rows: DataFrame
    sink: Callable[[DataFrame, int], None]
    checkpoint: Path
    trigger_seconds: float
    drops: Drops | None = None


class Driver:
    """Runs the streams of one unit in this process: started in their order, ended together."""

    def __init__(self, streams: Sequence[Stream], progress: Mapping[str, ProgressFile]) -> None:
        self._streams = streams
        self._progress = progress
        self._stop_asked = False
        self._failure: SluiceError | None = None

    def ask_to_stop(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """Signal handler: only sets a flag, because calling Spark from a handler breaks its gateway."""
        self._stop_asked = True

    def run(self, *, available_now: bool = False, clock: Clock | None = None) -> ExitCode:
        """Start all streams and return when they have ended.

        Args:
            available_now: read what is there now, then end.
            clock: injected by tests.
        """
        clock = clock or SystemClock()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask_to_stop)
        queries = [self._start(stream, available_now=available_now) for stream in self._streams]
        while not self._stop_asked and self._failure is None and _alive(queries, available_now=available_now):
            clock.sleep(_POLL_SECONDS)
            self._report(queries)
        self._drain(queries, clock)
        self._report(queries)
        return self._outcome(queries)

    def _report(self, queries: list[StreamingQuery]) -> None:
        for stream, query in zip(self._streams, queries, strict=True):
            progress = query.lastProgress
            if progress is None:
                continue
            if stream.name in self._progress:
                self._progress[stream.name].update(progress)
            if stream.drops is not None:
                self._guarded(partial(stream.drops.settle_reported, progress))

    def _guarded(self, action: Callable[[], None]) -> None:
        """Keep the first of our own errors: it ends the driver, and the exit code says which."""
        try:
            action()
        except SluiceError as error:
            self._failure = self._failure or error

    def _start(self, stream: Stream, *, available_now: bool) -> StreamingQuery:
        writer = (
            stream.rows.writeStream.queryName(stream.name)
            .outputMode("append")
            .option("checkpointLocation", str(stream.checkpoint))
            .foreachBatch(self._sink(stream))
        )
        trigger = (
            writer.trigger(availableNow=True)
            if available_now
            else writer.trigger(processingTime=f"{stream.trigger_seconds} seconds")
        )
        log.info("stream starts", stream=stream.name, checkpoint=str(stream.checkpoint))
        query = trigger.start()
        if stream.drops is not None:
            stream.drops.watch(query)
        return query

    def _sink(self, stream: Stream) -> Callable[[DataFrame, int], None]:
        def run_batch(rows: DataFrame, batch_id: int) -> None:
            try:
                stream.sink(rows, batch_id)
            except SluiceError as error:
                # Spark wraps what a sink raises in its own words; ours are kept for the exit code.
                self._failure = self._failure or error
                raise

        return run_batch

    def _drain(self, queries: list[StreamingQuery], clock: Clock) -> None:
        """Let running batches finish, then stop. What a stop still interrupts is replayed at the next start."""
        deadline = clock.monotonic() + _DRAIN_SECONDS
        while any(q.isActive and q.status["isTriggerActive"] for q in queries) and clock.monotonic() < deadline:
            clock.sleep(0.05)
        for query in queries:
            query.stop()

    def _outcome(self, queries: list[StreamingQuery]) -> ExitCode:
        if self._failure is not None:
            log.error("driver ends", why=str(self._failure))
            return exit_code(self._failure)
        for query in queries:
            if (exception := query.exception()) is not None:
                log.error("driver ends", stream=query.name, why=str(exception))
                return _spark_exit_code(str(exception))
        log.info("driver ends", why="stopped as asked" if self._stop_asked else "read all there was")
        return ExitCode.STOPPED


def exit_code(error: SluiceError) -> ExitCode:
    """Return the exit code that keeps an error's class."""
    match error:
        case FencedError():
            return ExitCode.FENCED
        case DataLossError():
            return ExitCode.DATA_LOSS
        case CorruptionError():
            return ExitCode.CORRUPT
        case SpecError():
            return ExitCode.WRONG_SPEC
        case _:
            return ExitCode.FAILED


_SPARK_CLASSES = {
    "CONCURRENT_STREAM_LOG_UPDATE": ExitCode.FENCED,
    "ConcurrentTransactionException": ExitCode.FENCED,
    "Some data may have been lost": ExitCode.DATA_LOSS,
    "offset was changed from": ExitCode.DATA_LOSS,
    "MISSING_METADATA_FILE": ExitCode.CORRUPT,
    "Incomplete log file": ExitCode.CORRUPT,
}


def _spark_exit_code(message: str) -> ExitCode:
    return next((code for text, code in _SPARK_CLASSES.items() if text in message), ExitCode.FAILED)


def _alive(queries: list[StreamingQuery], *, available_now: bool) -> bool:
    """Whether the driver has reason to go on: bounded streams end one by one, endless ones together."""
    failed = any(query.exception() is not None for query in queries)
    active = [query.isActive for query in queries]
    return not failed and (any(active) if available_now else all(active))
