"""Turns an exception of a driver, Python's or the JVM's, into the chain that `classify` judges."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

from sluice.streams.failures.classification import Thrown

_DEEPEST = 16
"""A chain that is longer repeats itself."""
_GATEWAY_GONE = "py4j.GatewayGone"
_END_SECONDS = 1.0


def causes(error: BaseException) -> Iterator[Thrown]:
    """Yield an exception and its causes, outermost first, across the border to the JVM; of a group, those of each."""
    yield from _chain(error)
    yield from _end_of_the_jvm()


def _chain(error: BaseException) -> Iterator[Thrown]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(seen) < _DEEPEST:
        seen.add(id(current))
        java = _java_side(current)
        yield from [_python(current)] if java is None else _java(java)
        for member in getattr(current, "exceptions", ()):
            yield from _chain(member)
        current = _cause(current)


def _end_of_the_jvm() -> Iterator[Thrown]:
    """Yield that Spark's JVM has died beneath this process, if so: what falls over that may look like anything."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext  # noqa: PLC0415 - who fails before it needs Spark does not wait for the import

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark gives no other way to its JVM
    if process is None:
        return
    with suppress(TimeoutExpired):  # its sockets close before it is gone
        yield Thrown(_GATEWAY_GONE, f"Spark's JVM ended with code {process.wait(_END_SECONDS)}")


def _cause(error: BaseException) -> BaseException | None:
    """Return what an exception was raised from; PySpark keeps the cause of a query's end under a name of its own."""
    behind: BaseException | None = getattr(error, "_cause", None) or error.__cause__
    return behind or (None if error.__suppress_context__ else error.__context__)


def _python(error: BaseException) -> Thrown:
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    if isinstance(error, ConnectionError | EOFError) and _raised_by_the_gateway(error):
        name = _GATEWAY_GONE  # the peer is Spark's JVM on this machine, not a broker
    return Thrown(name, _message(error))


def _raised_by_the_gateway(error: BaseException) -> bool:
    return any(Path(frame.filename).parent.name == "py4j" for frame in traceback.extract_tb(error.__traceback__))


def _java_side(error: BaseException) -> Any | None:  # noqa: ANN401 - py4j's proxy of a Throwable
    """Return the JVM's exception behind one of py4j's or PySpark's; None if there is none."""
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def _java(throwable: Any) -> Iterator[Thrown]:  # noqa: ANN401 - see above
    try:
        for _ in range(_DEEPEST):
            if throwable is None:
                return
            yield Thrown(str(throwable.getClass().getName()), str(throwable.getMessage() or ""))
            throwable = throwable.getCause()
    except Exception as error:  # noqa: BLE001 - the JVM may die while it is asked
        yield _python(error)


def _message(error: BaseException) -> str:
    """Return what an exception says of itself; PySpark's ask the JVM, which may be gone."""
    try:
        return str(getattr(error, "_desc", None) or error)  # PySpark's str() has the JVM's stack in it
    except Exception as lost:  # noqa: BLE001 - see above
        return f"(its message is lost: {type(lost).__name__})"
