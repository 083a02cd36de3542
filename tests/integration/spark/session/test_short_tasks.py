"""Tasks that read a table are short, so that a raw stream soon gets a core."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

_MIB = 1024 * 1024


@pytest.mark.verify
def test_a_large_file_is_read_by_several_tasks_and_small_ones_by_one(spark: SparkSession, tmp_path: Path) -> None:
    texts = spark.range(0, 600_000, 1, 1).select(F.sha2(F.col("id").cast("string"), 512).alias("text"))
    texts.write.format("delta").save(str(tmp_path / "large"))
    (file,) = (tmp_path / "large").glob("*.parquet")
    assert file.stat().st_size > 32 * _MIB
    assert pq.ParquetFile(file).metadata.num_row_groups > 1, "a file is not split within one"
    assert spark.read.format("delta").load(str(tmp_path / "large")).rdd.getNumPartitions() >= 3
    spark.range(0, 60, 1, 60).write.format("delta").save(str(tmp_path / "small"))
    assert spark.read.format("delta").load(str(tmp_path / "small")).rdd.getNumPartitions() <= 2
