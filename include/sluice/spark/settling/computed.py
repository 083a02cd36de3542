"""The rows that were computed for a settlement: in the driver's memory where they fit, in files where not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame

from sluice.delta.conditions import during
from sluice.delta.settled_log import CollectedRows, StagedRows
from sluice.intervals.alignment import Interval
from sluice.spark.records.content import HASH, content_of_collected, with_hash
from sluice.spark.sinks.collected import brought, in_files
from sluice.storage.folder import Folder


@dataclass(frozen=True)
class ComputedRows:
    """Rows of an interval table, those of other intervals among them.

    Attributes:
        rows: with the columns of the table, and `__hash`.
        column: the partition column.
        folder: where the files are; None: they are in memory.
    """

    rows: ds.Dataset
    column: str
    folder: Folder | None = None

    @classmethod
    def of(cls, rows: DataFrame, column: str, folder: Folder) -> ComputedRows:
        """Compute rows.

        Args:
            rows: what to compute.
            column: the partition column.
            folder: for files, if the rows outgrow `spark.driver.maxResultSize`; what is in it is replaced.
        """
        hashed = with_hash(rows)
        if (table := brought(hashed)) is not None:
            return cls(ds.dataset(table), column)
        return cls(in_files(hashed, folder), column, folder)

    def any_before(self, column: str, instant: datetime, intervals: Interval) -> bool:
        """Whether a row of some intervals has a time before an instant."""
        before = ds.field(column) < pa.scalar(instant)
        return bool(self.rows.count_rows(filter=before & during(self.column, intervals)))

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the first and the last interval with a row, by their starts; None without rows."""
        found = pc.min_max(self.rows.to_table(columns=[self.column]).column(self.column)).as_py()
        return None if found["min"] is None else (found["min"], found["max"])

    def only(self, intervals: Interval) -> CollectedRows | StagedRows:
        """Return the rows of some intervals, and what each of them holds."""
        inside = during(self.column, intervals)
        if self.folder is None:
            return CollectedRows(*content_of_collected(self.rows.to_table(filter=inside), self.column))
        _, content = content_of_collected(self.rows.to_table(columns=[self.column, HASH], filter=inside), self.column)
        columns = [name for name in self.rows.schema.names if name != HASH]
        return StagedRows(self.rows.scanner(columns=columns, filter=inside), content, self.folder)


def joined(parts: Sequence[CollectedRows | StagedRows], folder: Folder) -> CollectedRows | StagedRows:
    """Return the rows of several computations as those of one.

    Args:
        parts: one at least; no two hold rows of one interval.
        folder: in which all files of theirs are.
    """
    content = {start: held for part in parts for start, held in part.content.items()}
    collected = [part.rows for part in parts if isinstance(part, CollectedRows)]
    if len(collected) == len(parts):
        return CollectedRows(pa.concat_tables(collected), content)
    schema = next(part.rows.projected_schema for part in parts if isinstance(part, StagedRows))
    batches = (batch for part in parts for batch in _batches(part, schema))
    return StagedRows(ds.Scanner.from_batches(batches, schema=schema), content, folder)


def _batches(part: CollectedRows | StagedRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if isinstance(part, StagedRows):
        yield from part.rows.to_batches()
    else:
        yield from part.rows.select(schema.names).cast(schema).to_batches()
