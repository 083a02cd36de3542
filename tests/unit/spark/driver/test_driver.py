"""Why a driver ends, on queries that have failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from sluice.delta.writer_log import DataLossError
from sluice.errors import CorruptionError, RefusedError, UnreachableError
from sluice.quality.breaker import SchemaDriftError
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.progress import ProgressFile
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.life.driver_files import ended_alone
from sluice.streams.position.fencing import FencedError
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


@dataclass
class BusyQuery:
    """A query that runs a batch whenever it is checked, by the sink that it was given; also all that starts it."""

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
            except Exception as error:  # noqa: BLE001 - whatever a sink raises ends a query
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
    words, query = ExitReport(), BusyQuery("departures")
    assert Driver([stream_of(query, drifting)], {}, exit_report=words).run(clock=ManualClock()) is ExitCode.SCHEMA_DRIFT
    assert words.failure is not None
    assert (words.failure.kind, words.failure.stream) == (FailureClass.SCHEMA_DRIFT, "departures")


def test_a_stop_tells_all_streams_before_it_waits_for_one() -> None:
    stop, told = StopRequest(), []

    class WaitingQuery(BusyQuery):
        """Its batch waits for another stream, and ends when it is told to give up."""

        def stop(self) -> None:
            assert told == ["raw_flights", "departures"]

    def waits(_rows: object, _batch_id: int) -> None:
        stop.ask()

    def gives_up(name: str) -> None:
        told.append(name)

    streams = [
        replace(stream_of(WaitingQuery(name), waits), give_up=partial(gives_up, name))
        for name in ("raw_flights", "departures")
    ]
    assert Driver(streams, {}, stop=stop).run(clock=ManualClock()) is ExitCode.STOPPED
    assert told == ["raw_flights", "departures"]


class Unit:
    """A raw stream that works, and a pipeline's whose sink fails as a test says; stopped after `batches` of the raw."""

    def __init__(self, folder: Path, *failures: Exception, batches: int = 20, again: bool = True) -> None:
        self.left, self.opened, self.clock = list(failures), 0, ManualClock()
        self.words = ExitReport(clock=self.clock)
        self.raw, self.queries = BusyQuery("raw_flights"), [BusyQuery("departures")]
        self.stop, self.batches, self.again = StopRequest(), batches, again
        self.file = folder / "departures.json"
        self.progress = {"departures": ProgressFile(self.file, {"unit": "flights", "generation": 3})}

    def run(self) -> ExitCode:
        pipeline = replace(self.pipeline(self.queries[0]), opened_again=self.open_again if self.again else None)
        driver = Driver(
            [stream_of(self.raw, self.keep), pipeline], self.progress, stop=self.stop, exit_report=self.words
        )
        return driver.run(clock=self.clock)

    def keep(self, _rows: object, batch_id: int) -> None:
        if batch_id == self.batches:
            self.stop.ask()

    def pipeline(self, query: BusyQuery) -> Stream:
        return stream_of(query, self.fail)

    def fail(self, _rows: object, _batch_id: int) -> None:
        if self.left:
            raise self.left.pop(0)

    def open_again(self) -> Stream:
        self.opened += 1
        self.queries.append(BusyQuery("departures"))
        return replace(self.pipeline(self.queries[-1]), opened_again=self.open_again)

    @property
    def said(self) -> Failure | None:
        return ended_alone(self.file, 3)


def test_a_transform_that_fails_ends_its_own_stream_and_the_raw_stream_goes_on(tmp_path: Path) -> None:
    unit = Unit(tmp_path, KeyError("dep_delay"))
    assert unit.run() is ExitCode.STOPPED
    assert unit.raw.batches > 20
    assert unit.said is not None
    assert (unit.said.kind, unit.said.stream) == (FailureClass.CODE, "departures")
    assert unit.words.failure is None


def test_a_stream_that_fails_while_another_one_is_dealt_with_ends_alone_too(tmp_path: Path) -> None:
    unit = Unit(tmp_path, KeyError("dep_delay"))
    first, fallen = BusyQuery("departures_live"), unit.left

    def fall_next(_rows: object, _batch_id: int) -> None:
        if not fallen:
            raise KeyError("dep_delay")

    streams = [stream_of(first, fall_next), unit.pipeline(unit.queries[0]), stream_of(unit.raw, unit.keep)]
    driver = Driver(streams, unit.progress, stop=unit.stop, exit_report=unit.words)
    assert driver.run(clock=unit.clock) is ExitCode.STOPPED
    assert (first.isActive, unit.queries[0].isActive) == (False, False)
    assert unit.raw.batches > 20


def test_what_time_heals_is_started_again_with_its_outputs_read_anew(tmp_path: Path) -> None:
    unit = Unit(tmp_path, UnreachableError("the database is silent."), UnreachableError("still."), batches=4000)
    assert unit.run() is ExitCode.STOPPED
    assert unit.opened == 2
    assert unit.queries[-1].batches > 0
    assert unit.queries[-1].error is None


def test_a_stream_that_cannot_be_opened_again_is_tried_later(tmp_path: Path) -> None:
    unit = Unit(tmp_path, UnreachableError("the database is silent."), batches=4000)
    open_again, tries = unit.open_again, []

    def silent_twice() -> Stream:
        tries.append(unit.clock.now())
        if len(tries) < 3:
            raise UnreachableError("still.")
        return open_again()

    unit.open_again = silent_twice  # type: ignore[method-assign]  the first answer is in the way
    assert unit.run() is ExitCode.STOPPED
    assert len(tries) == 3
    assert tries[2] - tries[1] > tries[1] - tries[0]
    assert unit.queries[-1].batches > 0


def test_a_stream_that_cannot_be_opened_again_is_given_up_however_long_it_had_lived(tmp_path: Path) -> None:
    unit = Unit(tmp_path, batches=8_000)
    fell_at = unit.clock.now() + timedelta(minutes=11)

    def falls(_rows: object, _batch_id: int) -> None:
        if unit.clock.now() >= fell_at:
            raise KeyError("dep_delay")

    def refused() -> Stream:
        unit.opened += 1
        raise RefusedError("the table has other columns.")

    unit.fail, unit.open_again = falls, refused  # type: ignore[method-assign]  it falls after a long life
    assert unit.run() is ExitCode.STOPPED
    assert unit.clock.now() > fell_at + timedelta(minutes=5)
    assert unit.opened == 2
    assert unit.said is not None
    assert unit.said.again_at is None


def test_while_it_waits_its_verdict_says_when_it_is_started_again(tmp_path: Path) -> None:
    unit = Unit(tmp_path, UnreachableError("the database is silent."))
    unit.run()
    assert unit.said is not None
    assert unit.said.again_at is not None
    assert timedelta(seconds=15) <= unit.said.again_at - unit.said.at <= timedelta(seconds=30)


def test_code_that_fails_again_and_again_is_given_up(tmp_path: Path) -> None:
    unit = Unit(tmp_path, *[KeyError("dep_delay")] * 9, batches=4000)
    assert unit.run() is ExitCode.STOPPED
    assert unit.opened == 2
    assert unit.said is not None
    assert unit.said.again_at is None


@pytest.mark.parametrize("failure", [CorruptionError("offsets/7 is gone."), DataLossError("records are gone.")])
def test_what_a_repetition_repeats_is_not_started_again(failure: Exception, tmp_path: Path) -> None:
    unit = Unit(tmp_path, failure, batches=4000)
    assert unit.run() is ExitCode.STOPPED
    assert unit.opened == 0


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (MemoryError(), ExitCode.OUT_OF_MEMORY),
        (FencedError.of("tables/departures", 4, 3), ExitCode.FENCED),
        (Exception("py4j.protocol.Py4JNetworkError: Answer from Java side is empty"), ExitCode.JVM_LOST),
    ],
    ids=["memory", "fence", "jvm"],
)
def test_what_concerns_all_streams_ends_all(failure: Exception, code: ExitCode, tmp_path: Path) -> None:
    unit = Unit(tmp_path, failure)
    assert unit.run() is code
    assert unit.raw.batches < 20
    assert unit.words.failure is not None
    assert unit.words.failure.stream == "departures"


def test_a_driver_of_which_nothing_is_left_ends_with_the_failure_of_the_last(tmp_path: Path) -> None:
    unit = Unit(tmp_path, KeyError("dep_delay"), again=False)

    def fall(_rows: object, batch_id: int) -> None:
        if batch_id == 5:
            raise UnreachableError("no broker answers.")

    unit.keep = fall  # type: ignore[method-assign]  the raw stream falls later
    assert unit.run() is ExitCode.TRANSIENT
    assert unit.words.failure is not None
    assert unit.words.failure.stream == "raw_flights"


def test_a_bounded_driver_lets_the_others_finish_and_fails(tmp_path: Path) -> None:
    pipeline, raw = BusyQuery("departures"), BusyQuery("raw_flights")

    def finish(_rows: object, batch_id: int) -> None:
        if batch_id == 9:
            raise UnreachableError("the end of this test.")

    words = ExitReport()
    driver = Driver(
        [stream_of(raw, finish), stream_of(pipeline, Unit(tmp_path, KeyError("x")).fail)], {}, exit_report=words
    )
    assert driver.run(available_now=True, clock=ManualClock()) is ExitCode.TRANSIENT
    assert raw.batches == 9


@dataclass
class Told:
    """What Spark says of a batch."""

    numInputRows: int  # noqa: N815 - Spark's name
    sources: tuple[()] = ()
    json: str = '{"batchId": 1, "timestamp": "2013-01-01T00:00:00.000Z", "runId": "r", "numInputRows": 0}'


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
