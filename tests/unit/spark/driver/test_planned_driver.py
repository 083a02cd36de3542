"""Drivers that end by themselves: once they have read what was there, or once nothing has come for long enough."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import UnreachableError
from sluice.spark.driver.driver import Driver
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.progress import ProgressFile
from sluice.spark.driver.stopping import StopRequest
from sluice.spark.driver.stream_run import Stream
from sluice.specs.model.schedule import RunPlan
from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.driver_files import is_done
from tests.twins.clock import ManualClock

IDLE = timedelta(minutes=5)
STEP = 10.0


@dataclass(frozen=True)
class SourceRange:
    """What Spark says that a check has found of one source."""

    startOffset: str = '{"flights":{"0":60}}'  # noqa: N815 - Spark's name
    endOffset: str = '{"flights":{"0":60}}'  # noqa: N815 - the same


@dataclass
class Progress:
    """What Spark says of the newest check."""

    numInputRows: int  # noqa: N815 - Spark's name
    sources: Sequence[SourceRange] = (SourceRange(),)

    @property
    def json(self) -> str:
        return json.dumps({"batchId": 0, "timestamp": "t", "runId": "r", "numInputRows": self.numInputRows})


@dataclass
class CalmQuery:
    """A query that reads what a test lets come, by the clock; also all that starts it.

    Attributes:
        comes: returns how many records the check at a time (seconds) finds.
        lasts: after how many seconds it ends by itself, as one that reads what is there now.
        error: what then ended it.
    """

    clock: ManualClock
    comes: Callable[[float], int]
    lasts: float | None = None
    error: Exception | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    stopped: bool = False

    @property
    def writeStream(self) -> CalmQuery:  # noqa: N802 - Spark's name
        return self

    def trigger(self, **asked: Any) -> CalmQuery:  # noqa: ANN401 - Spark's
        self.asked = asked
        return self

    def __getattr__(self, _step: str) -> Callable[..., CalmQuery]:
        return lambda *_arguments, **_named: self

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        return not self.stopped and (self.lasts is None or self.clock.monotonic() < self.lasts)

    @property
    def lastProgress(self) -> Progress:  # noqa: N802 - Spark's name
        return Progress(self.comes(self.clock.monotonic()))

    @property
    def status(self) -> dict[str, bool]:
        return {"isTriggerActive": False, "isDataAvailable": False}

    def exception(self) -> Exception | None:
        return self.error

    def stop(self) -> None:
        self.stopped = True


def streams(queries: Sequence[CalmQuery]) -> list[Stream]:
    return [
        Stream(f"s{n}", cast(Any, query), lambda *_: None, Path("checkpoint"), 1.0) for n, query in enumerate(queries)
    ]


def after(seconds: float, stop: StopRequest, clock: ManualClock) -> Callable[[], bool]:
    """Ask for a stop after so long."""

    def update() -> bool:
        if clock.monotonic() >= seconds:
            stop.ask()
        return True

    return update


@given(st.lists(st.floats(0, 1_200), max_size=4), st.lists(st.floats(0, 1_200), max_size=4))
def test_it_ends_once_no_stream_had_anything_to_read_for_so_long_and_not_before(
    one: list[float], other: list[float]
) -> None:
    clock, stop = ManualClock(), StopRequest()
    begun = clock.monotonic()
    moments = sorted(begun + moment for moment in (*one, *other))

    def comes(of: list[float]) -> Callable[[float], int]:
        return lambda now: sum(now - STEP < begun + moment <= now for moment in of)

    queries = [CalmQuery(clock, comes(one)), CalmQuery(clock, comes(other))]
    driver = Driver(streams(queries), {}, stop=stop, plan=RunPlan(None, IDLE), update=after(begun + 3_000, stop, clock))
    assert driver.run(clock=clock) is ExitCode.IDLE
    ended, last = clock.monotonic(), begun
    for moment in moments:  # the first break that is long enough ends it
        if moment - last > IDLE.total_seconds() + 2 * STEP:
            break
        last = max(last, moment) if moment <= ended else last
    assert ended - last >= IDLE.total_seconds() - 1
    assert ended - last <= IDLE.total_seconds() + 3 * STEP
    assert all(query.stopped for query in queries)
    assert all("processingTime" in query.asked for query in queries)


class SettlerQuery(CalmQuery):
    """A query whose batches are ranges of offsets, of which it reads no row."""

    @property
    def lastProgress(self) -> Progress:  # noqa: N802 - Spark's name
        came = self.comes(self.clock.monotonic())
        return Progress(0, [SourceRange(endOffset=f'{{"flights":{{"0":{60 + came}}}}}')])


class SlowQuery(CalmQuery):
    """A query that says nothing of a batch before its end."""

    @property
    def lastProgress(self) -> Progress:  # noqa: N802 - Spark's name
        return Progress(0)

    @property
    def status(self) -> dict[str, bool]:
        at_work = bool(self.comes(self.clock.monotonic()))
        return {"isTriggerActive": at_work, "isDataAvailable": at_work}


@pytest.mark.parametrize("kind", [SettlerQuery, SlowQuery])
def test_a_batch_that_has_no_rows_or_is_not_over_is_no_rest(kind: type[CalmQuery]) -> None:
    clock = ManualClock()
    at_work = (clock.monotonic() + 100, clock.monotonic() + 250)
    query = kind(clock, lambda now: 7 if at_work[0] <= now < at_work[1] else 0)
    driver = Driver(streams([query]), {}, plan=RunPlan(None, IDLE))
    assert driver.run(clock=clock) is ExitCode.IDLE
    assert clock.monotonic() >= at_work[1] + IDLE.total_seconds()


def test_a_driver_without_a_plan_goes_on_however_little_comes() -> None:
    clock, stop = ManualClock(), StopRequest()
    query = CalmQuery(clock, lambda _: 0)
    driver = Driver(streams([query]), {}, stop=stop, update=after(clock.monotonic() + 3_000, stop, clock))
    assert driver.run(clock=clock) is ExitCode.STOPPED


def test_a_stop_that_comes_first_is_a_stop() -> None:
    clock, stop = ManualClock(), StopRequest()
    query = CalmQuery(clock, lambda _: 0)
    update = after(clock.monotonic() + 60, stop, clock)
    driver = Driver(streams([query]), {}, stop=stop, plan=RunPlan(None, IDLE), update=update)
    assert driver.run(clock=clock) is ExitCode.STOPPED


def test_a_stop_ends_a_run_of_a_schedule_as_a_stop() -> None:
    clock, stop = ManualClock(), StopRequest()
    query = CalmQuery(clock, lambda _: 3, lasts=clock.monotonic() + 600)
    update = after(clock.monotonic() + 60, stop, clock)
    driver = Driver(streams([query]), {}, stop=stop, plan=RunPlan("0 * * * *"), update=update)
    assert driver.run(clock=clock) is ExitCode.STOPPED


def test_a_stream_that_has_failed_is_not_hidden_by_a_rest() -> None:
    clock, stop = ManualClock(), StopRequest()
    failed = CalmQuery(clock, lambda _: 0, lasts=clock.monotonic() + 60, error=UnreachableError("no broker"))
    rests = CalmQuery(clock, lambda _: 0)
    update = after(clock.monotonic() + 3_000, stop, clock)
    driver = Driver(streams([failed, rests]), {}, stop=stop, plan=RunPlan(None, IDLE), update=update)
    assert driver.run(clock=clock) is ExitCode.STOPPED


def test_a_driver_that_ends_idle_has_got_over_what_a_stream_failed_by_before() -> None:
    clock, words = ManualClock(), ExitReport()
    failing = CalmQuery(clock, lambda _: 3, lasts=clock.monotonic() + 60, error=UnreachableError("no database"))
    rests = CalmQuery(clock, lambda _: 0)
    first, again, other = streams([failing, rests, CalmQuery(clock, lambda _: 0)])
    plan = RunPlan(None, IDLE)
    driver = Driver([replace(first, opened_again=lambda: again), other], {}, plan=plan, exit_report=words)
    assert driver.run(clock=clock) is ExitCode.IDLE
    assert words.failure is None
    assert clock.monotonic() > IDLE.total_seconds() + 60


def test_a_driver_with_a_schedule_reads_what_is_there_and_has_completed(tmp_path: Path) -> None:
    clock = ManualClock()
    queries = [CalmQuery(clock, lambda _: 3, lasts=clock.monotonic() + lasts) for lasts in (5, 60)]
    files = {f"s{n}": tmp_path / f"s{n}.json" for n in range(2)}
    progress = {name: ProgressFile(file, {"unit": "flights", "generation": 4}) for name, file in files.items()}
    done_at: dict[str, float] = {}

    def update() -> bool:
        for name, file in files.items():
            if is_done(file, 4):
                done_at.setdefault(name, clock.monotonic())
        return True

    begun = clock.monotonic()
    driver = Driver(streams(queries), progress, plan=RunPlan("0 * * * *"), update=update)
    assert driver.run(clock=clock) is ExitCode.COMPLETED
    assert all(query.asked == {"availableNow": True} for query in queries)
    assert done_at["s0"] - begun < 10
    assert is_done(files["s1"], 4)
    assert not is_done(files["s1"], 5)


def test_what_fails_in_a_run_of_a_schedule_is_a_failure(tmp_path: Path) -> None:
    clock, words = ManualClock(), ExitReport()
    good = CalmQuery(clock, lambda _: 3, lasts=clock.monotonic() + 5)
    bad = CalmQuery(clock, lambda _: 3, lasts=clock.monotonic() + 5, error=UnreachableError("no broker"))
    file = tmp_path / "s1.json"
    progress = {"s1": ProgressFile(file, {"unit": "flights", "generation": 4})}
    driver = Driver(streams([good, bad]), progress, plan=RunPlan("0 * * * *"), exit_report=words)
    assert driver.run(clock=clock) is ExitCode.TRANSIENT
    assert words.failure is not None
    assert not is_done(file, 4)


def test_a_driver_with_a_schedule_that_waits_for_more_ends_when_nothing_comes() -> None:
    clock = ManualClock()
    query = CalmQuery(clock, lambda _: 0)
    driver = Driver(streams([query]), {}, plan=RunPlan("0 8 * * *", IDLE))
    assert driver.run(clock=clock) is ExitCode.IDLE
    assert "processingTime" in query.asked
