"""The session of a batch process for one pipeline: in the warm engine if the batch is small, else of its own."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from sluice.errors import NotReadyError, UnreachableError
from sluice.intervals.alignment import Interval
from sluice.launch.standalone import require_capacity
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.spark.session.attached import attached_session
from sluice.spark.session.preset import batch_settings
from sluice.spark.session.session import session_with
from sluice.spark.session.warm import choose_session, engine_of, start_engine
from sluice.specs.catalog.needs import need_of_batch

log = get_logger()

SESSION = "spark.sluice.session"
"""The session's setting that says in what it runs, and why; Spark knows nothing of it."""


@contextmanager
def batch_session(project: Project, kind: str, pipeline: str, span: Interval | None = None) -> Iterator[SparkSession]:
    """Start a session, and end it. Whatever it runs in, nothing goes on of a batch that died before.

    Args:
        project: specs and places.
        kind: what it is for; in the application's name.
        pipeline: whose resources it takes.
        span: the intervals that it is about; None: all there are.

    Raises:
        NotReadyError: Spark cannot start, or the cluster has no capacity.
        UnreachableError: what a dead batch has left in the warm engine does not end; or the JVM ended.
    """
    name = f"sluice-{kind}-{pipeline}"
    choice = choose_session(project, pipeline, span)
    with ExitStack() as block:
        spark = _in_engine(project, name, pipeline, block) if choice.warm else None
        where = "the warm engine" if spark is not None else "a session of its own"
        spark = spark or _own(project, name, pipeline, block)
        spark.conf.set(SESSION, f"{where}: {choice.why}")
        log.info("the batch runs", session=where, why=choice.why)
        with jvm_watched():
            yield spark


@contextmanager
def jvm_watched() -> Iterator[None]:
    """Say in words, within this block, that the JVM has ended.

    Raises:
        UnreachableError: it has.
    """
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        if not _of_gateway(error):
            raise
        raise UnreachableError(
            "Spark's JVM ended while the batch ran in it.",
            fix="repeat it; a backfill goes on where it stopped, under its key.",
        ) from error


def _of_gateway(error: Exception) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__")).startswith("py4j.") for frame, _ in frames)


def _in_engine(project: Project, name: str, pipeline: str, block: ExitStack) -> SparkSession | None:
    """Return a session in the engine, for as long as the block lasts; None if the engine does not take it in."""
    try:
        start_engine(project)
        attachment = block.enter_context(engine_of(project).attached())
    except NotReadyError as error:
        log.warning("the warm engine is not used", why=str(error))
        return None
    return attached_session(attachment, name, batch_settings(project, pipeline))


def _own(project: Project, name: str, pipeline: str, block: ExitStack) -> SparkSession:
    require_capacity(project.processes.spark(), need_of_batch(project.catalog.pipelines[pipeline], name))
    engine_of(project).settle()
    spark = session_with(name, batch_settings(project, pipeline), project.processes.spark().settings)
    block.callback(spark.stop)
    return spark
