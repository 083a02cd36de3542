"""The management beans of a real driver's JVM are asked through the connection that the driver has to it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sluice.spark.driver.jvm_figures import JvmFigures, beans_of


def test_a_jvm_says_what_it_uses(spark: SparkSession) -> None:
    found = JvmFigures(lambda: beans_of(spark)).newest()
    assert found is not None
    assert found.keys() == {"heap_used_bytes", "heap_max_bytes", "gc_seconds", "threads"}
    assert 0 < found["heap_used_bytes"] <= found["heap_max_bytes"]
    assert found["gc_seconds"] >= 0
    assert found["threads"] > 10
