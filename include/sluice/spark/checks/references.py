"""The tables that values of a column are looked up in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from sluice.delta.reading import open_table
from sluice.spark.records.content import named
from sluice.specs.expectations.set_level import ReferenceArguments
from sluice.storage.folder import Folder


@dataclass(frozen=True)
class References:
    """Static inputs and output tables.

    Attributes:
        spark: the session.
        static: the pipeline's static inputs, by name.
        table: the folder of an output table.
    """

    spark: SparkSession
    static: Mapping[str, DataFrame]
    table: Callable[[str], Folder]

    def values(self, asked: ReferenceArguments) -> DataFrame:
        """Return the values that are there, each once, in a column `_there`.

        Raises:
            NotReadyError: there is no such table yet.
            AnalysisException: it has no such column.
        """
        column = named(asked.reference_column or asked.column).alias("_there")
        if asked.static is not None:
            return self.static[asked.static].select(column).distinct()
        folder = self.table(str(asked.table))
        version = open_table(folder).version()
        read = self.spark.read.format("delta").option("versionAsOf", version)
        return read.load(str(folder)).select(column).distinct()
