"""Why a driver ends, on queries that have failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sluice.quality.breaker import SchemaDriftError
from sluice.spark.driver import Driver, Stream
from sluice.spark.last_words import LastWords
from sluice.spark.progress import ProgressFile
from sluice.spark.stopping import StopRequest
from sluice.streams.exits import ExitCode
from sluice.streams.failure import FailureClass
from sluice.streams.fencing import FencedError
from sluice.streams.last_report import ended_alone
from tests.twins.clock import ManualClock

LOST_THE_PLAN = Exception("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. SQLSTATE: 40000")


@dataclass
class FailedQuery:
    """A query of Spark's that has failed; also all that starts it."""

    name: str = "raw_flights"
    error: Exception = LOST_THE_PLAN
    isActive: bool = False  # noqa: N815 - Spark's name
    lastProgress: None = None  # noqa: N815 - the same

    def __getattr__(self, _step: str) -> Callable[..., FailedQuery]:
        return lambda *_arguments, **_named: self

    @property
    def writeStream(self) -> FailedQuery:  # noqa: N802 - Spark's name
        return self

    def exception(self) -> Exception:
        return self.error


def ended(check_fence: Callable[[], None]) -> tuple[ExitCode, LastWords]:
    words, rows = LastWords(), FailedQuery()
    stream = Stream(rows.name, as_rows(rows), lambda *_: None, Path("checkpoint"), 1.0, check_fence=check_fence)
    return Driver([stream], {}, last_words=words).run(), words


def as_rows(query: FailedQuery) -> Any:  # noqa: ANN401 - it stands for a DataFrame
    return query


def own() -> None:
    """Nobody newer is here."""


def taken() -> None:
    raise FencedError.of("tables/flights_raw", 2, 1)


def silent() -> None:
    raise OSError("the storage does not answer")


@pytest.mark.parametrize(
    ("check_fence", "exit_code"),
    [(own, ExitCode.TRANSIENT), (taken, ExitCode.FENCED), (silent, ExitCode.TRANSIENT)],
    ids=["it is the newest", "a newer one is here", "nobody can tell"],
)
def test_who_loses_a_race_for_the_checkpoint_is_fenced_only_if_a_newer_generation_is_here(
    check_fence: Callable[[], None], exit_code: ExitCode
) -> None:
    code, words = ended(check_fence)
    assert code is exit_code
    assert words.failure is not None
    assert words.failure.kind is FailureClass[exit_code.name]
    assert words.failure.stream == "raw_flights"


@dataclass
class BusyQuery:
    """A query that runs a batch whenever it is looked at, by the sink that it was given; also all that starts it."""

    name: str
    batches: int = 0
    error: Exception | None = None
    lastProgress: None = None  # noqa: N815 - Spark's name
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
            except SchemaDriftError as error:
                self.error = error
        return self.error is None

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": False}

    def exception(self) -> Exception | None:
        return self.error


def drifting(_rows: object, batch_id: int) -> None:
    if batch_id == 2:
        raise SchemaDriftError("batch 2 of departures: 80 of 100 records are quarantined.", fix="mend the producer.")


def stream_of(query: BusyQuery, sink: Callable[[Any, int], None]) -> Stream:
    rows: Any = query
    return Stream(query.name, rows, sink, Path("checkpoint"), 1.0)


def test_a_stream_that_its_breaker_stops_ends_alone_and_says_so_at_once(tmp_path: Path) -> None:
    raw, pipeline, stop = BusyQuery("raw_flights"), BusyQuery("departures"), StopRequest()
    file = tmp_path / "departures.json"
    progress = {"departures": ProgressFile(file, {"unit": "flights", "generation": 3})}

    def keep(_rows: object, batch_id: int) -> None:
        if batch_id == 20:
            stop.ask()

    driver = Driver([stream_of(raw, keep), stream_of(pipeline, drifting)], progress, stop=stop)
    assert driver.run(clock=ManualClock()) is ExitCode.STOPPED
    assert (raw.batches > 20, pipeline.batches) == (True, 2)
    said = ended_alone(file, 3)
    assert said is not None
    assert said.kind is FailureClass.SCHEMA_DRIFT
    assert said.message.startswith("batch 2 of departures: 80 of 100 records are quarantined.")
    assert ended_alone(file, 4) is None


def test_a_driver_whose_last_stream_its_breaker_stops_ends_with_that() -> None:
    words, query = LastWords(), BusyQuery("departures")
    assert Driver([stream_of(query, drifting)], {}, last_words=words).run(clock=ManualClock()) is ExitCode.SCHEMA_DRIFT
    assert words.failure is not None
    assert (words.failure.kind, words.failure.stream) == (FailureClass.SCHEMA_DRIFT, "departures")
