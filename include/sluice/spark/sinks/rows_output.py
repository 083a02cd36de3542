"""A `rows` output: what a transform without state makes of each record, appended once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame

from sluice.delta.writer_log import WriterLog
from sluice.intervals.entries import StreamEntry
from sluice.spark.sinks.sink import MicroBatch, append, entry_for


class RowsTable:
    """Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        folder: of the table, which exists.
        log: of the table, opened.
        code_hash: of the code that makes the rows.
    """

    def __init__(self, folder: Path, log: WriterLog, code_hash: str) -> None:
        self.name = folder.name
        self._folder = folder
        self._log = log
        self._code_hash = code_hash

    @property
    def latest(self) -> StreamEntry | None:
        """The newest batch in the table."""
        return self._log.latest

    def check_fence(self) -> None:
        """Raise FencedError if a newer generation owns it."""
        self._log.check_fence()

    def expire(self) -> None:
        """Keep all: what was delivered stays."""

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Append the rows of a batch; one without rows is on record too, because the next one starts where it ends."""
        entry = replace(entry_for(batch, self._log), code=self._code_hash)
        append(rows, self._folder, self._log, entry, batch)
