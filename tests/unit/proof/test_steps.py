"""The steps of a proof with a driver that starts late, is slow, or dies: what breaks it, and what nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sluice.errors import NotReadyError
from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.generation.made import MadeRecord
from sluice.proof.observations import (
    FiredFault,
    JudgedRecord,
    ObservedKind,
    ObservedRecord,
    ObservedRecords,
    ObservedRow,
    ObservedRows,
    ReaderLook,
    RowsPromise,
)
from sluice.proof.rows_file import RowsAnswer
from sluice.proof.running import steps
from sluice.proof.running.driver import DriverEndedError
from sluice.proof.running.faults import RequestedFault
from sluice.proof.running.load import ProofLoad
from sluice.proof.running.request import ProofRequest, ProvenRun
from sluice.proof.running.sending import ProofSender, checksum
from sluice.topics.records import RecordPosition
from tests.twins.clock import ManualClock

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
KILL = RequestedFault.KILL_DRIVER


class VirtualClock(ManualClock):
    """Time passes only where somebody waits; then all that happens by itself does."""

    def __init__(self) -> None:
        super().__init__(BEGIN)
        self.hooks: list[Callable[[], None]] = []

    @property
    def seconds(self) -> float:
        return self.monotonic()

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        for hook in self.hooks:
            hook()


class SentAt:
    """An acknowledgement that is there at once."""

    def __init__(self, offset: int) -> None:
        self._position = RecordPosition(0, offset)

    def done(self) -> bool:
        return True

    def wait(self) -> RecordPosition:
        return self._position


class TopicLog:
    """A topic of one partition, and its producer."""

    def __init__(self) -> None:
        self.values: list[bytes] = []

    def send(self, key: bytes | None, value: bytes | None, partition: int | None = None) -> SentAt:
        assert key is not None
        assert partition is None
        self.values.append(value or b"")
        return SentAt(len(self.values) - 1)

    def flush(self) -> None:
        pass


class Numbers:
    """Makes a record of each number."""

    step = timedelta(seconds=1)

    def happens(self, number: int) -> datetime:
        return BEGIN + number * self.step

    def value(self, number: int) -> bytes:
        return b"%d" % number

    def record(self, number: int) -> MadeRecord:
        return MadeRecord(self.value(number))


class VirtualDriver:
    """A driver that reads a topic.

    Args:
        clock: of the test.
        topic: that it reads.
        starts_in: how many seconds it takes to start.
        rate: how many records it reads per second.
        dies_in: the generation that ends at its start; 0: none does.
    """

    def __init__(
        self, clock: VirtualClock, topic: TopicLog, *, starts_in: float = 5, rate: float = 1e9, dies_in: float = 0
    ) -> None:
        self._clock, self._topic = clock, topic
        self._starts_in, self._rate, self._dies_in = starts_in, rate, dies_in
        self.generation, self._up, self._last, self._read = 0, 0.0, 0.0, 0.0

    def start(self) -> None:
        self.read()
        self.generation += 1
        self._up = self._clock.seconds + self._starts_in

    @property
    def is_dead(self) -> bool:
        return self.generation == self._dies_in and self._clock.seconds >= self._up

    def read(self) -> int:
        """Return how many records it has read by now."""
        since = max(self._last, self._up)
        if self.generation and not self.is_dead and self._clock.seconds > since:
            self._read = min(len(self._topic.values), self._read + (self._clock.seconds - since) * self._rate)
        self._last = self._clock.seconds
        return int(self._read)

    def refuse_dead(self) -> None:
        if self.is_dead:
            raise DriverEndedError(
                f"generation {self.generation} of the driver ended with exit code 1.", fix="read it."
            )

    def log(self) -> Path:
        return Path("driver.log")

    def stop(self) -> None:
        pass


class VirtualTraffic:
    """Sends whenever time passes."""

    def __init__(
        self,
        clock: VirtualClock,
        sender: ProofSender,
        record: Callable[[int], tuple[str, MadeRecord]],
        rate: float,
        most: int,
    ) -> None:
        self._clock, self._sender, self._record, self._rate, self._most = clock, sender, record, rate, most
        self._begun, self._sent = 0.0, 0

    def start(self) -> None:
        self._begun = self._clock.seconds
        self._clock.hooks.append(self._send)

    def _send(self) -> None:
        while self._sent < min(self._most, int(self.seconds * self._rate) + 1):
            self._sender.send(*self._record(self._sent))
            self._sent += 1
        self._sender.collect()

    @property
    def seconds(self) -> float:
        return self._clock.seconds - self._begun

    @property
    def is_over(self) -> bool:
        return self._sent >= self._most

    def refuse_failed(self) -> None:
        pass

    def stop(self) -> None:
        self._clock.hooks.remove(self._send)


class ProofBench:
    """A proof over one topic, whose world is as a test wants it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, **driver: float) -> None:
        self.clock, self.topic, self.said = VirtualClock(), TopicLog(), list[str]()
        self.driver = VirtualDriver(self.clock, self.topic, **driver)
        self.answer: Callable[[], RowsAnswer] = RowsAnswer
        self._folder = folder
        for name, put in {
            "ProofDriver": lambda *_: self.driver,
            "SideOutputs": lambda *_, **__: self._sides(),
            "RawReader": lambda *_: self._reader(),
            "Traffic": lambda *of: VirtualTraffic(self.clock, *of),
            "connected_sender": lambda *_: self._sender(),
            "strike": self._strike,
        }.items():
            monkeypatch.setattr(steps, name, put)

    def proven(self, *faults: RequestedFault, rate: float = 10, seconds: float = 20) -> ProvenRun:
        spec = SimpleNamespace(has_intervals=False, name="orders", driver="shop")
        catalog = SimpleNamespace(
            pipelines={"orders": spec},
            topics={"prove_t": SimpleNamespace(raw=SimpleNamespace(table="raw"))},
            unit=lambda _: None,
        )
        project: Any = SimpleNamespace(
            clock=self.clock, catalog=catalog, folder=SimpleNamespace(table=Path), kafka=self
        )
        place: Any = SimpleNamespace(pipeline="orders", read={"t": "prove_t"})
        load: Any = ProofLoad({"prove_t": Numbers()}, is_live=False)  # type: ignore[dict-item]
        alerts: Any = SimpleNamespace(about_the_proof=frozenset)
        asked = ProofRequest(rate, seconds, faults)
        return steps.ProofSteps(project, place, asked, load, alerts, tell=self.said.append).result()

    @contextmanager
    def administration(self) -> Iterator[Any]:
        yield SimpleNamespace(
            extent=lambda _: SimpleNamespace(beginnings={0: 0}, ends={0: len(self.topic.values)}),
        )

    @contextmanager
    def _sender(self) -> Iterator[ProofSender]:
        with ProofSender({"prove_t": (self.topic,)}, self._folder / "journal", self._now) as sender:
            self._ids = sender.values["prove_t"]
            yield sender

    def _now(self) -> float:
        return self.clock.now().timestamp()

    def _strike(self, fault: RequestedFault, driver: VirtualDriver) -> FiredFault:
        at = self._now()
        driver.start()
        self.clock.sleep(0.5)
        return FiredFault(fault.value, at, "it is gone", healed=False)

    def _sides(self) -> SimpleNamespace:
        return SimpleNamespace(
            names=("news",),
            open_tables=(),
            positions=self.driver.read,
            have_read=lambda ends: self.driver.read() >= ends["prove_t"][0],
            answer=lambda _: self.answer(),
            dead_letters=lambda *_: (),
        )

    def _reader(self) -> SimpleNamespace:
        def seen() -> list[bytes]:
            return self.topic.values[: self.driver.read()]

        def records() -> ObservedRecords:
            rows = tuple(
                ObservedRecord(self._ids[value], checksum(value), RecordPosition(0, offset))
                for offset, value in enumerate(seen())
            )
            return ObservedRecords("raw", ObservedKind.RAW, rows, topic="prove_t")

        def look() -> ReaderLook:
            return ReaderLook("raw", self._now(), frozenset(self._ids[value] for value in seen()))

        return SimpleNamespace(look=look, all=records, ignore_times=lambda: None)


def faults_of(run: ProvenRun) -> set[ProofFault]:
    return {finding.fault for finding in run.proof.findings}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., ProofBench]:
    return lambda **driver: ProofBench(monkeypatch, tmp_path, **driver)


def test_a_sound_pipeline_is_proven_over_its_restarts(bench: Callable[..., ProofBench]) -> None:
    run = bench().proven(KILL, KILL)
    assert (run.proof.verdict, run.proof.findings) == (ProofVerdict.PROVEN, ())
    assert [fault.healed for fault in run.seen.faults] == [True, True]
    assert run.covered == ("raw",)


def test_a_driver_that_ends_after_a_fault_breaks_the_proof_and_no_time_is_waited(
    bench: Callable[..., ProofBench],
) -> None:
    world = bench(dies_in=2)
    run = world.proven(KILL, RequestedFault.KILL_JVM)
    assert run.proof.verdict is ProofVerdict.BROKEN
    assert faults_of(run) >= {ProofFault.DRIVER_ENDED, ProofFault.NOT_HEALED, ProofFault.NOT_FIRED}
    assert ProofFault.LOST_TAIL not in faults_of(run), "what nobody read is not lost"
    ended = next(finding for finding in run.proof.findings if finding.fault is ProofFault.DRIVER_ENDED)
    assert ended.example.startswith("generation 2 of the driver ended with exit code 1.")
    assert run.uncovered == ("news: its driver has ended",)
    assert world.clock.seconds < 60


def test_a_driver_that_does_not_start_is_no_verdict(bench: Callable[..., ProofBench]) -> None:
    with pytest.raises(NotReadyError, match="generation 1 of the driver ended"):
        bench(dies_in=1).proven()


def test_a_driver_that_reads_nothing_after_its_start_is_no_verdict(
    bench: Callable[..., ProofBench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_START_SECONDS", 30.0)
    with pytest.raises(NotReadyError, match="30 s after its start the driver has not read the first record"):
        bench(starts_in=31).proven()


def test_a_fault_after_the_last_record_is_not_called_an_illness(bench: Callable[..., ProofBench]) -> None:
    run = bench(starts_in=27).proven(KILL, KILL, KILL, seconds=5)
    assert [fault.healed for fault in run.seen.faults] == [True, True, None]
    assert (run.proof.verdict, faults_of(run)) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOT_CROSSED})


def test_a_slow_pipeline_is_waited_for_as_long_as_it_gets_on(bench: Callable[..., ProofBench]) -> None:
    world = bench(rate=2.0)
    run = world.proven(seconds=100)
    assert (run.proof.verdict, run.proof.findings) == (ProofVerdict.PROVEN, ())
    assert world.clock.seconds > 400


def test_one_that_is_not_done_after_half_an_hour_is_not_said_to_have_lost_anything(
    bench: Callable[..., ProofBench],
) -> None:
    run = bench(rate=0.2).proven(seconds=100)
    assert (run.proof.verdict, faults_of(run)) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOT_READ})


def test_one_that_stands_still_has_lost_what_it_did_not_read(bench: Callable[..., ProofBench]) -> None:
    world = bench()
    world.clock.hooks.append(lambda: setattr(world.driver, "_rate", 0.0) if world.clock.seconds > 15 else None)
    run = world.proven()
    assert run.proof.verdict is ProofVerdict.BROKEN
    assert ProofFault.LOST_TAIL in faults_of(run)


DUE = ObservedRow("", "a row")


def test_an_output_without_a_row_is_not_covered_and_nothing_but_such_ones_proves_nothing(
    bench: Callable[..., ProofBench],
) -> None:
    idle = ObservedRows("news", RowsPromise.EACH, (), ())
    world = bench()
    world.answer = lambda: RowsAnswer((idle, ObservedRows("rows", RowsPromise.EACH, (DUE,), (DUE,))))
    run = world.proven()
    assert (run.proof.verdict, run.covered) == (ProofVerdict.PROVEN, ("raw", "rows"))
    assert run.uncovered == ("news: no record that was sent gives it a row",)


def test_nothing_but_idle_outputs_proves_nothing(bench: Callable[..., ProofBench]) -> None:
    world = bench()
    world.answer = lambda: RowsAnswer((ObservedRows("news", RowsPromise.EACH, (), ()),))
    run = world.proven()
    assert (run.proof.verdict, faults_of(run)) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOT_READ})


def test_without_the_answer_of_a_batch_what_is_known_is_kept(bench: Callable[..., ProofBench]) -> None:
    world = bench()
    unread = ObservedRows("validation", RowsPromise.EACH, (), (), is_complete=False, why="the batch has failed")
    world.answer = lambda: RowsAnswer((unread,), None)
    run = world.proven()
    assert (run.proof.verdict, faults_of(run)) == (ProofVerdict.INCONCLUSIVE, {ProofFault.NOT_READ})
    assert run.proof.findings[0].detail == "the batch has failed"
    assert run.seen.judged is None


def test_what_validation_judges_is_compared(bench: Callable[..., ProofBench]) -> None:
    world = bench()
    world.answer = lambda: RowsAnswer(
        (), (JudgedRecord(RecordPosition(0, 3), "quarantined", "wrong_type", topic="prove_t"),)
    )
    assert faults_of(world.proven()) == {ProofFault.MISJUDGED}
