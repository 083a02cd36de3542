"""The settings of every Spark session: one preset of measured values, which a spec may override key by key.

Without PySpark, so that a DAG can hand them to spark-submit: memory and jars are fixed before Python gets to speak.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from sluice.devstack.spark_authentication import AUTHENTICATE, AUTHENTICATION_FIRST, ENCRYPT
from sluice.errors import NotReadyError
from sluice.kafka.client.java_client import java_options
from sluice.launch.master_address import LOCAL, MasterAddress, on_this_machine
from sluice.project.project import Project
from sluice.settings import bucket_endpoint, bucket_region
from sluice.spark.session.class_archive import CLASS_OPTIONS, ClassArchive
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.needs import resources_of
from sluice.specs.deployments.bucket_address import is_bucket
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka
from sluice.specs.deployments.masters import STANDALONE
from sluice.specs.model.lanes import Lane
from sluice.specs.model.resources import Resources

_LOGGING = Path(__file__).with_name("log4j2.properties")
_POOLS = Path(__file__).with_name("pools.xml")
_LOG_OPTION = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
_JVM_OPTIONS = f"-XX:+UseSerialGC -XX:CompileThresholdScaling=8 {_LOG_OPTION}"
"""Compiling was half of what two million records cost; code that is hot enough to be worth it is compiled all the same,
a little later."""
_SOON = (
    f"-XX:+UseSerialGC -XX:Tier4InvocationThreshold=40000 -XX:Tier4MinInvocationThreshold=4800 "
    f"-XX:Tier4CompileThreshold=120000 -XX:Tier4BackEdgeThreshold=320000 {_LOG_OPTION}"
)
"""A small batch is planned by code that runs a few times a second: interpreted, it is most of the batch for minutes.
The JVM's quick compiler gets it as soon as by default, and the thorough one what is as hot as elsewhere."""
SMALL_BATCHES = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Of a stream whose batches follow one another by Spark's own sink: to generate code takes longer than a few records do
without it. A backlog of 300,000 took a third longer."""
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
MAX_COLLECTED = "128m"
"""What outgrows this is not brought to the driver (`spark.sinks.collected`); what does not is there twice at most."""
_SHORT_TASKS = {
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.sql.files.openCostInBytes": "512k",
    "spark.hadoop.parquet.block.size": str(16 * 1024 * 1024),
}
"""A raw stream gets a core when a task of a settlement ends. A file is not split within a row group; of small files a
task reads as many as by Spark's own sizes."""
_TIMES = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
"""Times are eight bytes in Parquet, and not the twelve of INT96, which took a tenth of a raw stream's work."""
_NO_CALL_SITES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""PySpark notes the line of each column by five calls to the JVM; those of a transform get theirs all the same."""
_PAGE = {"spark.ui.port": "0", "spark.ui.killEnabled": "false"}
"""It asks nobody who they are."""
_IDLE = "20s"
"""For so long an executor above the least has nothing to do before it goes. Spark spreads the tasks of small batches
over all executors: after a minute without one, as by default, hardly any would ever go."""
_JAVA = "spark.driver.extraJavaOptions"
_CLASS_PATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
_OWN = "sluice-*.jar"
_FILE_SYSTEMS = ("hadoop-bare-naked-local-fs-*.jar", _OWN)
_KAFKA = "kafka-clients-*.jar"
"""Ours makes its connections, so where ours is on the class path, it is."""


def preset(resources: Resources) -> dict[str, str]:
    """Return the settings that every Sluice session starts from, by Spark's names."""
    cores = str(resources.most_cores)
    return {
        "spark.driver.memory": resources.driver_memory,
        # Stopping a foreachBatch query overflows the default stack in a regular expression of Spark's.
        _JAVA: f"-Xss16m {_JVM_OPTIONS}",
        "spark.driver.maxResultSize": MAX_COLLECTED,
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": str(_POOLS),
        "spark.sql.session.timeZone": "UTC",
        # Ours brings the function that decodes records.
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,sluice.decoding.Functions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **(_SHORT_TASKS | _TIMES | _NO_CALL_SITES),
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
        # Delta refuses any version older than a week, whether or not its files are there. A raw table only grows, and
        # whether a published version is still whole is checked (`OutputTable.unreadable`).
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        **_PAGE,
        "spark.ui.showConsoleProgress": "false",
        # A driver runs for months: what the UI keeps is bounded.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "1000",
        "spark.sql.ui.retainedExecutions": "50",
        "spark.sql.streaming.ui.retainedQueries": "10",
        "spark.log.structuredLogging.enabled": "false",
    }


def _jars_in(folder: Path) -> list[Path]:
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise NotReadyError(
            f"{folder} holds no jar: Spark has no Kafka and no Delta without them.", fix="run `make setup`."
        )
    if not any(jar.match(_OWN) for jar in jars):
        raise NotReadyError(f"{folder} holds no {_OWN}: no record can be decoded without it.", fix="run `make setup`.")
    return jars


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
        warehouse: where Spark may put unnamed tables; nothing should land there.
        master: `local` for as many local cores as `resources` say, or a master URL.
        overrides: settings that win over the preset.
        archive: the code that executors import.

    Raises:
        NotReadyError: the jars are missing.
    """
    places = _of_place(resources, jars=jars, warehouse=warehouse, master=master, archive=archive)
    return merged([*places, (Origin.PIPELINE, overrides or {})])


class Origin(StrEnum):
    """Where a setting comes from. A later one wins over those before it."""

    PRESET = "preset"  # what Sluice measured or needs
    RESOURCES = "resources"  # of the pipeline
    INSTALLATION = "installation"  # where Sluice and its state are, and the deployment's master
    LANE = "lane"  # of the pipeline
    DEPLOYMENT = "deployment"  # its `spark.settings`
    TOPIC = "topic"  # of the `raw` of a topic that the pipeline reads
    PIPELINE = "pipeline"  # its own keys


Layer: TypeAlias = tuple[Origin, Mapping[str, str]]
"""Settings of one origin."""
_OF_RESOURCES = ("spark.driver.memory", "spark.sql.shuffle.partitions", "spark.default.parallelism")


def merged(layers: Sequence[Layer]) -> dict[str, str]:
    """Return the settings in force: of several values of one setting the last one."""
    return {name: value for _, settings in layers for name, value in settings.items()}


def _of_place(
    resources: Resources, *, jars: Path, warehouse: Path, master: str, archive: Path | None, jvm: str = ""
) -> list[Layer]:
    """Return what a session has before anybody says anything else; `jvm` are options of each of its JVMs."""
    found, base, standalone = _jars_in(jars), preset(resources), master.startswith(STANDALONE)
    first = AUTHENTICATION_FIRST if on_this_machine(master) else ""  # our jar is on the class path of each JVM
    of_driver = " ".join(filter(None, (ClassArchive(jars).options(), jvm, first)))
    of_executors = " ".join(filter(None, (jvm, first if standalone else "")))
    place = {
        "spark.master": f"local[{resources.most_cores}]" if master == LOCAL else master,
        # Else every process of this machine may ask for its blocks. In one JVM Spark draws the secret itself.
        **(AUTHENTICATE if master == LOCAL else {}),
        **(_local(found) if on_this_machine(master) else {}),
        **({"spark.executor.extraJavaOptions": _JVM_OPTIONS} if standalone and on_this_machine(master) else {}),
        "spark.jars": ",".join(str(jar) for jar in found),
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        **(_code(archive) if archive else {}),
        **({CLASS_OPTIONS: of_driver} if of_driver else {}),
        **({"spark.executor.defaultJavaOptions": of_executors} if of_executors else {}),
    }
    return [
        (Origin.PRESET, {name: value for name, value in base.items() if name not in _OF_RESOURCES}),
        (Origin.RESOURCES, {name: base[name] for name in _OF_RESOURCES}),
        *([(Origin.RESOURCES, _executors(resources))] if standalone else []),
        (Origin.INSTALLATION, place),
    ]


def _code(archive: Path) -> dict[str, str]:
    """Return where Python processes find the code: those of executors, and the one that a driver asks about a state."""
    return {"spark.submit.pyFiles": str(archive), "spark.executorEnv.PYTHONPATH": str(archive)}


def _local(jars: list[Path]) -> dict[str, str]:
    """Return what a session has besides whose driver and executors are on this machine alone.

    Hadoop's own local file systems start two processes per file, for want of a native library; these ask the JVM. The
    first serves data files, the second, ours, what must appear at once and replace nothing: checkpoints, state and the
    commits of tables. Executors of the embedded cluster have the same ones: Hadoop's leave checksum files, which these
    would not keep right when they replace a file.
    """
    bare = [jar for jar in jars if any(map(jar.match, _FILE_SYSTEMS))]
    if len(bare) < len(_FILE_SYSTEMS):
        return _LOOPBACK
    of_executors = [*bare, *(jar for jar in jars if jar.match(_KAFKA))]
    return {
        **_LOOPBACK,
        # Spark checks files before it loads its jars; and only classes of the class path are in a class archive.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.executor.extraClassPath": os.pathsep.join(map(str, of_executors)),
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "sluice.fs.AtomicLocalFs",
    }


def _executors(resources: Resources) -> dict[str, str]:
    """Return what a cluster gives a session."""
    each = resources.cores_each
    return {
        # Without a bound, a driver takes every core of a standalone cluster, and the next one waits for ever.
        "spark.cores.max": str(resources.most_cores),
        "spark.executor.memory": resources.executor_memory,
        **({} if each is None else {"spark.executor.cores": str(each)}),
        **(_growth(resources, each) if each is not None and resources.grows else {}),
    }


def _growth(resources: Resources, each: int) -> dict[str, str]:
    """Return by what Spark asks for executors of so many cores each while tasks wait, and gives them back."""
    least = str(resources.least_cores // each)
    settings = {
        "enabled": "true",
        "minExecutors": least,
        "initialExecutors": least,
        "maxExecutors": str(resources.most_cores // each),
        "executorIdleTimeout": _IDLE,
        # There is no shuffle service: an executor stays while a job may read what it has shuffled, and a job that
        # comes later computes it again. With rows that a batch keeps it stays by Spark's default, which has no end:
        # what was cut off from its origin (`localCheckpoint`) could not be computed again.
        "shuffleTracking.enabled": "true",
        "shuffleTracking.timeout": _IDLE,
    }
    return {f"spark.dynamicAllocation.{name}": value for name, value in settings.items()}


def _layers_of(project: Project, resources: Resources, own: Mapping[str, str], archive: Path | None) -> list[Layer]:
    """Return the settings of a session in a project, by their origin.

    Args:
        project: where it runs.
        resources: cores and memory.
        own: what the specs of its pipelines set.
        archive: the code that executors import.

    Raises:
        NotReadyError: the jars are missing.
    """
    places = _of_place(
        resources,
        jars=project.settings.jars / "spark",
        warehouse=project.settings.state / "warehouse",
        master=project.processes.spark().master,
        archive=archive,
        jvm=_of_tokens(project.deployment.kafka),
    )
    if project.kafka.is_secured():
        places.append((Origin.INSTALLATION, _secured(project.processes.spark())))
    if is_bucket(project.deployment.storage):
        places.append((Origin.INSTALLATION, of_bucket(merged(places), project.settings.jars / "s3")))
    return [*places, (Origin.DEPLOYMENT, project.deployment.spark.settings), (Origin.PIPELINE, own)]


def _secured(address: MasterAddress) -> dict[str, str]:
    """Return what a session has besides in a stack that asks who connects; its page has no login, so there is none."""
    of_stack = address.master == LOCAL or address.settings is not None
    return {"spark.ui.enabled": "false", **(AUTHENTICATE | ENCRYPT if of_stack else {})}


def _of_tokens(kafka: EmbeddedKafka | ExternalKafka) -> str:
    """Return the options of a JVM by which its clients get the tokens that they log in with."""
    login = kafka.login if kafka.kind == "external" else None
    return java_options(login.token.endpoint) if login is not None and login.token is not None else ""


def of_bucket(found: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return what a session has besides whose tables are in a bucket.

    Credentials stay in the environment of the driver. Spark itself hands those variables to executors with each task's
    configuration, which its pages and its event log do not show; they would show a setting of ours.

    Args:
        found: its other settings.
        folder: the jars of Hadoop's client of S3.

    Raises:
        NotReadyError: there are none.
    """
    jars = [str(jar) for jar in sorted(folder.glob("*.jar"))]
    if not jars:
        raise NotReadyError(f"{folder} holds no jar: Spark reads no bucket without them.", fix="run `make setup`.")
    paths = {name: os.pathsep.join([found[name], *jars]) for name in _CLASS_PATHS if name in found}
    endpoint, region = bucket_endpoint(), bucket_region()
    plain = {"spark.hadoop.fs.s3a.connection.ssl.enabled": "false"} if endpoint.startswith("http:") else {}
    own = {"spark.hadoop.fs.s3a.endpoint": endpoint, "spark.hadoop.fs.s3a.path.style.access": "true", **plain}
    return {
        "spark.jars": ",".join([found["spark.jars"], *jars]),
        **paths,
        # A bucket renames by copying. So a file is renamed once, at the end of its task, and not again at the end of
        # the job: nobody lists these files before.
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        # Tables have one address for all that read them.
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        **({"spark.hadoop.fs.s3a.endpoint.region": region} if region else {}),
        **(own if endpoint else {}),
    }


def batch_settings(project: Project, pipeline: str) -> dict[str, str]:
    """Return the settings of a pipeline's backfills, by Spark's names.

    Raises:
        NotReadyError: the jars are missing.
    """
    return merged(batch_layers(project, pipeline, project.processes.archive()))


def batch_layers(project: Project, pipeline: str, archive: Path | None = None) -> list[Layer]:
    """Return the settings of a pipeline's backfills by their origin; `archive` is the code that executors import.

    Raises:
        NotReadyError: the jars are missing.
    """
    spec = project.catalog.pipelines[pipeline]
    return _layers_of(project, spec.resources, spec.spark, archive)


def engine_settings(project: Project) -> dict[str, str]:
    """Return the settings of the warm engine, by Spark's names: those of the deployment, and of no pipeline.

    Raises:
        NotReadyError: the jars are missing.
    """
    resources = Resources(driver_memory=project.deployment.spark.engine.memory)
    return merged(_layers_of(project, resources, {}, None))


def unit_layers(project: Project, unit: Unit, archive: Path | None = None) -> list[Layer]:
    """Return the settings of the session that a unit's streams share: the largest resources that one of them asks for.

    Args:
        project: where it runs.
        unit: whose.
        archive: the code that executors import.

    Raises:
        NotReadyError: the jars are missing.
    """
    pipelines = [project.catalog.pipelines[name] for name in unit.pipelines]
    own = {key: value for pipeline in pipelines for key, value in pipeline.spark.items()}
    *common, deployments, of_pipelines = _layers_of(project, resources_of(project.catalog, unit), own, archive)
    quick = any(pipeline.lane is Lane.LATENCY for pipeline in pipelines)
    of_lane: list[Layer] = [(Origin.LANE, {_JAVA: f"-Xss16m {_SOON}"})] if quick else []
    return [*common, *of_lane, deployments, of_pipelines]
