"""The stage: a chunk's rows, computed once and put into files, for the comparison, the gate and the publication."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sluice.intervals.entries import Content
from sluice.spark.records.content import content_of
from sluice.spark.sinks.collected import read_by_arrow
from sluice.storage.folder import Folder, empty_folder, remove_folder


@dataclass(frozen=True)
class Stage:
    """Staged rows.

    Attributes:
        folder: where they are; only their backfill reads them.
        schema: their columns.
        condition: SQL; picks out what belongs to the chunk, since records around it may make further rows.
        column: the partition column of the output.
    """

    folder: Folder
    schema: StructType
    condition: str
    column: str

    @classmethod
    def write(
        cls, results: Iterable[DataFrame], empty: Callable[[], StructType], folder: Folder, condition: str, column: str
    ) -> Stage:
        """Compute rows and write them to files; what a crash left there is replaced.

        Args:
            results: rows with the columns of the output table; all are kept.
            empty: says which these are where there are no results.
            folder: where they are written, as Parquet.
            condition: SQL that selects the rows of the chunk's intervals.
            column: the partition column.
        """
        empty_folder(folder)
        schema: StructType | None = None
        for rows in results:
            rows.write.mode("append").parquet(str(folder))
            schema = rows.schema
        return cls(folder, schema or empty(), condition, column)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the chunk's rows."""
        return spark.read.schema(self.schema).parquet(str(self.folder)).where(self.condition)

    def of_intervals(self, starts: Iterable[datetime]) -> ds.Scanner:
        """Return the rows of some intervals (UTC) as Arrow reads them, once."""
        wanted = pa.array([*starts], pa.timestamp("us", "UTC"))
        return read_by_arrow(self.folder, self.schema).scanner(filter=ds.field(self.column).isin(wanted))

    def content(self, spark: SparkSession) -> Mapping[datetime, Content]:
        """Count and checksum them per interval; intervals without rows are not in the result."""
        return content_of(self.rows(spark), self.column)

    def remove(self) -> None:
        """Free the room."""
        remove_folder(self.folder)
