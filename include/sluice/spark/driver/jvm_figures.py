"""What a driver's JVM says of itself by its management beans (JMX): heap, garbage collection, threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from sluice.clock import Clock, SystemClock

_SECONDS = 10.0
"""A dozen calls to the JVM, which many short batches need not pay each."""


class JvmFigures:
    """Asks the beans of a JVM, at most every ten seconds.

    Args:
        beans: asks them.
        clock: gives the time.
    """

    def __init__(self, beans: Callable[[], Mapping[str, float]], clock: Clock | None = None) -> None:
        self._beans = beans
        self._clock = clock or SystemClock()
        self._next: float | None = None
        self._newest: Mapping[str, float] | None = None

    def newest(self) -> Mapping[str, float] | None:
        """Return the newest figures by their names in the log of batches; None if the JVM does not say them."""
        if self._next is None or self._clock.monotonic() >= self._next:
            self._next = self._clock.monotonic() + _SECONDS
            try:
                self._newest = self._beans()
            except (Py4JError, OSError):  # it is about to end, which others notice
                self._newest = None
        return self._newest


def beans_of(spark: SparkSession) -> Mapping[str, float]:
    """Return what the JVM of a session says now: bytes of the heap, seconds of garbage collection, threads.

    Raises:
        Py4JError: it does not answer as expected.
        OSError: it has ended.
    """
    factory = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no name for it
    heap = factory.getMemoryMXBean().getHeapMemoryUsage()
    return {
        "heap_used_bytes": float(heap.getUsed()),
        "heap_max_bytes": float(heap.getMax()),
        "gc_seconds": sum(bean.getCollectionTime() for bean in factory.getGarbageCollectorMXBeans()) / 1000,
        "threads": float(factory.getThreadMXBean().getThreadCount()),
    }
