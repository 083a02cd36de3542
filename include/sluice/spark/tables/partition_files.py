"""Some partitions of a Delta table read from their files, which are planned in a moment.

Delta plans a scan by Spark jobs over the whole state of the table, again for each version that a commit makes: about
a second for a day of intervals that Spark reads in a tenth of that. delta-rs reads the same log in milliseconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sluice.spark.records.content import named
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

    That is so if rows of the table are not simply those of its files, if a file's folder does not say its partition,
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
