"""A `sink` output: a batch's rows, given to a function of the project."""

from __future__ import annotations

import importlib
from dataclasses import replace

from pyspark.sql import DataFrame

from sluice.delta.writer_log import WriterLog
from sluice.errors import CorruptionError, NotReadyError, SpecError
from sluice.failpoints import failpoint
from sluice.intervals.entries import StreamEntry, from_json, to_json
from sluice.intervals.writers import of_all_epochs
from sluice.spark.sinks.own import OwnSink, SinkBatch
from sluice.spark.sinks.sink import LoggedOutput, MicroBatch, entry_for
from sluice.streams.position.fencing import FencedError

_PACKAGE = "sinks"


def load_sink(function: str) -> OwnSink:
    """Return what a spec names below `spark_jobs/sinks/`, as it is now.

    Raises:
        SpecError: it is not there, or declares no guarantee.
    """
    module, _, name = function.partition(":")
    try:
        found = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SpecError(f"the sink {function!r} cannot be loaded: {error}.", fix="run `sluice check`.") from error
    if not isinstance(found, OwnSink):
        raise SpecError(
            f"the sink {function!r} is a {type(found).__name__} that declares no guarantee.",
            fix='write `@delivers("at_least_once")` above it.',
        )
    return found


class LoggedSink(LoggedOutput):
    """A sink that is given each batch at least once. Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        name: of the output.
        sink: the function.
        log: of the table of deliveries, opened.
        connection: the URL that the output names.
        code_hash: of the code that makes the rows.
    """

    def __init__(self, name: str, sink: OwnSink, log: WriterLog, connection: str | None, code_hash: str) -> None:
        super().__init__(name, log, code_hash)
        self._sink = sink
        self._connection = connection

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Give the function a batch, then put it on record."""
        entry = self._entry(batch)
        before = None if self.latest is None else to_json(self.latest)
        given = _batch(self._log.writer, entry, batch, before, self._connection)
        self._log.check_fence()
        failpoint("before_write", self.name)
        self._sink.write(rows, given)
        failpoint("after_write_before_commit", self.name)
        self._log.record(entry, batch.version)


class TransactionalSink:
    """A sink that holds its own position. Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        name: of the output.
        sink: the function, and what returns the token that it holds.
        writer: the app id of the stream.
        generation: the attempt on whose behalf this process writes.
        connection: the URL that the output names.
        code_hash: of the code that makes the rows.
    """

    def __init__(
        self, name: str, sink: OwnSink, writer: str, generation: int, *, connection: str | None, code_hash: str
    ) -> None:
        self.name = name
        self.writer = writer
        self.generation = generation
        self._sink = sink
        self._connection = connection
        self._code_hash = code_hash
        self._token: str | None = None
        self.latest: StreamEntry | None = None
        """The newest batch that the sink holds, as of `open` and of every `write` since."""

    def open(self) -> None:
        """Ask the sink what it holds.

        Raises:
            FencedError: a newer generation has written to it.
            CorruptionError: its token is none.
        """
        self._token = self._stored()
        held = self._entry_of(self._token)
        self.latest = held if held is not None and held.writer == self.writer else None  # others: of older epochs

    def check_fence(self) -> None:
        """See `BatchOutput`.

        Raises:
            FencedError: a newer generation has written to it.
            NotReadyError: an older one has, since this one began.
        """
        if (stored := self._stored()) != self._token:
            self._entry_of(stored)
            raise NotReadyError(
                f"the sink {self.name} holds another batch than when this driver last asked: another one has written.",
                fix="nothing: this driver ends, and the next one goes on from what the sink holds.",
            )

    def expire(self) -> None:
        """Keep all: what was delivered stays."""

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Give the function a batch, and see that it holds it afterwards.

        Raises:
            CorruptionError: it does not: it declares what it does not do.
        """
        entry = replace(entry_for(batch, self), code=self._code_hash)
        given = _batch(self.writer, entry, batch, self._token, self._connection)
        self.check_fence()
        failpoint("before_write", self.name)
        self._sink.write(rows, given)
        failpoint("after_write_before_commit", self.name)
        if self._stored() != given.token:
            raise CorruptionError(
                f"the sink {self.name} declares exactly_once, and does not hold the token of the batch that it has "
                "just written: a crash here would repeat the batch.",
                fix="store `batch.token` in the transaction of the rows, and let `newest` return it.",
            )
        self._token, self.latest = given.token, entry

    def _stored(self) -> str | None:
        if self._sink.newest is None:  # `delivers` does not let it be
            raise CorruptionError(f"the sink {self.name} cannot say what it holds.")
        return self._sink.newest(of_all_epochs(self.writer), self._connection)

    def _entry_of(self, token: str | None) -> StreamEntry | None:
        entry = from_json(token)
        if token is not None and not isinstance(entry, StreamEntry):
            raise CorruptionError(
                f"the sink {self.name} returns a token that is none: {token!r:.200}.",
                fix="let `newest` return `batch.token` as it was stored, or None.",
            )
        if isinstance(entry, StreamEntry) and entry.generation > self.generation:
            raise FencedError.of(f"the sink {self.name}", entry.generation, self.generation)
        return entry if isinstance(entry, StreamEntry) else None


def _batch(writer: str, entry: StreamEntry, batch: MicroBatch, before: str | None, connection: str | None) -> SinkBatch:
    return SinkBatch(
        stream=of_all_epochs(writer),
        generation=entry.generation,
        position=batch.version,
        token=to_json(entry),
        after=before,
        first=batch.start,
        next=batch.end.offsets,
        connection=connection,
    )
