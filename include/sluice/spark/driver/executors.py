"""Writes which executors a driver has into a file of its unit: only the driver knows, and without one nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock
from sluice.launch.master_address import LOCAL
from sluice.observability.logs import get_logger
from sluice.spark.driver.progress import replace_if_possible
from sluice.spark.session.batch_cost import task_seconds

log = get_logger()

_SECONDS = 2.0
_DRIVER = "driver"


class UnitFile:
    """Writes the file at the start and whenever something in it changes.

    Args:
        path: the unit's file.
        identity: unit, generation, the address of the Spark UI, the code hash of each pipeline, and what is warned of.
        executors: returns how many there are, and their cores; None where the driver itself runs the tasks.
        clock: gives the time.
    """

    def __init__(
        self,
        path: Path,
        identity: dict[str, Any],
        executors: Callable[[], tuple[int, int] | None],
        clock: Clock | None = None,
    ) -> None:
        self._path = path
        self._identity = identity
        self._executors = executors
        self._clock = clock or SystemClock()
        self._written: tuple[int, int] | None = None
        self._next: float | None = None
        self._on_file = False

    def update(self) -> bool:
        """Observe them, at most every two seconds, and write what is new. Return whether one can run a task."""
        if self._next is None or self._clock.monotonic() >= self._next:
            self._observe()
        return self._written is None or self._written[0] > 0

    def _observe(self) -> None:
        first, self._next = self._next is None, self._clock.monotonic() + _SECONDS
        found = self._executors()
        if found == self._written and self._on_file:
            return
        self._written = found
        count, cores = found or (None, None)
        if not first:
            log.info("executors changed", executors=count, cores=cores)
        since = {"executors": count, "cores": cores, "since": self._clock.now().isoformat()}
        self._on_file = replace_if_possible(self._path, {**self._identity, **since})


def task_seconds_of(spark: SparkSession) -> Mapping[str, float]:
    """Return what `task_seconds` says, as `executor_seconds`; empty where there are no executors.

    Raises:
        Py4JError: its JVM does not answer as expected.
        OSError: it has ended.
    """
    if (spark.sparkContext.master or LOCAL).startswith(LOCAL):
        return {}
    return {"executor_seconds": task_seconds(spark)}


def executors_of(spark: SparkSession) -> tuple[int, int] | None:
    """Return how many executors a session has and how many cores these have together; None if it needs none."""
    context = spark.sparkContext
    if (context.master or LOCAL).startswith(LOCAL):
        return None
    found = context._jsc.sc().statusStore().executorList(True)  # noqa: SLF001 - the JVM's; PySpark has no name for it
    living = [found.apply(position) for position in range(found.size())]
    cores = [int(executor.totalCores()) for executor in living if executor.id() != _DRIVER]
    return len(cores), sum(cores)
