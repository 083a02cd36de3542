"""The Spark session of every driver."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from sluice.settings import environment
from sluice.spark.session.callbacks import authenticate_callbacks
from sluice.spark.session.java_start import output_off_the_terminal, start_variables
from sluice.spark.session.preset import effective_settings
from sluice.specs.model.resources import Resources

_REPEATING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""PySpark logs every error that it raises, with its plan; who catches the error says what matters of it."""


def session(
    name: str,
    resources: Resources,
    *,
    jars: Path,
    warehouse: Path,
    master: str = "local",
    overrides: Mapping[str, str] | None = None,
    archive: Path | None = None,
) -> SparkSession:
    """Start (or return) the session; the arguments are those of `effective_settings`.

    Raises:
        NotReadyError: the jars are missing.
    """
    return session_with(
        name,
        effective_settings(
            resources, jars=jars, warehouse=warehouse, master=master, overrides=overrides, archive=archive
        ),
    )


def session_with(name: str, settings: Mapping[str, str], files: Path | None = None) -> SparkSession:
    """Start (or return) the session that has these settings.

    Under spark-submit the JVM runs already: what only its start can set (memory, jars) it must have been given there.

    Args:
        name: shown in Spark's UI.
        settings: by Spark's names.
        files: the folder with the settings by which its cluster knows it; None: it asks for none.
    """
    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    for repeating in _REPEATING_LOGGERS:
        logging.getLogger(repeating).setLevel(logging.CRITICAL)
    os.environ.update(start_variables(environment(), settings=files))  # noqa: TID251 - the JVM inherits it
    with output_off_the_terminal():
        spark = builder.getOrCreate()
    authenticate_callbacks(spark.sparkContext._gateway)  # noqa: SLF001 - PySpark keeps it nowhere else
    # Only spark-submit reads `spark.pyspark.python`: a plain Python process starts its workers by PATH's `python3`.
    spark.sparkContext.pythonExec = sys.executable
    return spark


@contextmanager
def settings_for(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set options of the session for the queries that start inside this block: each keeps those of its start."""
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
