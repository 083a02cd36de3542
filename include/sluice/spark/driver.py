"""The life of a driver: start the unit's streams, keep them going, stop them between batches when asked.

One driver couples its streams: when one fails, all end, and the exit code and the driver's last words say why. Only one
that its circuit breaker stops ends alone: the raw stream beside it must keep what comes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from sluice.clock import Clock, SystemClock
from sluice.quality.breaker import SchemaDriftError
from sluice.spark.drops import Drops
from sluice.spark.last_words import LastWords
from sluice.spark.progress import ProgressFile
from sluice.spark.stopping import StopRequest
from sluice.streams.checkpoint import location
from sluice.streams.exits import ExitCode
from sluice.streams.failure import FailureClass
from sluice.streams.fencing import FencedError

log = structlog.get_logger()

_POLL_SECONDS = 0.25
_DRAIN_SECONDS = 60.0


def _unowned() -> None:
    """Nobody asks whose this output is but its own commits."""


@dataclass(frozen=True)
class Stream:
    """A stream that is ready to start.

    Attributes:
        name: the stream's name; also the query's name.
        rows: what to write.
        sink: the foreachBatch function; whatever it raises ends the driver.
        checkpoint: the checkpoint folder.
        trigger_seconds: least time between two micro-batches.
        drops: the account of what the stream drops; None where nobody keeps one.
        output_mode: `append` or `update`, as Spark calls it.
        check_fence: raises FencedError if a newer generation owns what it writes.
    """

    name: str
    rows: DataFrame
    sink: Callable[[DataFrame, int], None]
    checkpoint: Path
    trigger_seconds: float
    drops: Drops | None = None
    output_mode: str = "append"
    check_fence: Callable[[], None] = _unowned


class Driver:
    """Runs the streams of one unit in this process: started in their order, ended together."""

    def __init__(
        self,
        streams: Sequence[Stream],
        progress: Mapping[str, ProgressFile],
        *,
        stop: StopRequest | None = None,
        last_words: LastWords | None = None,
        look: Callable[[], bool] = lambda: True,
    ) -> None:
        self._streams = streams
        self._look = look
        self._progress = progress
        self._last_words = last_words or LastWords()
        self._stop = stop or StopRequest()
        self._interrupting = False
        self._failure: tuple[Exception, str] | None = None
        self._drifted: dict[str, SchemaDriftError] = {}

    def run(self, *, available_now: bool = False, clock: Clock | None = None) -> ExitCode:
        """Start all streams and return when they have ended.

        Args:
            available_now: read what is there now, then end.
            clock: injected by tests.
        """
        clock = clock or SystemClock()
        queries = [self._start(stream, available_now=available_now) for stream in self._streams]
        while not self._stop.asked and self._failure is None and self._alive(queries, available_now=available_now):
            clock.sleep(_POLL_SECONDS)
            self._report(queries)
        self._drain(queries, clock)
        self._report(queries)
        return self._outcome(queries)

    def _report(self, queries: list[StreamingQuery]) -> None:
        self._look()
        for stream, query in zip(self._streams, queries, strict=True):
            progress = query.lastProgress
            if progress is None:
                continue
            if stream.name in self._progress:
                self._progress[stream.name].update(progress)
            if stream.drops is not None:
                self._guarded(partial(stream.drops.settle_reported, progress), stream.name)

    def _guarded(self, action: Callable[[], None], stream: str) -> None:
        """Keep the first error: it ends the driver, and its last words say which."""
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other streams must still drain
            self._failure = self._failure or (error, stream)

    def _start(self, stream: Stream, *, available_now: bool) -> StreamingQuery:
        writer = (
            stream.rows.writeStream.queryName(stream.name)
            .outputMode(stream.output_mode)
            .option("checkpointLocation", location(stream.checkpoint))
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
                stream.check_fence()
                stream.sink(rows, batch_id)
                stream.check_fence()  # who slept in the middle of a batch must not end it: the newer driver does
            except SchemaDriftError as drift:
                self._tell_drift(stream, drift)
                raise
            except Exception as error:
                # Spark wraps what a sink raises in its own words. What a stop interrupts is no failure.
                if not self._interrupting:
                    self._failure = self._failure or (error, stream.name)
                raise

        return run_batch

    def _tell_drift(self, stream: Stream, drift: SchemaDriftError) -> None:
        """Let one stream end; the driver itself has last words when it ends."""
        self._drifted[stream.name] = drift
        log.error("stream stops", stream=stream.name, failure=FailureClass.SCHEMA_DRIFT.value, why=str(drift))
        if stream.name in self._progress:
            self._progress[stream.name].end(self._last_words.words(drift, stream.name))

    def _alive(self, queries: list[StreamingQuery], *, available_now: bool) -> bool:
        """Whether the driver has reason to go on: bounded streams end one by one, endless ones together."""
        seen = [(query.name, query.isActive, query.exception()) for query in queries]
        # Only now: what drifts is known before its query ends, so that none that was seen to end is missing here.
        left = [(active, error) for name, active, error in seen if name not in self._drifted]
        if any(error is not None for _, error in left):
            return False
        active = [active for active, _ in left]
        return any(active) and (available_now or all(active))

    def _drain(self, queries: list[StreamingQuery], clock: Clock) -> None:
        """Let running batches finish, then stop. What a stop still interrupts is replayed at the next start."""
        deadline = clock.monotonic() + _DRAIN_SECONDS
        while any(q.isActive and q.status["isTriggerActive"] for q in queries) and clock.monotonic() < deadline:
            if not self._look():
                break  # nobody is left who could finish it
            clock.sleep(0.05)
        self._interrupting = True
        for query in queries:
            query.stop()

    def _outcome(self, queries: list[StreamingQuery]) -> ExitCode:
        left = [query for query in queries if query.name not in self._drifted]
        ends = ((exception, query.name) for query in left if (exception := query.exception()) is not None)
        failure = self._failure or next(ends, None)
        if failure is not None:
            return self._last_words.leave(*(self._fenced() or failure))
        if self._drifted and not self._stop.asked:
            stream, drift = next(iter(self._drifted.items()))
            return self._last_words.leave(drift, stream)
        log.info("driver ends", why="stopped as asked" if self._stop.asked else "read all there was")
        return ExitCode.STOPPED

    def _fenced(self) -> tuple[Exception, str] | None:
        """Return that a newer generation is here: whatever a fenced driver stumbles over, this is why it ends.

        Two drivers on one checkpoint race for its plans too, and there the newer one may lose to one that just woke up.
        """
        for stream in self._streams:
            try:
                stream.check_fence()
            except FencedError as fenced:
                return fenced, stream.name
            except Exception:  # what cannot be looked at explains nothing
                log.warning("the fence could not be looked at", stream=stream.name, exc_info=True)
        return None
