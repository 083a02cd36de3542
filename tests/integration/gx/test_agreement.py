"""Our predicates find the same rows unexpected as Great Expectations: a small run of `make bench NAME=agreement`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from benchmarks.records import agreement
from benchmarks.records.agreement_values import expectations, rows
from sluice.specs.expectations.row_level import ROW_LEVEL

SAMPLE = (
    "expect_column_values_to_be_between",
    "expect_column_pair_values_a_to_be_greater_than_b",
    "expect_column_values_to_match_like_pattern",
)


def test_every_expectation_about_records_is_compared() -> None:
    assert {name for name, _ in expectations()} == ROW_LEVEL


@pytest.mark.parametrize(
    ("count", "every"),
    [(1_000, False), pytest.param(50_000, True, marks=[pytest.mark.verify, pytest.mark.timeout(600)])],
)
def test_both_find_the_same_rows_unexpected(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, count: int, every: bool
) -> None:
    if not every:
        sample = {name: kwargs for name, kwargs in expectations() if name in SAMPLE}
        monkeypatch.setattr(agreement, "expectations", lambda: iter(sample.items()))
    table = rows(count, seed=7)
    pq.write_table(table, tmp_path / "rows.parquet")
    differ, seen = agreement.compare(spark.read.parquet(str(tmp_path / "rows.parquet")), table, tmp_path)
    assert dict(differ) == dict.fromkeys(differ, 0)
    assert all(seen[name] for name in SAMPLE)
