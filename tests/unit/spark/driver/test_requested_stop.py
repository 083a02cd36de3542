"""A stop that was requested: what runs is finished, nothing else begins, and nobody waits for what cannot come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sluice.errors import NotReadyError, UnreachableError
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream
from sluice.spark.sinks.preparation import DirectSink
from sluice.streams.failures.exits import ExitCode
from tests.twins.clock import ManualClock
from tests.unit.spark.driver.queries import Told

STOP_AT = 10.0
KILLED_AFTER = 60.0


class LaggingQuery:
    """A query that is behind: each batch takes some seconds, and the next begins at once; also all that starts it.

    Attributes:
        begun: when each batch began that its sink took.
        ended: how many of these are over.
        fails_at: when its batch fails.
        stopped_at: when it was stopped first.
    """

    sparkSession = SimpleNamespace(  # noqa: N815 - Spark's name
        sparkContext=SimpleNamespace(getConf=lambda: SimpleNamespace(contains=lambda _setting: True))
    )

    def __init__(self, clock: ManualClock, lasts: float, name: str = "departures") -> None:
        self.clock, self.lasts, self.name = clock, lasts, name
        self.begun: list[float] = []
        self.ended = 0
        self.fails_at = float("inf")
        self.stopped_at: float | None = None
        self.error: Exception | None = None
        self.sink: Callable[[Any, int], None] = lambda *_: None

    def __getattr__(self, _step: str) -> Callable[..., LaggingQuery]:
        return lambda *_arguments, **_named: self

    @property
    def writeStream(self) -> LaggingQuery:  # noqa: N802 - Spark's name
        return self

    def foreachBatch(self, sink: Callable[[Any, int], None]) -> LaggingQuery:  # noqa: N802 - the same
        self.sink = sink
        return self

    @property
    def isActive(self) -> bool:  # noqa: N802 - the same
        if self.error is None and self.clock.monotonic() >= self.fails_at:
            self.error = UnreachableError("no broker answers.")
        while self.error is None and self.stopped_at is None and self.clock.monotonic() >= self.lasts * len(self.begun):
            self.ended = len(self.begun)
            try:
                self.sink(None, self.ended)
            except Exception as error:  # noqa: BLE001 - whatever a sink raises ends a query
                self.error = error
            else:
                self.begun.append(self.lasts * self.ended)
        return self.error is None and self.stopped_at is None

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": self.isActive, "isDataAvailable": True}

    @property
    def lastProgress(self) -> Told | None:  # noqa: N802 - the same
        return Told(7, json=str(self.ended)) if self.ended else None

    def exception(self) -> Exception | None:
        return self.error

    def stop(self) -> None:
        self.stopped_at = self.clock.monotonic() if self.stopped_at is None else self.stopped_at

    @property
    def stream(self) -> Stream:
        return Stream(self.name, cast(Any, self), lambda *_: None, Path("checkpoint"), 1.0)


def stopped(clock: ManualClock, streams: Sequence[Stream], words: ExitReport | None = None) -> ExitCode:
    """Run a driver that is asked to stop at `STOP_AT`."""
    request = StopRequest()

    def ask() -> bool:
        if clock.monotonic() >= STOP_AT:
            request.ask()
        return True

    return Driver(streams, {}, stop=request, exit_report=words, update=ask).run(clock=clock)


def test_streams_that_are_behind_finish_their_batch_and_begin_no_other() -> None:
    clock = ManualClock()
    queries = [LaggingQuery(clock, 4.0, "raw_flights"), LaggingQuery(clock, 7.0, "departures")]
    assert stopped(clock, [query.stream for query in queries]) is ExitCode.STOPPED
    assert clock.monotonic() == pytest.approx(14.0, abs=0.5)
    assert [query.begun for query in queries] == [[0.0, 4.0, 8.0], [0.0, 7.0]]
    assert [query.ended for query in queries] == [3, 2]


def test_spark_s_own_sink_is_stopped_after_the_batch_that_ran() -> None:
    clock = ManualClock()
    query = LaggingQuery(clock, 4.0)
    stream = replace(query.stream, sink=DirectSink({}, lambda: None, in_real_time=False))
    assert stopped(clock, [stream]) is ExitCode.STOPPED
    assert query.ended == 3
    assert query.stopped_at == pytest.approx(12.0, abs=0.1)


def test_a_batch_that_takes_too_long_is_stopped_before_the_driver_is_killed() -> None:
    clock = ManualClock()
    query = LaggingQuery(clock, 600.0)
    assert stopped(clock, [query.stream]) is ExitCode.STOPPED
    assert 40 < clock.monotonic() - STOP_AT < KILLED_AFTER - 10


class Waits:
    """What a batch does that waits for another stream: it ends when it is told to give up."""

    def __init__(self, query: LaggingQuery, told: list[str]) -> None:
        self.query, self.told = query, told

    @property
    def stream(self) -> Stream:
        return replace(self.query.stream, waits=lambda: True, give_up=self.give_up)

    def give_up(self) -> None:
        if self.query.stopped_at is None and self.query.error is None:
            self.told.append(self.query.name)
            self.query.error = NotReadyError("the driver stops before it is settled.")


def test_a_batch_that_waits_for_a_stream_is_given_up_once_no_other_batch_runs() -> None:
    clock, told = ManualClock(), list[str]()
    raw = LaggingQuery(clock, 7.0, "raw_flights")
    waiting = [Waits(LaggingQuery(clock, 600.0, name), told) for name in ("departures", "delays")]
    assert stopped(clock, [raw.stream, *(each.stream for each in waiting)]) is ExitCode.STOPPED
    assert raw.ended == 2
    assert told == ["departures", "delays"]
    assert clock.monotonic() == pytest.approx(14.0 + 2.0, abs=0.5)


def test_a_stop_tells_all_streams_before_it_waits_for_one() -> None:
    clock, told = ManualClock(), list[str]()

    class SlowToStop(LaggingQuery):
        def stop(self) -> None:
            told.append("stop")
            super().stop()

    waiting = [Waits(SlowToStop(clock, 600.0, name), told) for name in ("departures", "delays")]
    assert stopped(clock, [each.stream for each in waiting]) is ExitCode.STOPPED
    assert told[:3] == ["departures", "delays", "stop"]


def test_what_is_given_up_beside_batches_is_no_failure() -> None:
    clock, words = ManualClock(), ExitReport()
    query = LaggingQuery(clock, 4.0)

    def settle() -> None:
        if not query.isActive:
            raise NotReadyError("the driver stops before it is settled.")

    assert stopped(clock, [replace(query.stream, between_batches=settle)], words) is ExitCode.STOPPED
    assert words.failure is None


def test_a_batch_that_fails_after_the_request_is_a_failure() -> None:
    clock, words = ManualClock(), ExitReport()
    query = LaggingQuery(clock, 4.0)
    query.fails_at = STOP_AT + 1.0
    assert stopped(clock, [query.stream, LaggingQuery(clock, 7.0, "delays").stream], words) is ExitCode.TRANSIENT
    assert words.failure is not None
    assert words.failure.stream == "departures"
