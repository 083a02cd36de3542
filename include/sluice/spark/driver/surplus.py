"""Gives back executors that a unit's streams hardly use, where its cores are bounds.

Spark's dynamic allocation gives back an executor that had no task for a while. A stream that reads a few records each
few seconds never lets that happen: Spark spreads its short tasks over all executors there are. So here it is counted
how long they worked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from threading import Thread

from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock
from sluice.observability.logs import get_logger

log = get_logger()

WINDOW_SECONDS = 30.0
SHARE = 0.25
"""Cores are given back until this share of them was at work. With less, tasks of the next batch would wait for a core,
and Spark would ask for the same executors again."""
_DRIVER = "driver"


@dataclass(frozen=True)
class ExecutorLoad:
    """What an executor does.

    Attributes:
        name: Spark's id of it.
        cores: how many tasks it runs at once.
        task_seconds: how long its tasks have taken since it came, those that have ended.
        tasks: how many it runs now.
        kept: how many blocks of rows it keeps for a batch: they would be lost with it.
    """

    name: str
    cores: int
    task_seconds: float
    tasks: int
    kept: int


def surplus(
    before: Mapping[str, float], now: Sequence[ExecutorLoad], *, seconds: float, least_cores: int
) -> tuple[str, ...]:
    """Return the executors that may go: none that works, keeps rows, or came within the time that was measured.

    Args:
        before: `task_seconds` of each executor at the beginning of that time.
        now: all that live.
        seconds: how long it was.
        least_cores: so many stay in any case.
    """
    worked = sum(max(0.0, each.task_seconds - before.get(each.name, 0.0)) for each in now)
    needed = max(least_cores, ceil(worked / seconds / SHARE))
    left, going = sum(each.cores for each in now), []
    for each in now:
        free = each.name in before and not each.tasks and not each.kept
        if free and left - each.cores >= needed:
            left -= each.cores
            going.append(each.name)
    return tuple(going)


class SurplusExecutors:
    """Looks again and again how long the executors of a session have worked, and gives back those that are too many.

    Args:
        least_cores: so many stay in any case.
        loads: returns what each executor does.
        release: gives executors back, by their names; one that has got a task in the meantime stays.
        clock: gives the time.
    """

    def __init__(
        self,
        least_cores: int,
        loads: Callable[[], Sequence[ExecutorLoad]],
        release: Callable[[Sequence[str]], None],
        clock: Clock | None = None,
    ) -> None:
        self._least_cores = least_cores
        self._loads = loads
        self._release = release
        self._clock = clock or SystemClock()
        self._began: float | None = None
        self._before: Mapping[str, float] = {}

    def update(self) -> None:
        """Give back what is too many, once in a while; otherwise do nothing."""
        now = self._clock.monotonic()
        if self._began is not None and now - self._began < WINDOW_SECONDS:
            return
        found = self._loads()
        if self._began is not None:
            seconds = now - self._began
            if going := surplus(self._before, found, seconds=seconds, least_cores=self._least_cores):
                log.info("executors are given back", executors=list(going), of=len(found))
                self._release(going)
        self._began, self._before = now, {each.name: each.task_seconds for each in found}


def loads_of(spark: SparkSession) -> list[ExecutorLoad]:
    """Return what each executor of a session does."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(True)  # noqa: SLF001 - the JVM's; PySpark has no name for it
    living = [found.apply(position) for position in range(found.size())]
    return [
        ExecutorLoad(
            str(each.id()),
            int(each.totalCores()),
            int(each.totalDuration()) / 1000,
            int(each.activeTasks()),
            int(each.rddBlocks()),
        )
        for each in living
        if each.id() != _DRIVER
    ]


def release_from(spark: SparkSession, names: Sequence[str]) -> None:
    """Give executors of a session back, unless they have a task; how many dynamic allocation asks for stays.

    Nobody waits for it: a master that has just died answers after minutes, and a driver may be asked to stop meanwhile.
    What could not be given back is found again.
    """
    Thread(target=_release, args=(spark, list(names)), name="surplus-executors", daemon=True).start()


def _release(spark: SparkSession, names: list[str]) -> None:
    try:
        context, jvm = spark.sparkContext, spark._jvm  # noqa: SLF001 - the JVM's; PySpark has no name for it
        assert jvm is not None  # noqa: S101 - a session has one
        backend = context._jsc.sc().schedulerBackend()  # noqa: SLF001
        backend.killExecutors(jvm.PythonUtils.toSeq(names), False, False, False)
    except Exception:
        log.warning("executors could not be given back", executors=names, exc_info=True)
