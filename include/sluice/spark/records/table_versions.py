"""The versions of a settled table as a stream without rows: what brings the batches of a pipeline that reads it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it
from pyspark.sql.types import StructType

from sluice.storage.folder import Folder

_FORMAT = "sluice.tables.TableVersions"
"""The class in Sluice's own jar."""


def version_stream(spark: SparkSession, name: str, folder: Folder, schema: StructType) -> DataFrame:
    """Return a stream that has a batch for each new version of a table, or for several, and never a row.

    Args:
        spark: the session.
        name: what `table_input` calls the table: its offsets in checkpoints have this name.
        folder: of the table, which need not be there yet.
        schema: of the rows that there could be.
    """
    versions = spark.readStream.format(_FORMAT).option("name", name).option("path", str(folder)).load()
    return versions.select(*(F.lit(None).cast(f.dataType).alias(f.name) for f in schema))
