"""Which batches run in the warm engine, and what that is started with. Without PySpark: callers choose before Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sluice import __version__
from sluice.devstack.supervision import Supervisor
from sluice.errors import NotReadyError
from sluice.intervals.alignment import Interval
from sluice.launch.engine import WarmEngine
from sluice.launch.engine_client import EngineAddress
from sluice.launch.master_address import LOCAL
from sluice.project.project import Project
from sluice.spark.session.preset import batch_layers, engine_settings, merged
from sluice.specs.deployments.bucket_address import variables_of_bucket
from sluice.streams.life.launcher import Job

NICENESS = 5
"""How far the engine and what runs in it give way at most: they are short, and somebody waits for them."""

_OF_RESOURCES = {
    "spark.master",
    "spark.driver.memory",
    "spark.default.parallelism",
    "spark.submit.pyFiles",
    "spark.executorEnv.PYTHONPATH",
}
"""Settings in which a batch may differ from the engine: they decide how fast it is, or the session sets them."""
_OF_SESSION = "spark.sql."
_STATIC = tuple(f"spark.sql.{name}" for name in ("extensions", "catalog", "warehouse", "ui.", "streaming.ui."))


@dataclass(frozen=True)
class SessionChoice:
    """Where a batch runs.

    Attributes:
        warm: in the engine; else in a session of its own.
        why: for people, as a clause.
    """

    warm: bool
    why: str


def engine_of(project: Project) -> WarmEngine:
    """Return the engine of a project's state folder, whether or not it lives."""
    return WarmEngine(project.folder.engines, project.clock)


def choose_session(project: Project, pipeline: str, span: Interval | None) -> SessionChoice:
    """Choose by size: what is small goes into the engine, and nothing small waits behind what is large.

    Args:
        project: specs and places.
        pipeline: whose batch it is.
        span: the intervals that it is about; None: all there are.
    """
    if why := _without_engine(project, pipeline):
        return SessionChoice(False, why)
    records, most = project.tables.records_at_most(pipeline, span), project.deployment.spark.engine.records
    size = f"its files hold {records:,} records, and up to {most:,} run in the warm engine"
    return SessionChoice(records <= most, size)


def _without_engine(project: Project, pipeline: str) -> str:
    """Return why no batch of a pipeline can run in an engine now, as a clause; empty if one can."""
    if _under_spark_submit():
        return "spark-submit has started it"
    if not project.deployment.spark.engine.records:
        return f"the deployment {project.deployment.name} has no warm engine"
    if (master := project.processes.spark().master) != LOCAL:
        return f"{master} gives it its cores, and a warm engine would hold them"
    if names := project.catalog.pipelines[pipeline].resources.environment:
        return f"its spec names {', '.join(names)}, which a running JVM does not get"
    if engine_of(project).living() is None and not _stack_is_up(project):
        return "no stack is up, and a warm engine is a part of it"
    unlike = _differing_settings(project, pipeline)
    return f"it sets {', '.join(unlike)}, which a running session cannot change" if unlike else ""


def _stack_is_up(project: Project) -> bool:
    return Supervisor(project.folder.supervisor, project.folder.logs, project.clock).is_up()


def _under_spark_submit() -> bool:
    """Whether this process was started by a JVM, which is there for it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: TID251 - Spark's, and no setting


def _differing_settings(project: Project, pipeline: str) -> list[str]:
    """Return the settings of a pipeline's batches that would need another engine."""
    ours, theirs = engine_settings(project), merged(batch_layers(project, pipeline))
    return sorted(
        name
        for name in ours.keys() | theirs.keys()
        if _is_static(name) and ours.get(name) != theirs.get(name) and name not in _OF_RESOURCES
    )


def start_engine(project: Project) -> None:
    """Start the engine unless it runs with today's settings; one with others is asked to end with its last batch.

    Raises:
        NotReadyError: it cannot be started.
    """
    engine = engine_of(project)
    client = engine.client()
    if client is not None and not _is_todays(client.address, engine_settings(project)):
        client.drain()
        return
    engine.start(lambda folder: engine_job(project, folder))


def warm_up(project: Project) -> None:
    """Start the engine for batches that will come, if there is to be one. Whether it comes up, they find out."""
    if project.deployment.spark.engine.records and project.processes.spark().master == LOCAL:
        with suppress(NotReadyError):
            start_engine(project)


def _is_todays(address: EngineAddress, settings: Mapping[str, str]) -> bool:
    return (address.version, address.settings) == (__version__, settings)


def engine_job(project: Project, folder: Path) -> Job:
    """Return the engine's process. No variable of a pipeline is in it: a batch brings what it needs."""
    niceness = min(NICENESS, project.settings.batch_niceness)
    environment = {**project.processes.batch_settings(), "SLUICE_BATCH_NICENESS": str(niceness)}
    argv = (sys.executable, "-m", "sluice.spark.jobs.engine", "--folder", str(folder))
    return Job(argv, environment, project.settings.home, inherits=variables_of_bucket(project.deployment.storage))


def _is_static(name: str) -> bool:
    return not name.startswith(_OF_SESSION) or name.startswith(_STATIC)
