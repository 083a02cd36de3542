"""A table of the project in Spark, by one line."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import sluice
from tests.twins.departures_project import DeparturesProject, hour


def test_a_table_is_read_at_its_version_by_the_active_session_and_by_the_one_given(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DeparturesProject.create(tmp_path, monkeypatch).table
    rows = pa.table({"hour": [hour(0), hour(1)], "origin": ["EWR", "JFK"], "departed": [3, 4]})
    write_deltalake(str(folder), rows, partition_by=["hour"])
    table = sluice.table("departures")
    write_deltalake(str(folder), rows, mode="append")
    assert table.spark(spark).count() == 2
    # The JVM's session: Python may hold several objects for one, and tests beside this one open sessions of their own.
    assert table.spark().sparkSession._jsparkSession.equals(SparkSession.active()._jsparkSession)
    page = Path(__file__).parents[4] / "docs" / "notebooks.md"
    (example,) = [text for text in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) if ".spark(" in text]
    exec(compile(example, str(page), "exec"), {})  # noqa: S102 - our own page
