"""Spark overrides: free, except where they would break a promise."""

from __future__ import annotations

import pytest

from tests.unit.specs.bench import Bench

FILE, HARMLESS = "include/pipelines/sales.yaml", 'spark.sql.shuffle.partitions: "4"'


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("spark.sql.streaming.noDataMicroBatches.enabled: 'false'", "the last live windows never close"),
        ("spark.sql.streaming.noDataMicroBatches.enabled: ' FALSE '", "the last live windows never close"),
        ("spark.sql.session.timeZone: Europe/Oslo", "intervals are UTC"),
        ("spark.sql.streaming.kafka.useDeprecatedOffsetFetching: 'true'", "no longer have"),
        ("spark.sql.streaming.multipleWatermarkPolicy: max", "be dropped"),
        ("spark.sql.streaming.statefulOperator.checkCorrectness.enabled: 'false'", "known to lose rows"),
        ("spark.databricks.delta.retentionDurationCheck.enabled: 'false'", "a vacuum could delete"),
        ("spark.master: local[8]", "Fix: set spark.master in the deployment."),
        ("spark.driver.memory: 4g", "Fix: set resources.driver_memory."),
        ("spark.cores.max: '4'", "Fix: set resources.cores of the pipeline."),
        ("spark.dynamicAllocation.enabled: 'true'", "Fix: give resources.cores of the pipeline `least` and `most`."),
        ("spark.dynamicAllocation.maxExecutors: '9'", "by which a cluster's capacity is checked before a start"),
        ("spark.dynamicAllocation.cachedExecutorIdleTimeout: 1min", "go with rows that a batch keeps"),
        ("spark.executor.cores: '2'", "Fix: set resources.executor_cores of the pipeline."),
        ("spark.executor.memory: 4g", "Fix: set resources.executor_memory of the pipeline."),
        ("sql.shuffle.partitions: '8'", "does not begin with 'spark.'"),
        ("spark.hadoop.fs.s3a.secret.key: hunter2", "this is a secret"),
    ],
)
def test_an_override_that_breaks_a_promise_is_refused_with_the_reason(bench: Bench, setting: str, words: str) -> None:
    bench.edit(FILE, HARMLESS, setting)
    (fault,) = bench.scan().faults
    assert (fault.file, fault.line) == (FILE, 18)
    assert words in str(fault)
    assert "hunter2" not in str(fault)


@pytest.mark.parametrize(
    "setting",
    [
        "spark.sql.shuffle.partitions: '200'",
        "spark.sql.streaming.noDataMicroBatches.enabled: 'true'",
        "spark.sql.streaming.multipleWatermarkPolicy: min",
        "spark.ssl.trustStoreType: JKS",
        "spark.dynamicAllocation.executorIdleTimeout: 5min",
        "spark.kafka.delegation.token.enabled: 'false'",
    ],
)
def test_any_other_override_is_free(bench: Bench, setting: str) -> None:
    bench.edit(FILE, HARMLESS, setting)
    assert bench.scan().faults == ()
