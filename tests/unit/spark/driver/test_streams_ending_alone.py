"""Streams that end alone: the others go on, and each is started again by the rules for its class of failure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.delta.writer_log import DataLossError
from sluice.errors import CorruptionError, RefusedError, UnreachableError
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
from tests.unit.spark.driver.queries import BusyQuery, Told, stream_of


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
    assert unit.queries[-1].batches > 3_000


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


@pytest.mark.parametrize("stuck", [False, True], ids=["its batch ends when told", "its batch does not end"])
def test_what_fails_beside_a_batch_that_waits_ends_its_stream_and_no_other(stuck: bool, tmp_path: Path) -> None:
    unit, done = Unit(tmp_path, again=False), list[str]()

    class WaitingBatch(BusyQuery):
        """A query whose batch waits in Python, so that a stop of it takes until that ends."""

        def stop(self) -> None:
            done.append("stop")
            if stuck:
                raise TimeoutError("Stream Execution thread for stream departures failed to stop within 60000 ms.")

    def fails() -> None:
        raise CorruptionError("offsets/7 is gone.")

    waiting = replace(
        stream_of(WaitingBatch("departures", lastProgress=Told(0)), lambda *_: None),
        between_batches=fails,
        give_up=lambda: done.append("give up"),
    )
    driver = Driver([stream_of(unit.raw, unit.keep), waiting], unit.progress, stop=unit.stop, exit_report=unit.words)
    assert driver.run(clock=unit.clock) is ExitCode.STOPPED
    assert unit.raw.batches > 20
    assert done[:2] == ["give up", "stop"]
    assert unit.said is not None
    assert unit.said.kind is FailureClass.CORRUPT
