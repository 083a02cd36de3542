"""Puts on record what a batch has used: its own processes, its part of a JVM that it shares, and its executors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from sluice.capacity.costs import CostReading, Work
from sluice.errors import SluiceError
from sluice.launch.cpu import TreeCpu
from sluice.launch.master_address import LOCAL
from sluice.observability.logs import get_logger
from sluice.project.project import Project

log = get_logger()


@contextmanager
def cost_recorded(project: Project, spark: SparkSession, work: Work, pipeline: str, run: str) -> Iterator[None]:
    """Put on record what this process has used when the block ends, however it ends. No fault in that fails the block.

    A JVM that is not below this process, such as the warm engine's, counts for as long as the block lasts, with what
    other batches do in it meanwhile.

    Args:
        project: whose control database has the record.
        spark: the batch's session.
        work: what the batch does.
        pipeline: for which.
        run: names this process; a batch that is run again is another process.
    """
    meter: _BatchMeter | None = None
    with _harmless():
        meter = _BatchMeter(spark)
    try:
        yield
    finally:
        with _harmless():
            if meter is not None:
                cpu, executors = meter.read()
                reading = CostReading(run, work, pipeline, cpu, executors)
                project.records.costs().observe([reading], project.clock.now())


@contextmanager
def _harmless() -> Iterator[None]:
    try:
        yield
    except (SluiceError, Py4JError, OSError, psutil.Error) as error:
        log.warning("what the batch has used is not on record", why=str(error))


class _BatchMeter:
    """Reads what this process, the JVM of its session, and its executors have used since it was made."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        jvm = psutil.Process(_pid(spark))
        self._shared = None if jvm in psutil.Process().children(recursive=True) else jvm
        self._before = 0.0 if self._shared is None else _seconds(self._shared)
        self._executors_before = task_seconds(spark)

    def read(self) -> tuple[float, float]:
        """Return the CPU seconds of processes, and the task seconds of executors."""
        used = TreeCpu().seconds() or 0.0
        if self._shared is not None:
            used += _seconds(self._shared) - self._before
        return used, max(0.0, task_seconds(self._spark) - self._executors_before)


def _pid(spark: SparkSession) -> int:
    """Return the id of the process of a session's JVM, which is on this machine."""
    factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no name for it
    return int(str(factory.getRuntimeMXBean().getName()).partition("@")[0])


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def task_seconds(spark: SparkSession) -> float:
    """Return for how long executors of a cluster have worked on tasks since the session began, those that are gone too.

    0 where the driver's own process runs the tasks, whose CPU time is counted.

    Raises:
        Py4JError: the JVM does not answer as expected.
        OSError: it has ended.
    """
    context = spark.sparkContext
    if (context.master or LOCAL).startswith(LOCAL):
        return 0.0
    found = context._jsc.sc().statusStore().executorList(False)  # noqa: SLF001 - the JVM's; PySpark has no name for it
    known = [found.apply(position) for position in range(found.size())]
    return sum(float(each.totalDuration()) for each in known if each.id() != "driver") / 1000
