"""Many units checked together."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from sluice.errors import UnreachableError
from sluice.streams.life.attempts import AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport
from sluice.streams.life.life import UnitLife
from sluice.streams.life.lives import Lives
from sluice.streams.life.status import RecordedUnit
from tests.twins.clock import ManualClock
from tests.twins.drivers import DictionaryLauncher
from tests.twins.lives import job
from tests.twins.registry import InMemoryRegistry

UNITS = ["flights", "trains", "weather"]


class CountedRegistry(InMemoryRegistry):
    """Counts what is asked for one unit, and may not answer."""

    asked = 0
    reachable = True

    def desired(self, unit: str) -> DesiredState | None:
        self.asked += 1
        return super().desired(unit)

    def newest_desired_states(self, units: Collection[str]) -> Mapping[str, DesiredState]:
        if not self.reachable:
            raise UnreachableError("the control database does not answer.")
        return {unit: wishes[-1] for unit in units if (wishes := self._wishes.get(unit))}


class TornLauncher(DictionaryLauncher):
    """One driver's records are torn."""

    torn = ""

    def find(self, key: str) -> DriverReport:
        if key == self.torn:
            raise ValueError("half a record")
        return super().find(key)


class Crew:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.registry, self.launcher = CountedRegistry(self.clock), TornLauncher(self.clock)
        self.lives = Lives(self.registry, self.life)
        for unit in UNITS:
            self.lives.of(unit).start("ada", "launch")
        self.registry.asked = 0

    def life(self, unit: str) -> UnitLife:
        return UnitLife(self.registry, self.launcher, deployment="local", unit=unit, job=job, clock=self.clock)


def test_what_is_seen_of_many_is_what_is_seen_of_each_and_nothing_is_asked_for_one_alone() -> None:
    crew = Crew()
    lives, ends = crew.lives.observe(UNITS), crew.lives.record_ends(UNITS)
    assert crew.registry.asked == 0
    assert lives == ends
    assert lives.by_unit == {unit: crew.lives.of(unit).observe() for unit in UNITS}
    assert lives.failed == {}


def test_one_that_cannot_be_checked_disturbs_no_other_and_is_not_dead() -> None:
    crew = Crew()
    crew.launcher.torn = "local.trains.g1"
    crew.launcher.die("local.weather.g1", -9)
    ends = crew.lives.record_ends(UNITS)
    assert sorted(ends.by_unit) == ["flights", "weather"]
    assert [str(error) for error in ends.failed.values()] == ["half a record"]
    attempts = crew.registry.newest_attempts(UNITS)
    assert {unit: attempt.state for unit, attempt in attempts.items()} == {
        "flights": AttemptState.BOUND,
        "trains": AttemptState.BOUND,
        "weather": AttemptState.ENDED,
    }


def test_a_launcher_that_is_silent_is_a_note_in_each_sighting() -> None:
    crew = Crew()
    crew.launcher.reachable = False
    seen = crew.lives.observe(UNITS).by_unit
    assert [status.notes for status in seen.values()] == [("the launcher does not answer.",)] * len(UNITS)


def test_a_control_database_that_is_silent_says_nothing_of_any() -> None:
    crew = Crew()
    crew.registry.reachable = False
    with pytest.raises(UnreachableError):
        crew.lives.observe(UNITS)
    with pytest.raises(UnreachableError):
        crew.lives.record_ends(UNITS)


def test_records_that_are_older_than_what_happened_since_do_no_harm() -> None:
    """Between the common read and the check of a unit, its driver dies, its end is recorded and the next one starts."""
    crew = Crew()
    life = crew.lives.of("flights")
    stale = life.observe()
    crew.launcher.die("local.flights.g1", -9)
    life.restart("bob", "again", 1)
    ended = crew.registry.attempts("flights")[1]
    status = life.record_end(RecordedUnit(stale.desired, stale.attempt))
    assert status.attempt is not None
    assert status.attempt.generation == 2
    assert status.alive
    assert crew.registry.attempts("flights")[1] == ended
    assert len(crew.registry.attempts("flights")) == 2
    assert crew.launcher.alive.count("local.flights.g2") == 1
    assert status.desired is not None
    assert status.desired.state is Desired.RUNNING
