"""The published table: what its intervals hold at a version, and in which files."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sluice.delta.reading import open_table
from sluice.delta.table import ensure_table
from sluice.intervals.alignment import ranges_of
from sluice.spark.records.content import named
from sluice.spark.records.pipeline import partition_column
from sluice.spark.tables.ranges import within
from sluice.specs.model.outputs import IntervalsOutput
from sluice.storage.folder import Folder

MOST_FILES = 500
"""Beyond it the state is worth its jobs: Spark would ask the file system for each file by itself."""
_PLAIN_READER = 1
"""The protocol of readers in which a file's rows are the table's: no deletion vectors, no mapped columns."""
_GLOB = re.compile(r"[\[\]{}*?\\]")


def rows_of_files(
    spark: SparkSession, table: DeltaTable, folder: Folder, column: str, files: Collection[str]
) -> DataFrame | None:
    """Return the rows of some files of a table, with the table's columns; None if only Delta can read them.

    Delta plans a scan by Spark jobs over the whole state of the table, again for each version that a commit makes:
    about a second for a day of intervals that Spark reads in a tenth of that. delta-rs reads the same log in
    milliseconds.

    Only Delta can if rows of the table are not simply those of its files, if a folder does not say its partition,
    or if there are no files, or more than `MOST_FILES`.

    Args:
        spark: the session; its time zone is that in which folders name timestamps, UTC.
        table: at the version to read.
        folder: of the table.
        column: the partition column, the only one.
        files: paths below the folder, as the file system has them.
    """
    if not 0 < len(files) <= MOST_FILES or table.protocol().min_reader_version > _PLAIN_READER:
        return None
    if _GLOB.search(str(folder)) or not all(file.startswith(f"{column}=") for file in files):
        return None
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    reader = spark.read.schema(schema).option("basePath", str(folder))
    return reader.parquet(*(str(folder / file) for file in sorted(files))).select(*map(named, schema.names))


@dataclass(frozen=True)
class OutputTable:
    """A pipeline's output.

    Attributes:
        folder: of the table.
        output: its declaration.
    """

    folder: Folder
    output: IntervalsOutput

    @property
    def column(self) -> str:
        """The partition column: the start of a row's interval."""
        return partition_column(self.output)

    def version(self) -> int:
        """Return the newest version.

        Raises:
            NotReadyError: there is no table.
        """
        return open_table(self.folder).version()

    def fit(self, schema: StructType) -> None:
        """Make sure that it takes rows of a schema: columns that it lacks are added.

        Raises:
            RefusedError: it cannot take them; nothing was changed.
        """
        ensure_table(self.folder, schema.json(), partition_by=[self.column])

    def condition(self, starts: Iterable[datetime]) -> str:
        """Return the SQL condition that a row lies in these intervals."""
        return within(self.column, ranges_of(starts, self.output.interval_length))

    def rows(self, spark: SparkSession, starts: Iterable[datetime], version: int) -> DataFrame:
        """Return what these intervals held at a version."""
        wanted, table = set(starts), DeltaTable(str(self.folder), version=version)
        rows = rows_of_files(spark, table, self.folder, self.column, self.files_of(wanted, table))
        if rows is None:
            rows = spark.read.format("delta").option("versionAsOf", version).load(str(self.folder))
        return rows.where(self.condition(wanted))

    def rows_at(self, spark: SparkSession, versions: Mapping[datetime, int]) -> DataFrame:
        """Return what each of these intervals held at a version of its own; at least one interval, by its start."""
        return reduce(DataFrame.unionByName, [self.rows(spark, s, v) for v, s in by_version(versions).items()])

    def files(self, starts: Iterable[datetime], version: int) -> frozenset[str]:
        """Return the files that these intervals consist of at a version, as paths below the table's folder.

        Raises:
            DeltaError: the log no longer knows that version.
        """
        return self.files_of(set(starts), DeltaTable(str(self.folder), version=version))

    def files_of(self, wanted: Collection[datetime], table: DeltaTable) -> frozenset[str]:
        """Return the same of the table as it is opened; `wanted` are the starts of the intervals."""
        actions = pa.table(table.get_add_actions(flatten=True))
        values = actions.column(f"partition.{self.column}").to_pylist()
        paths = actions.column("path").to_pylist()
        return frozenset(
            # The log quotes paths, in which Spark has quoted the partition's value already.
            unquote(path)
            for path, start in zip(paths, values, strict=True)
            if start is not None and start.astimezone(UTC) in wanted
        )

    def unreadable(self, versions: Mapping[datetime, int]) -> dict[datetime, str]:
        """Return which of these intervals cannot be read as of their version any more, with the reason."""
        reasons: dict[datetime, str] = {}
        for version, starts in by_version(versions).items():
            if why := self._why_gone(starts, version):
                reasons |= dict.fromkeys(starts, why)
        return reasons

    def _why_gone(self, starts: Iterable[datetime], version: int) -> str:
        try:
            gone = [name for name in self.files(starts, version) if not (self.folder / name).exists()]
        except DeltaError as error:
            return f"version {version} of the table is not in its log any more: {error}"
        return f"{len(gone)} files of version {version} are vacuumed" if gone else ""


def by_version(versions: Mapping[datetime, int]) -> dict[int, list[datetime]]:
    """Group intervals, by their starts, by the table version that each is read at."""
    grouped: dict[int, list[datetime]] = defaultdict(list)
    for start, version in sorted(versions.items()):
        grouped[version].append(start)
    return grouped
