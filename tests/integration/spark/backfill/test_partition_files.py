"""Intervals are read from their files as Delta itself reads them, and by Delta where files do not say it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sluice.delta.table import ensure_table
from sluice.spark.tables import output as output_module
from sluice.spark.tables.output import MOST_FILES, OutputTable, rows_of_files
from sluice.specs.model.outputs import IntervalsOutput

HOUR = timedelta(hours=1)
FIRST = datetime(2013, 1, 1, tzinfo=UTC)
OUTPUT = IntervalsOutput(table="t", time_column="hour", window=HOUR, interval="hour")
COLUMNS = {"key": "string", "hour": "timestamp", "odd.name-`x`": "double", "sum": "decimal(20,3)"}
ADDED = {**COLUMNS, "later": "array<struct<a:long,b:date>>"}


def schema(columns: dict[str, str]) -> StructType:
    return StructType.fromDDL(", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in columns.items()))


def rows(hours: int, *, per_hour: int = 3) -> pa.Table:
    each = range(hours * per_hour)
    return pa.table(
        {
            "key": [f"k{n}" if n % 5 else None for n in each],
            "hour": pa.array([FIRST + n // per_hour * HOUR for n in each], pa.timestamp("us", "UTC")),
            "odd.name-`x`": [n / 7 if n % 4 else None for n in each],
            "sum": pa.array([n * 1000 for n in each], pa.decimal128(20, 3)),
        }
    )


@dataclass
class Reads:
    """Notes how often files were read without Delta."""

    direct: int = 0
    by_delta: int = 0

    def __call__(
        self, spark: SparkSession, table: DeltaTable, folder: Path, column: str, files: Collection[str]
    ) -> DataFrame | None:
        found = rows_of_files(spark, table, folder, column, files)
        self.direct += found is not None
        self.by_delta += found is None
        return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    noted = Reads()
    monkeypatch.setattr(output_module, "rows_of_files", noted)
    return noted


def made(folder: Path, hours: int = 4) -> OutputTable:
    ensure_table(folder, schema(COLUMNS).json(), partition_by=["hour"])
    write_deltalake(str(folder), rows(hours), mode="append")
    return OutputTable(folder, OUTPUT)


def held(frame: DataFrame) -> Counter[Any]:
    return Counter(map(repr, frame.collect()))


def as_delta_reads(spark: SparkSession, table: OutputTable, starts: list[datetime], version: int) -> DataFrame:
    whole = spark.read.format("delta").option("versionAsOf", version).load(str(table.folder))
    return whole.where(table.condition(starts))


@pytest.mark.parametrize("name", ["plain", "with blanks, and=equals"])
def test_every_version_reads_as_delta_reads_it(spark: SparkSession, tmp_path: Path, reads: Reads, name: str) -> None:
    table = made(tmp_path / name)
    spark.createDataFrame(rows(2).slice(0, 4)).write.format("delta").mode("append").save(str(table.folder))
    ensure_table(table.folder, schema(ADDED).json(), partition_by=["hour"])
    later = [("new", FIRST + HOUR, 1.0, None, [(7, FIRST.date())]), (None, FIRST + 9 * HOUR, None, None, None)]
    spark.createDataFrame(later, schema(ADDED)).write.format("delta").mode("append").save(str(table.folder))
    DeltaTable(str(table.folder)).delete("hour = '2013-01-01 02:00:00'")
    starts = [FIRST, FIRST + HOUR, FIRST + 2 * HOUR, FIRST + 9 * HOUR]
    for version in range(1, table.version() + 1):
        found = table.rows(spark, starts, version)
        expected = as_delta_reads(spark, table, starts, version)
        assert found.schema == expected.schema, version
        assert held(found) == held(expected), version
        assert held(found), version
    assert reads == Reads(direct=table.version(), by_delta=0)


def test_only_the_wanted_intervals_are_read(spark: SparkSession, tmp_path: Path, reads: Reads) -> None:
    table = made(tmp_path / "t")
    found = table.rows(spark, [FIRST + HOUR], table.version())
    assert {row.hour.replace(tzinfo=UTC) for row in found.collect()} == {FIRST + HOUR}
    assert len(found.inputFiles()) == 1
    assert reads.direct == 1


def test_intervals_without_a_file_have_no_rows(spark: SparkSession, tmp_path: Path, reads: Reads) -> None:
    table = made(tmp_path / "t")
    assert table.rows(spark, [FIRST + 90 * HOUR], table.version()).isEmpty()
    assert reads.by_delta == 1


def test_rows_that_a_deletion_vector_takes_away_stay_away(spark: SparkSession, tmp_path: Path, reads: Reads) -> None:
    table = made(tmp_path / "t")
    spark.sql(f"ALTER TABLE delta.`{table.folder}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql("DELETE FROM delta.`{}` WHERE key = 'k1'".format(table.folder))  # noqa: S608, UP032
    found = table.rows(spark, [FIRST], table.version())
    assert sorted(str(row.key) for row in found.collect()) == ["None", "k2"]
    assert reads.by_delta == 1


def test_many_files_and_folders_that_look_like_patterns_are_left_to_delta(
    spark: SparkSession, tmp_path: Path, reads: Reads
) -> None:
    table = made(tmp_path / "many", MOST_FILES + 1)
    starts = [FIRST + n * HOUR for n in range(MOST_FILES + 1)]
    assert table.rows(spark, starts, table.version()).count() == 3 * len(starts)
    odd = made(tmp_path / "any*")
    assert odd.rows(spark, [FIRST], odd.version()).count() == 3
    assert reads == Reads(direct=0, by_delta=2)
