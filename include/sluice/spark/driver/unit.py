"""A unit's driver, put together from the specs: one session, its streams, and what it tells of itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession

from sluice.launch.cpu import TreeCpu
from sluice.project.project import Project
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.executors import UnitFile, executors_of, task_seconds_of
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.jvm_figures import JvmFigures, beans_of
from sluice.spark.driver.pipeline_code import keep_code
from sluice.spark.driver.progress import ProgressFile
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.surplus import SurplusExecutors, loads_of, release_from
from sluice.spark.driver.unbounded_topics import unbounded_topics
from sluice.spark.driver.unit_streams import refuse_unstartable, unit_streams
from sluice.spark.session.preset import merged, unit_layers
from sluice.spark.session.session import session_with
from sluice.specs.catalog.catalog import Unit
from sluice.specs.catalog.needs import application_of, resources_of
from sluice.specs.model.resources import Resources
from sluice.streams.failures.exits import ExitCode


def run_unit(
    project: Project,
    name: str,
    generation: int,
    *,
    stop: StopRequest,
    exit_report: ExitReport,
    available_now: bool = False,
) -> ExitCode:
    """Run the streams of a unit until they are asked to stop, or as long as its plan says.

    Args:
        project: where it runs.
        name: the unit's.
        generation: of the attempt.
        stop: the request to stop.
        exit_report: where it is told why it fails.
        available_now: read what is there now and end, whatever the plan says.

    Raises:
        SluiceError: Spark could not be started. Any later failure is the exit code.
    """
    spark = unit_session(project, project.catalog.units()[name])
    stop.listen()
    try:
        return run_streams(
            project, spark, name, generation, available_now=available_now, stop=stop, exit_report=exit_report
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be told before the JVM that knows it is gone
        return exit_report.write(error)
    finally:
        spark.stop()


def rehearse_unit(project: Project, name: str, generation: int) -> None:
    """Check everything that a start of a unit needs, in a session of its own, and change nothing.

    Raises:
        SluiceError: what stands against a start, or Spark could not be started.
    """
    unit = project.catalog.units()[name]
    spark = unit_session(project, unit)
    try:
        refuse_unstartable(project, spark, unit, generation)
    finally:
        spark.stop()


def run_streams(
    project: Project,
    spark: SparkSession,
    name: str,
    generation: int,
    *,
    available_now: bool = False,
    stop: StopRequest | None = None,
    exit_report: ExitReport | None = None,
) -> ExitCode:
    """Run the streams of a unit in a session that the caller ends; otherwise like `run_unit`."""
    unit = project.catalog.units()[name]
    streams = unit_streams(project, spark, unit, generation)
    identity = {"unit": name, "generation": generation, "spark_ui": spark.sparkContext.uiWebUrl}
    folder, cpu, jvm = project.folder, TreeCpu(), JvmFigures(partial(beans_of, spark))
    tasks = JvmFigures(partial(task_seconds_of, spark))
    files = {
        s.name: ProgressFile(
            folder.progress_file(s.name),
            {**identity, "stream": s.name},
            folder.batch_log(s.name),
            cpu.seconds,
            jvm=jvm.newest,
            process=lambda: {**(tasks.newest() or {}), "memory_bytes": cpu.memory_bytes()},
        )
        for s in streams
    }
    codes = {pipeline: keep_code(project, pipeline) for pipeline in unit.pipelines}
    at_start = {**identity, "codes": codes, "warnings": unbounded_topics(project, unit)}
    unit_file = UnitFile(project.folder.unit_file(name), at_start, partial(executors_of, spark))
    update = _updates(spark, resources_of(project.catalog, unit), unit_file)
    driver = Driver(streams, files, stop=stop, exit_report=exit_report, update=update, plan=unit.plan)
    return driver.run(available_now=available_now)


def _updates(spark: SparkSession, resources: Resources, unit_file: UnitFile) -> Callable[[], bool]:
    """Return what a driver does beside its batches; see `UnitFile.update`."""
    if not resources.grows or executors_of(spark) is None:
        return unit_file.update
    executors = SurplusExecutors(resources.least_cores, partial(loads_of, spark), partial(release_from, spark))

    def update() -> bool:
        executors.update()
        return unit_file.update()

    return update


def unit_session(project: Project, unit: Unit) -> SparkSession:
    """Start the session that a unit's streams share."""
    settings = merged(unit_layers(project, unit, project.processes.archive()))
    name = application_of(project.settings.deployment, unit.name)
    return session_with(name, settings, project.processes.spark().settings)
