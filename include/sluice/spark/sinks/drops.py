"""Records that Spark drops although they are on time: found exactly, and put on record before the next batch.

Spark drops a record whose window the previous batch's watermark has passed; its own counter names no window. So the
stream observes which windows each batch touched, and a window that had ended by then was touched by a dropped record.
Every batch is accounted for before the next one does anything. A batch whose observation died with its driver is read
again, from exactly its offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

import structlog
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from sluice.delta.writer_log import WriterLog
from sluice.failpoints import failpoint
from sluice.intervals.alignment import interval_of
from sluice.intervals.entries import DirtyEntry
from sluice.intervals.reach import covers
from sluice.intervals.writers import count_alike
from sluice.spark.records.instants import instant
from sluice.spark.sinks.sink import MicroBatch, planned_batch
from sluice.specs.model.outputs import IntervalsOutput
from sluice.streams.position.checkpoint import Checkpoint

log = structlog.get_logger()

_SEEN, _WINDOWS = "seen", "windows"


def observed(good: DataFrame, event_time: str, window: timedelta) -> DataFrame:
    """Let every batch of a stream report the windows that its good records touch.

    Args:
        good: what the transform is given: behind the watermark, without late records and heartbeats.
        event_time: the column with the records' event time.
        window: length of the windows.
    """
    return good.observe(_SEEN, F.collect_set(_window_start(event_time, window)).alias(_WINDOWS))


def windows_of(good: DataFrame, event_time: str, window: timedelta) -> set[datetime]:
    """Return the starts of the windows that these records touch; the arguments are those of `observed`."""
    rows = good.select(_window_start(event_time, window).alias(_WINDOWS)).distinct().collect()
    return _instants(row[_WINDOWS] for row in rows)


@dataclass(frozen=True)
class Before:
    """What an earlier lineage, in any epoch, has left in the table.

    Attributes:
        watermark: of the windows that end by then, nothing more is published.
        end: the next offsets that it has read; None if they count in another topic, of which nothing is read again.
    """

    watermark: datetime
    end: Mapping[str, int] | None

    def read_whole(self, batch: MicroBatch) -> bool:
        """Whether all that the batch reads was read then."""
        return self.end is not None and covers(self.end, batch.end.offsets)

    def beyond(self, batch: MicroBatch) -> MicroBatch:
        """Return the part of the batch that was not read then; the batch itself if that is all of it."""
        if self.end is None or covers(batch.start, self.end):
            return batch
        ends = batch.end.offsets
        start = {part: min(end, max(batch.start.get(part, 0), self.end.get(part, 0))) for part, end in ends.items()}
        return replace(batch, start=start)


def dropped_windows(
    seen: Iterable[datetime], beyond: Iterable[datetime], batch: MicroBatch, window: timedelta, before: Before | None
) -> list[datetime]:
    """Return the starts of the windows that lack records of a batch, in order.

    Spark drops a record whose window has ended by the watermark of the batch before. A lineage that follows another
    drops fewer, but what it makes of windows that the other has closed is not published; of what both read, those
    windows lack nothing.

    Args:
        seen: the starts of the windows that the batch touched.
        beyond: those that records touched which no earlier lineage has read.
        batch: which one it is.
        window: length of the windows.
        before: what an earlier lineage has left; None without one.
    """
    dropped = {start for start in seen if batch.drops_until is not None and start + window <= batch.drops_until}
    if before is None:
        return sorted(dropped)
    unpublished = {start for start in beyond if start + window <= before.watermark}
    return sorted(unpublished | {start for start in dropped if start + window > before.watermark})


def _before(checkpoint: Checkpoint, writer: WriterLog) -> Before | None:
    """Return what was before the lineage of a checkpoint; None if nothing was that had closed a window."""
    lineage, committed = checkpoint.lineage(), checkpoint.newest_committed()
    newest = writer.newest_before(lineage, committed.batch_id if committed else 0)
    if newest is None or newest.watermark is None or newest.lineage == lineage:
        return None
    return Before(newest.watermark, newest.end if count_alike(newest.writer, writer.writer) else None)


class Drops:
    """The account of one stream's drops. Batches and the driver's own thread settle it at once.

    Args:
        output: of the pipeline.
        checkpoint: of the stream.
        writer: the table's log, opened.
        read_again: returns the windows that the good records of a batch touch, from its offsets.
    """

    def __init__(
        self,
        output: IntervalsOutput,
        checkpoint: Checkpoint,
        writer: WriterLog,
        read_again: Callable[[MicroBatch], set[datetime]],
    ) -> None:
        self._output = output
        self._checkpoint = checkpoint
        self._writer = writer
        self._read_again = read_again
        self._before = _before(checkpoint, writer)
        self._query: StreamingQuery | None = None
        self._settled = -1
        self._lock = Lock()

    def watch(self, query: StreamingQuery) -> None:
        """Take the observations of this query from now on."""
        self._query = query

    def settle_newest(self) -> None:
        """Settle the newest committed batch, whichever attempt ran it."""
        newest = self._checkpoint.newest_committed()
        if newest is not None:
            self.settle(newest.batch_id)

    def settle_reported(self, progress: StreamingQueryProgress) -> None:
        """Settle the batch that was just reported, so that an idle stream is accounted for as well."""
        if _SEEN in progress.observedMetrics:  # an idle stream reports too
            self.settle(progress.batchId)

    def settle(self, batch_id: int) -> None:
        """Put on record what a batch dropped, unless that is done; the batches before it are settled.

        Raises:
            FencedError: a newer generation owns the table.
        """
        with self._lock:
            if batch_id <= self._settled:
                return
            batch = planned_batch(self._checkpoint, batch_id)
            known_whole = self._before is None or self._before.read_whole(batch)
            if batch.has_input and (batch.drops_until is not None or not known_whole):
                self._account(batch)
            self._settled = batch_id

    def _account(self, batch: MicroBatch) -> None:
        before = self._before
        reported = self._reported(batch.batch_id)
        seen = self._read_again(batch) if reported is None else reported
        beyond: set[datetime] = set()
        if before is not None and not before.read_whole(batch):
            rest = before.beyond(batch)
            beyond = seen if rest is batch else self._read_again(rest)
        windows = dropped_windows(seen, beyond, batch, self._output.tumbling_window, before)
        if not windows:
            return
        length = self._output.interval_length
        intervals = sorted({interval_of(start, length).start for start in windows})
        why = f"batch {batch.batch_id} of lineage {batch.lineage} dropped records of {len(windows)} closed windows"
        entry = DirtyEntry(
            writer=self._writer.writer,
            generation=self._writer.generation,
            batch_id=batch.batch_id,
            end=batch.end.offsets,
            intervals=tuple(intervals),
            why=why,
        )
        failpoint("before_mark", self._output.table)
        self._writer.mark_dirty(entry)
        log.warning("records dropped at the watermark", why=why, intervals=[f"{start:%FT%RZ}" for start in intervals])

    def _reported(self, batch_id: int) -> set[datetime] | None:
        """Return the windows that a batch reported; None if this process knows of no such report."""
        if self._query is None:
            return None
        newest = self._query.lastProgress
        if newest is None:
            return None
        recent = [newest] if newest.batchId == batch_id else self._query.recentProgress
        for progress in recent:
            if progress.batchId == batch_id and _SEEN in progress.observedMetrics:
                return _instants(progress.observedMetrics[_SEEN][_WINDOWS])
        return None


def _window_start(event_time: str, window: timedelta) -> Column:
    """In microseconds; see `sluice.spark.records.instants`."""
    time, length = F.unix_micros(event_time), F.lit(window // timedelta(microseconds=1))
    return time - F.pmod(time, length)


def _instants(microseconds: Iterable[int]) -> set[datetime]:
    return set(map(instant, microseconds))
