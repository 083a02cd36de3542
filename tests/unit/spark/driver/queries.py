"""Queries of Spark's as the driver sees them, and streams that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.spark.driver.stream_run import Stream


@dataclass
class BusyQuery:
    """A query that runs a batch whenever it is checked, by the sink that it was given; also all that starts it."""

    name: str
    batches: int = 0
    error: Exception | None = None
    lastProgress: Told | None = None  # noqa: N815 - Spark's name
    sink: Callable[[Any, int], None] = lambda *_: None

    def foreachBatch(self, sink: Callable[[Any, int], None]) -> BusyQuery:  # noqa: N802 - Spark's name
        self.sink = sink
        return self

    def __getattr__(self, _step: str) -> Callable[..., BusyQuery]:
        return lambda *_arguments, **_named: self

    @property
    def writeStream(self) -> BusyQuery:  # noqa: N802 - Spark's name
        return self

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        if self.error is None:
            try:
                self.sink(None, self.batches)
                self.batches += 1
            except Exception as error:  # noqa: BLE001 - whatever a sink raises ends a query
                self.error = error
        return self.error is None

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": False}

    def exception(self) -> Exception | None:
        return self.error


@dataclass
class Told:
    """What Spark says of a batch."""

    numInputRows: int  # noqa: N815 - Spark's name
    sources: tuple[()] = ()
    json: str = '{"batchId": 1, "timestamp": "2013-01-01T00:00:00.000Z", "runId": "r", "numInputRows": 0}'


def stream_of(query: BusyQuery, sink: Callable[[Any, int], None]) -> Stream:
    rows: Any = query
    return Stream(query.name, rows, sink, Path("checkpoint"), 1.0)
