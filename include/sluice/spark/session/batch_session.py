"""The session of a batch process for one pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from sluice.launch.standalone import require_capacity
from sluice.project.project import Project
from sluice.spark.session.preset import batch_settings
from sluice.spark.session.session import session_with
from sluice.specs.catalog.needs import need_of_batch


@contextmanager
def batch_session(project: Project, kind: str, pipeline: str) -> Iterator[SparkSession]:
    """Start a session, and end it.

    Args:
        project: specs and places.
        kind: what it is for; in the application's name.
        pipeline: whose resources it takes.

    Raises:
        NotReadyError: Spark cannot start, or the cluster has no capacity.
    """
    name = f"sluice-{kind}-{pipeline}"
    require_capacity(project.processes.spark(), need_of_batch(project.catalog.pipelines[pipeline], name))
    spark = session_with(name, batch_settings(project, pipeline))
    try:
        yield spark
    finally:
        spark.stop()
