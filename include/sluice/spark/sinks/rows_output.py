"""A `rows` output: what a transform without state makes of each record, appended once."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sluice.delta.writer_log import WriterLog
from sluice.spark.sinks.sink import LoggedOutput, MicroBatch, append
from sluice.storage.folder import Folder


class RowsTable(LoggedOutput):
    """Implements `sluice.spark.sinks.batch_outputs.BatchOutput`.

    Args:
        folder: of the table, which exists.
        log: of the table, opened.
        code_hash: of the code that makes the rows.
    """

    def __init__(self, folder: Folder, log: WriterLog, code_hash: str) -> None:
        super().__init__(folder.name, log, code_hash)
        self._folder = folder

    def write(self, rows: DataFrame, batch: MicroBatch) -> None:
        """Append the rows of a batch; one without rows is on record too, because the next one starts where it ends."""
        append(rows, self._folder, self._log, self._entry(batch), batch)
