"""A `latest` output: a batch's rows, brought to the driver and merged into a store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from sluice.errors import RefusedError
from sluice.failpoints import failpoint, failpoint_when
from sluice.intervals.entries import StreamEntry
from sluice.live.store import Change, LatestStore, LatestTable, newest
from sluice.spark.sinks.collected import brought
from sluice.spark.sinks.sink import MicroBatch, entry_for


@dataclass(frozen=True)
class Expiry:
    """When rows go: with their windows.

    Attributes:
        window: length of the windows.
        delay: of the watermark.
    """

    window: timedelta
    delay: timedelta

    def expired_until(self, newest_start: datetime | None, watermark: datetime | None) -> datetime | None:
        """Return the newest start of a window that is closed; None if none is.

        Args:
            newest_start: of the windows in a batch: the next watermark is at least that, less the delay. Without this
                the first batch of a long topic would bring all its past to the table, and the next one remove it.
            watermark: of the batch.
        """
        closed = [] if watermark is None else [watermark]
        closed += [] if newest_start is None else [newest_start - self.delay]
        return max(closed) - self.window if closed else None


class LatestRows:
    """Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        table: what is kept.
        store: of the table, opened.
        expiry: when rows go; None: never.
        appeared: whether data of a batch are written and not committed, for a failpoint; None where that is unknown.
    """

    def __init__(
        self,
        table: LatestTable,
        store: LatestStore,
        expiry: Expiry | None,
        appeared: Callable[[], Callable[[], bool]] | None = None,
    ) -> None:
        self.name = table.name
        self._table = table
        self._store = store
        self._expiry = expiry
        self._appeared = appeared
        self._expired_until: datetime | None = None

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
        expired_until = self._newly_expired(found, batch.end.watermark)
        if self._expired_until is not None:
            starts = found.column(str(self._table.time_column))
            found = found.filter(pc.greater(starts, pa.scalar(self._expired_until, starts.type)))
        found = newest(found, self._table.keys, self._table.newest_by)
        if not (batch.has_input or found.num_rows or expired_until):
            return
        change = Change(found, entry_for(batch, self._store), batch.version, expired_until)
        failpoint("before_write", self.name)
        with failpoint_when("mid_write", self.name, self._appeared) if self._appeared else nullcontext():
            self._store.apply(change)
        failpoint("after_write_before_commit", self.name)

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

    def _newly_expired(self, found: pa.Table, watermark: datetime | None) -> datetime | None:
        """Return until when rows expire with this batch; None if no more do than before."""
        if self._expiry is None:
            return None
        newest_start = pc.max(found.column(str(self._table.time_column))).as_py()
        until = self._expiry.expired_until(newest_start, watermark)
        if until is None or (self._expired_until is not None and until <= self._expired_until):
            return None
        self._expired_until = until
        return until
