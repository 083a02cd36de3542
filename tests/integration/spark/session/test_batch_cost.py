"""What a real session says of its JVM and its executors, as the record of costs asks it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from sluice.capacity.costs import Work
from sluice.clock import SystemClock
from sluice.spark.session.batch_cost import cost_recorded, task_seconds
from tests.twins.departures_project import DeparturesProject


def test_the_jvm_of_a_session_of_its_own_counts_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = DeparturesProject.create(tmp_path, monkeypatch).project
    with cost_recorded(project, spark, Work.BACKFILL, "departures", "r"):
        spark.range(5_000_000).selectExpr("sum(id * id % 7)").collect()
    (cost,) = project.records.costs().since(SystemClock().now().date())
    me = psutil.Process()
    tree = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    whole = sum(each.user + each.system + each.children_user + each.children_system for each in tree)
    assert 0 < cost.reading.cpu_seconds <= whole
    java = max(each.user for each in tree)
    assert cost.reading.cpu_seconds >= 0.8 * java
    assert cost.reading.executor_seconds == task_seconds(spark) == 0.0
