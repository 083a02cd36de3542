"""Why a driver ends, on queries that have failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from sluice.quality.breaker import SchemaDriftError
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.progress import ProgressFile
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.driver_files import ended_alone
from sluice.streams.position.fencing import FencedError
from tests.twins.clock import ManualClock
from tests.unit.spark.driver.queries import BusyQuery, Told, stream_of

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


def ended(check_fence: Callable[[], None]) -> tuple[ExitCode, ExitReport]:
    words, rows = ExitReport(), FailedQuery()
    stream = Stream(rows.name, as_rows(rows), lambda *_: None, Path("checkpoint"), 1.0, check_fence=check_fence)
    return Driver([stream], {}, exit_report=words).run(), words


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


def drifting(_rows: object, batch_id: int) -> None:
    if batch_id == 2:
        raise SchemaDriftError("batch 2 of departures: 80 of 100 records are quarantined.", fix="mend the producer.")


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
    words, query = ExitReport(), BusyQuery("departures")
    assert Driver([stream_of(query, drifting)], {}, exit_report=words).run(clock=ManualClock()) is ExitCode.SCHEMA_DRIFT
    assert words.failure is not None
    assert (words.failure.kind, words.failure.stream) == (FailureClass.SCHEMA_DRIFT, "departures")


class ToldQuery:
    """A query that runs no batch, and counts how often it is asked what it has done; also all that starts it."""

    name, isActive = "departures", True  # noqa: N815 - Spark's name

    def __init__(self, rows: int = 0, stop: StopRequest | None = None) -> None:
        self.rows, self.request, self.asked, self.until = rows, stop, 0, 40

    def __getattr__(self, _step: str) -> Callable[..., ToldQuery]:
        return lambda *_arguments, **_named: self

    @property
    def writeStream(self) -> ToldQuery:  # noqa: N802 - Spark's name
        return self

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": False}

    @property
    def lastProgress(self) -> Told:  # noqa: N802 - the same
        self.asked += 1
        if self.asked == self.until and self.request is not None:
            self.request.ask()
        return Told(self.rows)

    @property
    def stream(self) -> Stream:
        return Stream(self.name, cast(Any, self), lambda *_: None, Path("checkpoint"), 1.0)


@pytest.mark.parametrize(("rows", "seconds_a_check"), [(0, 1.0), (7, 0.25)], ids=["at rest", "at work"])
def test_a_stream_at_rest_is_checked_once_a_second(rows: int, seconds_a_check: float) -> None:
    clock, stop = ManualClock(), StopRequest()
    query = ToldQuery(rows, stop)
    assert Driver([query.stream], {}, stop=stop).run(clock=clock) is ExitCode.STOPPED
    assert clock.monotonic() / query.until == pytest.approx(seconds_a_check, abs=0.05)


def test_a_stop_at_rest_is_seen_within_a_quarter_of_a_second() -> None:
    stop = StopRequest()

    class Asking(ManualClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.monotonic() == 10.25:
                stop.ask()

    clock, query = Asking(), ToldQuery()
    assert Driver([query.stream], {}, stop=stop).run(clock=clock) is ExitCode.STOPPED
    assert clock.monotonic() == 10.25
