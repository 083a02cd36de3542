"""Lineage of streams, as the real observer tells it of a project in memory."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from openlineage.client.event_v2 import RunEvent, RunState
from openlineage.client.serde import Serde

from sluice.airflow.streams.observer import ProjectObserver
from sluice.airflow.streams.stream_lineage import UNWATCHED, StreamLineage
from sluice.errors import NotReadyError
from sluice.lineage.facets import instant
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import Failure, FailureClass, to_record
from sluice.streams.health.observation import Observation
from tests.twins.clock import START
from tests.twins.lineage import RecordedLineage
from tests.twins.observations import observed, steadily
from tests.twins.project import InMemoryProject

STREAMS = ("raw_flights", "departures", "departures_live")
T = RunState


class FlightsProject(InMemoryProject):
    """The shipped specs; its departures have unread records."""

    fallen: Failure | None = None
    up = True

    def bootstrap(self) -> tuple[str, ...]:
        if not self.up:
            raise NotReadyError("The stack is not up.")
        return super().bootstrap()

    def observations(self, unit: str) -> dict[str, Observation]:
        at = (self.clock.now() - START).total_seconds()
        return {
            stream: observed(
                at, steadily(3), 2_500, unit=unit, ended_alone=self.fallen if stream == "departures" else None
            )
            for stream in STREAMS
        }


class Bench:
    """One project, its drivers, and triggerers that watch."""

    def __init__(self) -> None:
        catalog = load_catalog(Path(__file__).parents[4] / "include")
        self.project = FlightsProject(Catalog(topics=catalog.topics, pipelines=catalog.pipelines))
        self.clock = self.project.clock
        self.life = self.project.streams.life("flights")
        self.lineage = RecordedLineage()
        self.watch = self.watcher(self.lineage)

    def watcher(self, lineage: RecordedLineage) -> ProjectObserver:
        told = StreamLineage(self.clock, lineage, 60)
        return ProjectObserver(lambda: cast(Project, self.project), self.clock, lineage=told)

    def observe(self, observer: ProjectObserver | None = None) -> None:
        observer = observer or self.watch
        observer.record_verdicts(observer.observe(["flights"]))

    def told(self, stream: str = "departures", lineage: RecordedLineage | None = None) -> list[RunEvent]:
        events = (lineage or self.lineage).events()
        return [event for event in events if event.job.name == f"stream.{stream}"]

    def types(self, stream: str = "departures") -> list[RunState]:
        return [event.eventType for event in self.told(stream)]

    def die(self, code: int, failure: Failure | None = None) -> None:
        (key,) = self.project.drivers.alive
        self.project.drivers.die(key, code, failure)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def read_by(event: RunEvent) -> int | None:
    """Return how many records of its topic an event says were read."""
    read: dict[str, Any] = Serde.to_dict(event)["inputs"][0]["inputFacets"]
    return read["inputStatistics"]["rowCount"] if read else None


def test_an_attempt_begins_goes_on_once_a_minute_and_ends_when_it_was_stopped(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    for _ in range(13):  # two minutes of observations, ten seconds apart
        bench.observe()
        bench.clock.sleep(10)
    bench.life.stop("ada", "lunch", 60)
    bench.observe()
    bench.observe()

    events = bench.lineage.events()
    for stream in STREAMS:
        mine = [event for event in events if event.job.name == f"stream.{stream}"]
        assert [event.eventType for event in mine] == [T.START, T.RUNNING, T.RUNNING, T.RUNNING, T.COMPLETE]
        assert len({event.run.runId for event in mine}) == 1
        assert [event.eventTime for event in mine] == sorted(event.eventTime for event in mine)
    assert len({event.run.runId for event in events}) == len(STREAMS)
    assert bench.lineage.expendable == 3


def test_what_goes_on_is_told_with_its_verdict_and_lag(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.observe()
    running = next(event for event in bench.told() if event.eventType is T.RUNNING)
    state = Serde.to_dict(running)["run"]["facets"]["sluice_state"]
    assert (state["generation"], state["lagRecords"], state["unit"]) == (1, 700, "flights")
    assert state["why"]
    event = Serde.to_dict(running)
    assert (event["inputs"][0]["namespace"], event["inputs"][0]["name"]) == ("kafka://broker-1:9092", "flights")
    assert event["outputs"][0]["name"] == str(settings().folder.table("departures"))


def test_records_that_its_driver_has_read_are_told_of_the_topic(bench: Bench) -> None:
    file = settings().folder.batch_log("departures")
    file.parent.mkdir(parents=True)
    line = {"batch_id": 2, "generation": 1, "at": START.isoformat(), "rows": 5, "read": 1_800}
    file.write_text(json.dumps(line) + "\n")
    bench.life.start("ada", "launch")
    bench.observe()
    running = next(event for event in bench.told() if event.eventType is T.RUNNING)
    assert read_by(running) == 1_800
    bench.die(ExitCode.FAILED)
    bench.clock.sleep(60)
    bench.observe()
    bench.life.start("ada", "again")
    bench.observe()
    newer = [event for event in bench.told() if event.eventType is T.RUNNING]
    assert [read_by(event) for event in newer] == [None]  # the file is the older driver's


@pytest.mark.parametrize(
    ("code", "kind"),
    [(ExitCode.FAILED, T.FAIL), (-9, T.FAIL), (ExitCode.FENCED, T.ABORT), (ExitCode.STOPPED, T.COMPLETE)],
)
def test_a_death_is_told_as_what_it_was(bench: Bench, code: int, kind: RunState) -> None:
    bench.life.start("ada", "launch")
    bench.observe()
    bench.clock.sleep(5)
    bench.die(code)
    bench.clock.sleep(30)
    bench.observe()
    last = bench.told()[-1]
    assert (last.eventType, last.eventTime) == (kind, instant(START + timedelta(seconds=5)))


def test_a_restart_between_two_observations_loses_no_end(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.observe()
    bench.clock.sleep(10)
    bench.life.restart("ada", "new code", 60)
    bench.observe()
    events = bench.told()
    first, second = dict.fromkeys(event.run.runId for event in events)
    assert [event.eventType for event in events if event.run.runId == first] == [T.START, T.RUNNING, T.COMPLETE]
    assert [event.eventType for event in events if event.run.runId == second] == [T.START, T.RUNNING]
    assert events[2].run.runId == first  # it ended before the other began


def test_two_watchers_tell_the_same(bench: Bench) -> None:
    other_lineage = RecordedLineage()
    other = bench.watcher(other_lineage)
    bench.life.start("ada", "launch")
    for observer in (bench.watch, other):
        bench.observe(observer)
    bench.clock.sleep(7)
    bench.die(ExitCode.OUT_OF_MEMORY)
    for observer in (bench.watch, other):
        bench.observe(observer)
        bench.clock.sleep(11)
    assert bench.told() == bench.told(lineage=other_lineage)


def test_whoever_begins_to_watch_tells_what_nobody_has_told(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.clock.sleep(10)
    bench.die(ExitCode.FAILED)  # nobody watches
    bench.life.record_end()
    bench.life.start("ada", "again")
    bench.observe()
    events = bench.told()
    assert [event.eventType for event in events] == [T.START, T.FAIL, T.START, T.RUNNING]
    assert events[0].run.runId == events[1].run.runId != events[2].run.runId


def test_what_this_watcher_has_told_it_does_not_tell_again(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.observe()
    bench.life.stop("ada", "lunch", 60)
    bench.observe()
    bench.life.start("ada", "back")
    bench.observe()
    assert bench.types() == [T.START, T.RUNNING, T.COMPLETE, T.START, T.RUNNING]


def test_what_ended_long_ago_is_not_told_again(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.die(ExitCode.FAILED)
    bench.life.record_end()
    bench.clock.sleep(UNWATCHED.total_seconds() + 1)
    bench.life.start("ada", "again")
    bench.observe()
    assert bench.types() == [T.START, T.RUNNING]


def test_an_attempt_that_waits_for_room_has_not_begun(bench: Bench) -> None:
    bench.project.drivers.lacking = "all cores are taken"
    bench.life.claim()
    bench.observe()
    assert bench.told() == []


def test_a_stream_that_fell_alone_has_failed_and_is_not_told_to_go_on(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.observe()
    bench.clock.sleep(120)
    fallen = bench.project.fallen = Failure(
        FailureClass.CODE, "ValueError", "no column", bench.clock.now(), "departures"
    )
    file = settings().folder.progress_file("departures")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"generation": 1, "ended": to_record(fallen)}))
    bench.observe()
    bench.clock.sleep(120)
    bench.observe()
    bench.life.stop("ada", "lunch", 60)
    bench.observe()
    events = bench.lineage.events()

    def types(stream: str) -> list[RunState]:
        return [event.eventType for event in events if event.job.name == f"stream.{stream}"]

    assert types("raw_flights") == [T.START, T.RUNNING, T.RUNNING, T.RUNNING, T.COMPLETE]
    failed = [event for event in events if event.job.name == "stream.departures"]
    assert [event.eventType for event in failed] == [T.START, T.RUNNING, T.FAIL, T.FAIL]
    assert failed[-1] == failed[-2]  # the end of the driver changes nothing


def test_what_cannot_be_told_yet_is_told_a_little_later(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.clock.sleep(5)
    bench.die(ExitCode.FAILED)
    bench.life.record_end()
    bench.life.start("ada", "again")
    bench.project.up = False  # a triggerer is there before its stack says where Kafka is
    bench.observe()
    with pytest.raises(NotReadyError):
        bench.lineage.events()
    bench.project.up = True
    bench.observe()
    assert bench.told() == []  # not at every observation
    bench.clock.sleep(15)
    bench.observe()
    assert bench.types() == [T.START, T.FAIL, T.START, T.RUNNING]


def test_nothing_is_told_of_a_unit_that_no_spec_names_or_to_nobody(bench: Bench) -> None:
    trains = bench.project.streams.life("trains")
    trains.start("ada", "launch")
    bench.watch.observe(["trains"])
    assert bench.lineage.events() == []
    silent = StreamLineage(bench.clock, None, 60)
    ProjectObserver(lambda: cast(Project, bench.project), bench.clock, lineage=silent).observe(["trains"])
    assert silent._sent == {}


def test_a_stream_that_is_started_again_in_its_driver_has_not_failed(bench: Bench) -> None:
    bench.life.start("ada", "launch")
    bench.observe()
    bench.clock.sleep(120)
    at = bench.clock.now()
    bench.project.fallen = Failure(
        FailureClass.TRANSIENT, "TimeoutException", "no answer", at, "departures", again_at=at + timedelta(seconds=20)
    )
    bench.observe()
    bench.clock.sleep(120)
    bench.project.fallen = None
    bench.observe()
    told = [event.eventType for event in bench.lineage.events() if event.job.name == "stream.departures"]
    assert told == [T.START, T.RUNNING, T.RUNNING]
