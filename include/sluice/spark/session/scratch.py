"""A short Spark session of its own: quiet, in a temporary folder, and gone with its JVM when it is closed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from sluice.errors import NotReadyError
from sluice.spark.session.preset import preset
from sluice.spark.session.session import session
from sluice.specs.model.resources import Resources

_EXIT_SECONDS = 30
_LAST_LINES = 4
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


@contextmanager
def scratch_session(
    name: str, resources: Resources, *, jars: Path, transforms: Path, overrides: Mapping[str, str]
) -> Iterator[SparkSession]:
    """Start a local session, and end its JVM at the end.

    Args:
        name: the application's name.
        resources: cores and memory.
        jars: the folder with Spark's jars.
        transforms: the folder with the package `transforms`; Python workers import from it.
        overrides: settings that win over the preset.

    Raises:
        NotReadyError: the jars are missing, or no JVM started.
    """
    with TemporaryDirectory(prefix="sluice-run-", ignore_cleanup_errors=True) as folder:
        log = Path(folder, "spark.log")
        java_options = overrides.get(_JAVA_OPTIONS, preset(resources)[_JAVA_OPTIONS])
        settings = {
            **overrides,
            # The optimizing compiler pays for itself after minutes: without it, seconds of CPU are saved.
            _JAVA_OPTIONS: f"{java_options} -XX:TieredStopAtLevel=1",
            "spark.ui.enabled": "false",
            "spark.local.dir": folder,
            "spark.executorEnv.PYTHONPATH": str(transforms),
        }
        with _output_into(log):
            try:
                spark = session(name, resources, jars=jars, warehouse=Path(folder), overrides=settings)
            except PySparkRuntimeError as error:
                raise NotReadyError(_why(log, error), fix="run `sluice doctor`.") from error
        try:
            yield spark
        finally:
            _end(spark)


@contextmanager
def _output_into(log: Path) -> Iterator[None]:
    """Let a process that starts now write into a file: a JVM keeps the descriptors that it inherits."""
    with log.open("wb") as file:
        kept = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)


def _why(log: Path, error: PySparkRuntimeError) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"Spark's JVM did not start: {'; '.join(lines[-_LAST_LINES:]) or error}."


def _end(spark: SparkSession) -> None:
    """Stop the session and wait for the JVM, which else lives until this process ends."""
    context = spark.sparkContext
    gateway = context._gateway  # noqa: SLF001 - PySpark gives no other way to its JVM
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_EXIT_SECONDS)
        type(context)._gateway = type(context)._jvm = None  # noqa: SLF001 - the next session starts a JVM again
