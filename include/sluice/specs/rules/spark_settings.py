"""Spark settings that a spec may not override, each with the promise that it would break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.specs.deployments.secrecy import is_secret
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


@dataclass(frozen=True)
class Refusal:
    """Why a setting is refused, and which of its values are.

    Attributes:
        reason: what would break.
        fix: what to do.
        values: the refused values in lower case; empty means every value.
    """

    reason: str
    fix: str = "remove it."
    values: frozenset[str] = frozenset()


_OWN_KEY = "it has a key of its own, by which a cluster's capacity is checked before a start"
_TRUE, _FALSE = frozenset({"true"}), frozenset({"false"})

REFUSED: Mapping[str, Refusal] = {
    "spark.sql.streaming.noDataMicroBatches.enabled": Refusal(
        "without batches that carry only a watermark the last live windows never close", values=_FALSE
    ),
    "spark.sql.session.timeZone": Refusal("intervals are UTC, and another zone would move their borders"),
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": Refusal(
        "it calls what Kafka's clients no longer have, and the stream fails at its first offset", values=_TRUE
    ),
    "spark.sql.streaming.multipleWatermarkPolicy": Refusal(
        "the fastest source would set the watermark and records of the others be dropped", values=frozenset({"max"})
    ),
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": Refusal(
        "it lets queries run that are known to lose rows", values=_FALSE
    ),
    "spark.sql.streaming.unsupportedOperationCheck": Refusal(
        "it lets queries run that Spark knows to be wrong on a stream", values=_FALSE
    ),
    "spark.databricks.delta.retentionDurationCheck.enabled": Refusal(
        "a vacuum could delete files that readers and verifications still need", values=_FALSE
    ),
    "spark.sql.extensions": Refusal("the tables are Delta tables, and it would replace Delta's extension and ours"),
    "spark.sql.catalog.spark_catalog": Refusal("the tables are Delta tables, and it would replace Delta's catalog"),
    "spark.sql.streaming.checkpointLocation": Refusal("a checkpoint belongs to its stream, and Sluice places it"),
    "spark.master": Refusal("where a driver runs is no matter of a pipeline", "set spark.master in the deployment."),
    "spark.driver.memory": Refusal("it has a key of its own", "set resources.driver_memory."),
    "spark.cores.max": Refusal(_OWN_KEY, "set resources.cores of the pipeline."),
    "spark.executor.cores": Refusal(_OWN_KEY, "set resources.executor_cores of the pipeline."),
    "spark.executor.memory": Refusal(_OWN_KEY, "set resources.executor_memory of the pipeline."),
    **{
        f"spark.dynamicAllocation.{name}": Refusal(_OWN_KEY, "give resources.cores of the pipeline `least` and `most`.")
        for name in ("enabled", "minExecutors", "initialExecutors", "maxExecutors")
    },
    "spark.dynamicAllocation.cachedExecutorIdleTimeout": Refusal(
        "an executor would go with rows that a batch keeps and cannot compute again"
    ),
    "spark.app.name": Refusal("the launcher finds a driver by its name"),
    "spark.submit.pyFiles": Refusal("executors get the archive of the code that the ledger's hash names"),
    "spark.jars.packages": Refusal("the jars are locked, and a download at start is not"),
}


def spark_settings_are_safe(reading: Reading) -> Iterator[Finding]:
    """No override breaks what Sluice promises."""
    of_pipelines = [(Kind.PIPELINE, name, ("spark",), each.spark) for name, each in reading.catalog.pipelines.items()]
    of_deployments = [
        (Kind.DEPLOYMENT, name, ("spark", "settings"), each.spark.settings)
        for name, each in reading.catalog.deployments.items()
    ]
    for kind, name, place, settings in (*of_pipelines, *of_deployments):
        for key, value in settings.items():
            if refusal := _refusal(key, value):
                message = f"{key}={value} is refused: {refusal.reason}." if not is_secret(key) else f"{refusal.reason}."
                yield reading.finding(kind, name, (*place, key), message, refusal.fix)


def _refusal(key: str, value: str) -> Refusal | None:
    if not key.startswith("spark."):
        return Refusal("Spark ignores settings whose name does not begin with 'spark.'", "write its full name.")
    if is_secret(key):
        return Refusal("this is a secret, and every user can read specs", "mount it as a file of the deployment.")
    refusal = REFUSED.get(key)
    applies = refusal is not None and (not refusal.values or value.strip().lower() in refusal.values)
    return refusal if applies else None
