"""How long a stream may go unobserved before somebody is told: a real SQLite file, and a clock set by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from sluice.alerts.conditions import PATIENCE, FleetConditions, conditions_of
from sluice.control import sqlite_file
from sluice.control.database import migrate, open_database, sqlite_url
from sluice.control.registry import SqlRegistry
from sluice.control.snapshots import SqlSnapshotStore
from sluice.errors import UnreachableError
from sluice.specs.catalog.catalog import Catalog, Unit
from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.fleet import ATTEMPTS_READ, UnitRecords, stream_statuses
from sluice.streams.health.health import Health
from sluice.streams.health.recording import NewVerdict
from sluice.streams.health.snapshots import StreamSnapshot
from sluice.streams.health.verdict import Verdict
from sluice.streams.life.attempts import Desired
from tests.twins.clock import ManualClock

STREAMS = ("arrivals", "departures", "raw_flights")
UNIT = Unit("flights", (), STREAMS)
UNKNOWN = [(f"stream {stream}", AlertClass.UNKNOWN) for stream in STREAMS]


class Fleet:
    """Three streams of one unit that have run for an hour, and what is on record of them."""

    def __init__(self, engine: Engine, deployment: str) -> None:
        self.clock = ManualClock()
        self.registry = SqlRegistry(engine, deployment, self.clock)
        self.snapshots = SqlSnapshotStore(engine, deployment)
        self.registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="launch")
        self.registry.intend("flights", after_generation=0, key=f"{deployment}.g1")
        self.registry.bind("flights", 1)
        self.watch(Health.OK)
        self.clock.sleep(3600)

    def watch(self, health: Health, *, since: datetime | None = None) -> None:
        """Do what a watcher does after each observation."""
        self.keep(health, since=since)
        self.registry.record_verdicts([NewVerdict("flights", each, 1, Verdict(health, "Seen.")) for each in STREAMS])

    def keep(self, health: Health, *, since: datetime | None = None, at: datetime | None = None) -> None:
        """Keep an observation that is not worth a recorded verdict."""
        at = at or self.clock.now()
        verdict = Verdict(health, "Seen.")
        self.snapshots.store([StreamSnapshot("flights", each, 1, at, verdict, since=since or at) for each in STREAMS])

    def conditions(self) -> FleetConditions:
        """Return what the minute's round finds."""
        now, names = self.clock.now(), ["flights"]
        records = UnitRecords(
            self.registry.newest_desired_states(names).get("flights"),
            self.registry.histories(names, newest=ATTEMPTS_READ)["flights"],
            self.snapshots.of(names).get("flights", {}),
            self.registry.newest_verdicts(names).get("flights", {}),
        )
        return conditions_of(stream_statuses(UNIT, records, now), Catalog(), now)

    def told_after(self, limit: timedelta = timedelta(minutes=30)) -> timedelta:
        """Return after how long without an observation somebody is told first, to the second."""
        begun = self.clock.now()
        while not self.conditions().conditions:
            assert self.clock.now() - begun <= limit, "nobody is ever told"
            self.clock.sleep(60)
        while self.clock.now() > begun and self.conditions().conditions:
            self.clock.sleep(-1)
        self.clock.sleep(1 if self.clock.now() > begun or not self.conditions().conditions else 0)
        return self.clock.now() - begun


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("control") / "control.db"


@pytest.fixture(scope="module")
def engine(file: Path) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_file, "BUSY_SECONDS", 0.01)  # nobody waits for a lock that the test holds
        engine = open_database(sqlite_url(file))
        migrate(engine)
        yield engine


@pytest.fixture
def fleet(engine: Engine, request: pytest.FixtureRequest) -> Fleet:
    return Fleet(engine, request.node.name)


@contextmanager
def locked_by_another_process(file: Path) -> Iterator[None]:
    """Hold SQLite's write lock in a process of its own."""
    hold = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE');"
        "print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            process.terminate()


def test_sound_streams_are_unknown_to_nobody_while_the_control_database_is_locked_for_less_than_ten_minutes(
    fleet: Fleet, file: Path
) -> None:
    fleet.watch(Health.OK)
    with locked_by_another_process(file):
        for _ in range(59):
            fleet.clock.sleep(10)
            with pytest.raises(UnreachableError, match="locked"):
                fleet.keep(Health.OK)
            assert fleet.conditions().conditions == {}
    fleet.keep(Health.OK)
    fleet.clock.sleep(60)
    assert fleet.conditions().conditions == {}


def test_a_stream_that_nobody_observes_is_told_of_after_ten_minutes_to_the_second_and_since_its_newest_observation(
    fleet: Fleet, file: Path
) -> None:
    fleet.watch(Health.OK)
    observed = fleet.clock.now()
    with locked_by_another_process(file):
        assert fleet.told_after() == timedelta(minutes=10)
    found = fleet.conditions().conditions
    assert list(found) == UNKNOWN
    for condition in found.values():
        assert condition.since == observed
        assert condition.why == "It was OK when it was last observed, 10 min 00 s ago."


@pytest.mark.parametrize("recorded", [Health.STALLED, Health.LAGGING, Health.LOSS_RISK])
def test_the_verdict_on_record_before_the_gap_makes_it_no_longer(fleet: Fleet, recorded: Health) -> None:
    """A change from what is worse to UNKNOWN is recorded minutes later: the record cannot say since when it is so."""
    fleet.watch(recorded)
    fleet.clock.sleep(60)
    fleet.keep(Health.OK)
    assert fleet.told_after() == timedelta(minutes=10)


@pytest.mark.parametrize("before", [Health.OK, Health.STALLED, Health.LAGGING])
def test_what_a_watcher_cannot_see_is_told_ten_minutes_after_it_was_seen_last(fleet: Fleet, before: Health) -> None:
    fleet.watch(before)
    fleet.clock.sleep(10)
    since = fleet.clock.now()
    for _ in range(60):
        fleet.keep(Health.UNKNOWN, since=since)
        assert fleet.conditions().conditions == {}
        fleet.clock.sleep(10)
    fleet.keep(Health.UNKNOWN, since=since)
    found = fleet.conditions().conditions
    assert {condition.since for condition in found.values()} == {since}
    assert list(found) == UNKNOWN


def test_a_watcher_that_was_restarted_knows_by_the_record_since_when_nothing_is_seen(fleet: Fleet) -> None:
    fleet.watch(Health.UNKNOWN)
    since = fleet.clock.now()
    for _ in range(10):
        fleet.clock.sleep(60)
        fleet.keep(Health.UNKNOWN)
    assert {condition.since for condition in fleet.conditions().conditions.values()} == {since}


def test_a_stall_is_told_after_two_minutes_and_not_with_the_first_observation_that_sees_it(fleet: Fleet) -> None:
    fleet.watch(Health.OK)
    fleet.clock.sleep(10)
    since = fleet.clock.now()
    fleet.keep(Health.STALLED)
    assert fleet.conditions().conditions == {}, "no record of it yet: nobody knows that it lasts"
    fleet.clock.sleep(10)
    fleet.watch(Health.STALLED, since=since)
    fleet.clock.sleep(99)
    assert fleet.conditions().conditions == {}
    fleet.clock.sleep(11)
    assert {found.since for found in fleet.conditions().conditions.values()} == {since}


def test_a_stop_of_an_earlier_generation_says_nothing_of_the_present_one(fleet: Fleet) -> None:
    fleet.watch(Health.STOPPED)
    fleet.registry.end("flights", 1, exit_code=1, reason="failed")
    fleet.clock.sleep(3600)
    fleet.registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="again")
    fleet.registry.intend("flights", after_generation=1, key="flights.g2")
    fleet.clock.sleep(5)
    fleet.registry.end("flights", 2, exit_code=1, reason="failed")
    died = fleet.clock.now()
    found = fleet.conditions().conditions
    assert not {key for key in found if key[1] is AlertClass.STOPPED}
    fleet.clock.sleep(PATIENCE[AlertClass.STOPPED].total_seconds())
    stopped = [each for each in fleet.conditions().conditions.values() if each.alert_class is AlertClass.STOPPED]
    assert {each.since for each in stopped} == {died}


def test_a_unit_that_is_started_after_a_day_at_rest_is_given_ten_minutes(fleet: Fleet) -> None:
    fleet.watch(Health.STOPPED)
    fleet.registry.end("flights", 1, exit_code=0, reason="ended as asked")
    fleet.registry.set_desired_state("flights", Desired.STOPPED, by="ada", why="maintenance")
    fleet.clock.sleep(86_400)
    fleet.registry.set_desired_state("flights", Desired.RUNNING, by="ada", why="done")
    assert fleet.told_after() == timedelta(minutes=10)


def test_a_clock_that_was_set_back_makes_no_alarm_and_hides_nothing_for_longer(fleet: Fleet) -> None:
    fleet.clock.sleep(3600)
    fleet.watch(Health.OK)
    fleet.clock.sleep(-3600)
    assert fleet.conditions().conditions == {}
    fleet.keep(Health.OK)  # the observation from the future makes room
    assert fleet.told_after() == timedelta(minutes=10)


def test_an_observation_from_the_future_is_not_fresh(fleet: Fleet) -> None:
    fleet.keep(Health.OK, at=fleet.clock.now() + timedelta(hours=1))
    found = fleet.conditions()
    assert found.over == {}
    assert fleet.told_after(timedelta(hours=2)) == timedelta(minutes=70)
