"""What the observer records, from verdicts over a project in memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

import pytest

from sluice.airflow.streams.observer import ProjectObserver
from sluice.project.project import Project
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog
from sluice.specs.model.deadlines import Deadline, StreamDeadlines
from sluice.streams.failures.exits import ExitCode
from sluice.streams.health.health import Health
from sluice.streams.health.observation import Observation, ObservedSettler
from sluice.streams.life.watch import examine
from tests.twins.clock import START
from tests.twins.observations import observed, steadily
from tests.twins.project import InMemoryProject


class LaggingProject(InMemoryProject):
    """Its departures have unread records."""

    unread = 400

    def observations(self, unit: str) -> dict[str, Observation]:
        at = (self.clock.now() - START).total_seconds()
        return {
            "departures": observed(at, steadily(3), 1_800 + self.unread, unit=unit),
            "raw_flights": observed(at, steadily(3), unit=unit),
        }


def lagging() -> LaggingProject:
    catalog = load_catalog(settings().home / "include")
    promised = StreamDeadlines(lag_records=100)
    pipeline = catalog.pipelines["departures"].model_copy(update={"deadlines": promised})
    project = LaggingProject(Catalog(topics=catalog.topics, pipelines={"departures": pipeline}))
    project.clock.sleep(200)
    project.streams.life("flights").start("ada", "launch")
    return project


def observer_of(project: LaggingProject) -> ProjectObserver:
    return ProjectObserver(lambda: cast(Project, project), project.clock)


def deadlines_of(project: LaggingProject) -> list[tuple[Deadline, bool | None]]:
    """Return the deadlines in the newest kept observation of departures."""
    newest = cast(Project, project).records.snapshots().of(["flights"])["flights"]["departures"]
    return [(state.deadline, state.missed) for state in newest.deadlines]


def judge(observer: ProjectObserver, units: list[str]) -> None:
    observer.record_verdicts(observer.observe(units))


def test_a_deadline_is_kept_as_missed_and_as_met_again_whichever_of_two_triggerers_keeps_it() -> None:
    project = lagging()
    observers = [observer_of(project), observer_of(project)]
    kept = []
    for unread in [400] * 5 + [0] * 40:
        project.unread = unread
        for observer in observers:
            judge(observer, ["flights"])
            kept += [missed for deadline, missed in deadlines_of(project) if deadline is Deadline.LAG_RECORDS]
        project.clock.sleep(10)

    changes = [after for before, after in zip([None, *kept], kept, strict=False) if after != before]
    assert changes == [True, False]
    assert len(project.control.verdicts("flights")) == 2


def test_deadlines_of_a_stopped_stream_are_left_alone() -> None:
    project = lagging()
    observer = observer_of(project)
    observations = project.observations
    project.observations = lambda unit: {  # type: ignore[method-assign]
        stream: observed((seen.at - START).total_seconds(), steadily(3), 9_000, unit=unit, stop_requested=True)
        for stream, seen in observations(unit).items()
    }
    for _ in range(5):
        judge(observer, ["flights"])
        assert deadlines_of(project) == []
        project.clock.sleep(timedelta(hours=1).total_seconds())


def test_a_unit_that_cannot_be_judged_disturbs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    project = lagging()
    arrivals = project.catalog.pipelines["departures"].model_copy(update={"name": "arrivals", "driver": "trains"})
    project.catalog = Catalog(project.catalog.topics, pipelines={**project.catalog.pipelines, "arrivals": arrivals})
    project.streams.life("trains").start("ada", "launch")
    sound = project.observations
    broken = replace(sound("flights")["departures"], at=cast(datetime, None))
    project.observations = lambda unit: {"arrivals": broken} if unit == "trains" else sound(unit)  # type: ignore[method-assign]

    judge(observer_of(project), ["flights", "nobody", "trains"])

    assert len(project.control.verdicts("flights")) == 2
    assert list(project.control.verdicts("trains")) == []
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warned == ["Could not judge unit trains; that is tried again."]


def test_verdicts_of_a_hundred_units_are_recorded_as_those_of_one() -> None:
    project = lagging()
    departures = project.catalog.pipelines["departures"]
    units = [f"unit_{n:03}" for n in range(100)]
    pipelines = {unit: departures.model_copy(update={"name": unit, "driver": unit}) for unit in units}
    project.catalog = Catalog(project.catalog.topics, pipelines={**project.catalog.pipelines, **pipelines})
    for unit in units[:50]:  # the others never had a driver
        project.streams.life(unit).start("ada", "launch")
    sound = project.observations
    project.observations = lambda unit: {unit: sound(unit)["departures"]}  # type: ignore[method-assign]

    judge(observer_of(project), units)

    recorded = {unit: [(v.stream, v.generation) for v in project.control.verdicts(unit)] for unit in units}
    assert recorded == {unit: [(unit, 1)] if unit in units[:50] else [] for unit in units}


def test_what_was_seen_is_kept_for_those_who_do_not_look_and_a_growing_lag_at_once() -> None:
    project = lagging()
    observer = observer_of(project)
    judge(observer, ["flights"])
    first = cast(Project, project).records.snapshots().of(["flights"])["flights"]
    assert {stream: look.verdict.lag_records for stream, look in first.items()} == {"departures": 400, "raw_flights": 0}
    assert {look.generation for look in first.values()} == {1}

    project.unread = 700
    for _ in range(3):
        project.clock.sleep(10)
        judge(observer, ["flights"])
    later = cast(Project, project).records.snapshots().of(["flights"])["flights"]["departures"]
    assert (later.verdict.lag_records, later.at) == (700, project.clock.now())
    assert later.rates.arriving == pytest.approx(300 / 30)


def test_a_settler_rests_on_the_verdict_on_record_of_a_raw_stream_in_another_unit() -> None:
    project = lagging()
    topic = project.catalog.topics["flights"]
    elsewhere = topic.model_copy(update={"raw": topic.raw.model_copy(update={"driver": "raw"})})
    project.catalog = Catalog({**project.catalog.topics, "flights": elsewhere}, project.catalog.pipelines)
    project.streams.life("raw").start("ada", "launch")
    project.unread, sound = 0, project.observations
    settler = ObservedSettler("departures", ("raw_flights",))
    project.observations = lambda unit: {  # type: ignore[method-assign]
        stream: replace(seen, settler=settler if stream == "departures" else None)
        for stream, seen in sound(unit).items()
        if (stream == "raw_flights") == (unit == "raw")
    }

    def verdict() -> Health:
        snapshots = cast(Project, project).records.snapshots().of(["flights"])
        return snapshots["flights"]["departures"].verdict.health

    judge(observer_of(project), ["flights"])
    assert verdict() is Health.UNKNOWN, "nobody has observed the raw stream"
    judge(observer_of(project), ["raw"])
    judge(observer_of(project), ["flights"])
    assert verdict() is Health.OK
    project.clock.sleep(600)
    judge(observer_of(project), ["flights"])
    assert verdict() is Health.UNKNOWN, "nobody observes it any more, and it may have ended since"


class IdleProject(LaggingProject):
    """Its driver has ended because nothing came."""

    def observations(self, unit: str) -> dict[str, Observation]:
        status = self.streams.life(unit).observe()
        rests = {"driver": status.report, "pause": status.pause(self.clock.now())}
        return {stream: replace(seen, **rests) for stream, seen in super().observations(unit).items()}


def test_what_the_watcher_sees_of_an_idle_unit_starts_its_next_driver() -> None:
    catalog = load_catalog(settings().home / "include")
    pipeline = catalog.pipelines["departures"].model_copy(update={"stop_when_idle": timedelta(minutes=30)})
    project = IdleProject(Catalog(topics=catalog.topics, pipelines={"departures": pipeline}))
    project.clock.sleep(200)
    project.streams.life("flights").start("ada", "launch")
    project.drivers.die("local.flights.g1", ExitCode.IDLE)
    observer, project.unread = observer_of(project), 0
    for unread, waits in [(0, True), (0, True), (7, True), (7, False)]:
        project.unread = unread
        project.clock.sleep(10)
        status = observer.observe(["flights"])["flights"]
        assert examine(status, 1, now=project.clock.now()).rests is waits
        observer.record_verdicts({"flights": status})
    newest = cast(Project, project).records.snapshots().of(["flights"])["flights"]["departures"]
    assert newest.verdict.health is Health.STARTING
    assert project.streams.life("flights").claim(governed=True).attempt is not None
    assert [attempt.generation for attempt in project.control.attempts("flights")] == [2, 1]
