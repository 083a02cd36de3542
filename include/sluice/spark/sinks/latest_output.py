"""A `latest` output: a batch's rows, brought to the driver and merged into a store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from sluice.errors import RefusedError
from sluice.failpoints import failpoint, failpoint_when
from sluice.intervals.entries import StreamEntry
from sluice.live.store import Change, LatestStore, LatestTable, newest
from sluice.spark.sinks.collected import brought
from sluice.spark.sinks.sink import MicroBatch, entry_for

_NEVER, _ALWAYS = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class OpenWindows:
    """Which rows of a table are provisional: those that the interval table does not hold yet.

    Attributes:
        settled_until: returns up to when the interval table is settled; None before its first interval.
        window: length of the windows; None if they have no fixed one.
        delay: of the watermark.
    """

    settled_until: Callable[[], datetime | None]
    window: timedelta | None
    delay: timedelta

    def of(self, rows: pa.Table, column: str, watermark: datetime | None, held: datetime) -> pa.Table:
        """Return the rows of a batch that may come to the table.

        A window that the stream itself has closed does not come anew: without this the first batch of a long topic
        would bring all its past, to be removed when it is settled. One that the table holds gets its last value.

        Args:
            rows: of the batch.
            column: with the windows' starts.
            watermark: of the batch. The next one is at least the newest start less the delay.
            held: the newest start that the table may hold.
        """
        starts = rows.column(column)
        newest = pc.max(starts).as_py()
        closed = [moment for moment in (watermark, newest and newest - self.delay) if moment is not None]
        if self.window is not None and closed:
            is_open = pc.greater(starts, pa.scalar(max(closed) - self.window, starts.type))
            rows = rows.filter(pc.or_(is_open, pc.less_equal(starts, pa.scalar(held, starts.type))))
        settled = self.settled_until()
        if settled is None:
            return rows
        return rows.filter(pc.greater_equal(rows.column(column), pa.scalar(settled, starts.type)))


class LatestRows:
    """Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        table: what is kept.
        store: of the table, opened.
        open_windows: which rows are kept; None: all.
        appeared: whether data of a batch are written and not committed, for a failpoint; None where that is unknown.
    """

    def __init__(
        self,
        table: LatestTable,
        store: LatestStore,
        open_windows: OpenWindows | None,
        appeared: Callable[[], Callable[[], bool]] | None = None,
    ) -> None:
        self.name = table.name
        self._table = table
        self._store = store
        self._open = open_windows
        self._appeared = appeared
        self._expired_before: datetime | None = None
        self._held: datetime | None = None

    @property
    def latest(self) -> StreamEntry | None:
        """The newest batch in the table."""
        return self._store.latest

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns it."""
        self._store.check_fence()

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Merge a batch. One that changes nothing and read nothing leaves no trace."""
        found = self._brought(rows)
        if self._open is not None:
            found = self._kept(found, batch, self._open)
        found = newest(found, self._table.keys, self._table.newest_by)
        if batch.has_input or found.num_rows:
            change = Change(found, entry_for(batch, self._store), batch.version)
            failpoint("before_write", self.name)
            with failpoint_when("mid_write", self.name, self._appeared) if self._appeared else nullcontext():
                self._store.apply(change)
            failpoint("after_write_before_commit", self.name)
        self.expire()

    def expire(self) -> None:
        """Remove the rows that the interval table holds by now."""
        settled = None if self._open is None else self._open.settled_until()
        if settled is not None and settled != self._expired_before and self._store.latest is not None:
            self._store.expire(settled)
            self._expired_before = settled

    def _kept(self, rows: pa.Table, batch: MicroBatch, windows: OpenWindows) -> pa.Table:
        """Return the rows that may come to the table; of one that was filled before, in any epoch, any may be held."""
        column = str(self._table.time_column)
        held = self._held or (_ALWAYS if self._store.filled else _NEVER)
        kept = windows.of(rows, column, batch.end.watermark, held)
        self._held = max(held, pc.max(kept.column(column)).as_py() or held)
        return kept

    def _brought(self, rows: DataFrame) -> pa.Table:
        found = brought(rows)
        if found is None:
            limit = rows.sparkSession.conf.get("spark.driver.maxResultSize")
            raise RefusedError(
                f"the rows of a batch for {self.name} do not fit into the driver: they take more than "
                f"spark.driver.maxResultSize ({limit}). Nothing of the batch was written.",
                fix="raise it under `spark` in the pipeline's spec (0: no limit), and `driver_memory` under "
                "`resources`; `max_records_per_batch` keeps later batches smaller.",
            )
        return found
