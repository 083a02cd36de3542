"""The settings of every Spark session: one preset of measured values, which a spec may override key by key.

Without PySpark, so that a DAG can hand them to spark-submit: memory and jars are fixed before Python gets to speak.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from sluice.errors import NotReadyError
from sluice.project import Project
from sluice.specs.model import Resources

_LOGGING = Path(__file__).with_name("log4j2.properties")
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_BARE_FILE_SYSTEM = "hadoop-bare-naked-local-fs-*.jar"


def preset(resources: Resources) -> dict[str, str]:
    """Return the settings that every Sluice session starts from, by Spark's names."""
    cores = str(resources.cores)
    return {
        "spark.driver.memory": resources.driver_memory,
        # Stopping a foreachBatch query overflows the default stack in a regular expression of Spark's.
        "spark.driver.extraJavaOptions": f'-Xss16m -XX:+UseSerialGC -Dlog4j2.configurationFile="{_LOGGING}"',
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Frozen into a stateful checkpoint at its first start. The default of 200 costs seconds a batch.
        "spark.sql.shuffle.partitions": cores,
        "spark.default.parallelism": cores,
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
        "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "128",
        "spark.sql.streaming.stopTimeout": "60s",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
        # A driver runs for months: what the UI keeps is bounded.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "1000",
        "spark.sql.ui.retainedExecutions": "50",
        "spark.sql.streaming.ui.retainedQueries": "10",
        "spark.log.structuredLogging.enabled": "false",
    }


def effective_settings(
    resources: Resources,
    *,
    jars: Path,
    warehouse: Path,
    master: str = "local",
    overrides: Mapping[str, str] | None = None,
    archive: Path | None = None,
) -> dict[str, str]:
    """Return all settings of a session, by Spark's names, its master included.

    Args:
        resources: cores and memory of the driver.
        jars: the folder with the connector and Delta jars.
        warehouse: where Spark may put what nobody names; nothing should land there.
        master: `local` for as many local cores as `resources` say, or a master URL.
        overrides: settings that win over the preset.
        archive: the code that executors import.

    Raises:
        NotReadyError: the jars are missing.
    """
    found = sorted(jars.glob("*.jar"))
    if not found:
        raise NotReadyError(
            f"{jars} holds no jar: Spark has no Kafka and no Delta without them.", fix="run `make setup`."
        )
    return {
        **preset(resources),
        "spark.master": f"local[{resources.cores}]" if master == "local" else master,
        # Without a bound, a driver takes every core of a standalone cluster, and the next one waits for ever.
        **(_local(found) if master == "local" else {"spark.cores.max": str(resources.cores)}),
        "spark.jars": ",".join(str(jar) for jar in found),
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        **({"spark.submit.pyFiles": str(archive)} if archive else {}),
        **(overrides or {}),
    }


def _local(jars: list[Path]) -> dict[str, str]:
    """Return what a session on this machine alone has besides.

    Hadoop's own local file system starts two processes per data file, for want of a native library; this one asks the
    JVM. It serves data files. Commits and checkpoints go another way (`FileContext`), and stay as Hadoop has them.
    """
    bare = [jar for jar in jars if jar.match(_BARE_FILE_SYSTEM)]
    if not bare:
        return _LOOPBACK
    return {
        **_LOOPBACK,
        "spark.driver.extraClassPath": os.pathsep.join(map(str, bare)),  # Spark looks at files before it loads its jars
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    }


def batch_settings(project: Project, pipeline: str) -> dict[str, str]:
    """Return the settings of a pipeline's backfills, by Spark's names.

    Raises:
        NotReadyError: the jars are missing.
    """
    spec = project.catalog.pipelines[pipeline]
    return effective_settings(
        spec.resources,
        jars=project.settings.jars / "spark",
        warehouse=project.settings.state / "warehouse",
        master=project.deployment.spark.master,
        overrides=spec.spark,
        archive=project.archive(),
    )
