"""The advice for each class of failure, carried out word for word: it ends with a driver that runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.specs.model.start import Edge
from sluice.streams.failures.advice import Way, advice, failed_stream, ways
from sluice.streams.failures.failure import EXIT_CODES, Failure, FailureClass
from sluice.streams.life.ending import ending
from sluice.streams.life.governor import POLICIES, Halt, Hold, Outlook
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.life import UnitLife
from sluice.streams.life.resetting import refuse_living
from tests.twins.clock import START, ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import life_of
from tests.twins.registry import InMemoryRegistry
from tests.unit.streams.life.test_resetting import Bench

HALTING = [kind for kind in FailureClass if POLICIES[kind].budget is not None]
NEEDS_RESET = {FailureClass.DATA_LOSS}


class Trial:
    """A unit whose driver dies again until a person has repaired what made it fail, or a reset has."""

    def __init__(self, kind: FailureClass, stream: str, folder: Path) -> None:
        self.kind, self.stream = kind, stream
        self.clock = ManualClock()
        self.launcher = DictionaryLauncher(self.clock)
        self.registry = InMemoryRegistry(self.clock)
        self.life: UnitLife = life_of(self.registry, self.launcher)
        self.bench = Bench(folder)
        self.bench.begin(Edge.EARLIEST, "raw_flights", "departures", "departures_live")
        self.repaired = False

    def halt(self) -> None:
        """Let it fail until nothing starts it any more."""
        self.life.start("ada", "demo")
        self.fail_again()
        while not isinstance(outlook := self.outlook(), Halt):
            self.clock.sleep((outlook.until - self.clock.now()).total_seconds() if isinstance(outlook, Hold) else 1)
            self.life.record_end()
            self.keep_running()

    def outlook(self) -> Outlook:
        return self.life.observe().outlook(self.clock.now())

    def keep_running(self) -> None:
        """Do what the reconciler does; then let a driver fail whose fault is still there."""
        claim = self.life.claim(governed=True)
        if claim.attempt is not None:
            self.life.submit(claim.attempt)
        self.fail_again()

    def fail_again(self) -> None:
        if self.sound():
            return
        for key in list(self.launcher.alive):
            said = Failure(self.kind, "Error", "it", self.clock.now(), self.stream)
            self.launcher.die(key, EXIT_CODES[self.kind], said)

    def sound(self) -> bool:
        reset = self.bench.epochs(self.stream or "departures").number > 0
        return reset or (self.repaired and self.kind not in NEEDS_RESET)

    def run(self, command: str) -> None:
        """Run a command as the command line does."""
        sluice, streams, verb, unit, *options = shlex.split(command)
        assert (sluice, streams, unit) == ("sluice", "streams", "flights")
        run: dict[str, Callable[[], object]] = {
            "stop": lambda: self.life.stop("ada", "advised", 60),
            "start": lambda: self.life.start("ada", "advised"),
            "resume": lambda: self.life.resume("ada", "advised"),
            "reset": lambda: self.reset(options),
        }
        run[verb]()
        self.fail_again()

    def reset(self, options: list[str]) -> None:
        given = dict(zip(options[::2], options[1::2], strict=True))
        assert given.keys() <= {"--stream", "--to", "--why"}
        assert given["--why"]
        refuse_living(self.life.record_end())
        resetting = self.bench.resetting()
        streams = (given["--stream"],) if "--stream" in given else ()
        for one in resetting.plan(Edge(given["--to"]), streams):
            resetting.record(one, Edge(given["--to"]), by="ada", why=given["--why"])


def every_way() -> list[tuple[FailureClass, int]]:
    return [(kind, number) for kind in HALTING for number in range(len(ways(kind, "flights")))]


@pytest.mark.parametrize("stream", ["departures", ""], ids=["of one stream", "of several"])
@pytest.mark.parametrize(("kind", "number"), every_way())
def test_each_way_that_is_advised_ends_with_a_driver_that_runs(
    kind: FailureClass, number: int, stream: str, tmp_path: Path
) -> None:
    trial = Trial(kind, stream, tmp_path)
    trial.halt()
    halt = trial.outlook()
    assert isinstance(halt, Halt)
    way = ways(kind, "flights", stream)[number]
    assert str(way) in halt.fix

    trial.repaired = bool(way.first) and not way.first.startswith("or ")
    trial.clock.sleep(60)  # it takes a person a while
    for command in way.commands:
        assert trial.launcher.alive == []
        trial.run(command)

    assert trial.launcher.alive, f"{way} leads to {trial.outlook()}"
    trial.clock.sleep(3600)
    trial.life.record_end()
    assert trial.launcher.alive
    assert trial.life.observe().halted(trial.clock.now()) == ""


def test_a_raw_stream_that_has_lost_records_is_reset_by_its_name() -> None:
    (way,) = ways(FailureClass.DATA_LOSS, "flights", "raw_flights")
    assert "--stream raw_flights" in way.commands[1]


@pytest.mark.parametrize("kind", FailureClass)
def test_there_is_a_way_for_every_class(kind: FailureClass) -> None:
    for way in ways(kind, "flights"):
        assert way.first
        assert way.commands
        assert str(way) in advice(kind, "flights")


def test_the_stream_is_read_from_an_end_on_record_as_it_was_written() -> None:
    said = Failure(FailureClass.CODE, "KeyError", "'x' (stream other: no)", START, "departures_live")
    report = DriverReport("local.flights.g1", DriverState.ENDED, exit_code=15, ended_at=START, failure=said)
    assert failed_stream(ending(report).reason) == "departures_live"
    assert failed_stream("was killed by signal 9") == ""


def test_a_way_is_a_clause() -> None:
    assert str(Way("mend it", ("a", "b"))) == "mend it, then run `a`, `b`"
