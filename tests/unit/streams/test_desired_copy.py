"""The copy of desired states: it fills in what a lost control database wanted, and overrules nothing."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from sluice.control.database import migrate, open_database, sqlite_url
from sluice.control.registry import SqlRegistry
from sluice.errors import CorruptionError
from sluice.storage.bucket_folder import BucketFolder
from sluice.storage.bucket_objects import BucketObjects
from sluice.storage.folder import Folder
from sluice.storage.objects import Objects, objects_in
from sluice.streams.desired_copy import LEFT_ALONE, DesiredCopy, Restoring
from sluice.streams.life.attempts import Desired
from tests.twins.clock import ManualClock
from tests.twins.registry import InMemoryRegistry

RUNNING, STOPPED = Desired.RUNNING, Desired.STOPPED


class CopiedRegistry(InMemoryRegistry):
    """A control database with a copy, as `SqlRegistry` keeps it."""

    def __init__(self, clock: ManualClock, objects: Objects) -> None:
        super().__init__(clock)
        self.copy = DesiredCopy(objects, clock)

    def wants(self, unit: str, state: Desired) -> None:
        self.set_desired_state(unit, state, by="ada", why="a test")
        self.copy.compare(self)

    def compare(self) -> Restoring:
        return self.copy.compare(self)

    @property
    def states(self) -> dict[str, Desired]:
        return {unit: desired.state for unit, desired in self.all_desired_states().items()}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def objects(place: Folder) -> Objects:
    return objects_in(place / "desired")


def test_what_a_lost_database_wanted_is_wanted_again(clock: ManualClock, objects: Objects) -> None:
    lost = CopiedRegistry(clock, objects)
    lost.wants("flights", RUNNING)
    lost.wants("taxis", STOPPED)
    lost.wants("flights", STOPPED)
    lost.wants("flights", RUNNING)
    clock.sleep(LEFT_ALONE.total_seconds())
    new = CopiedRegistry(clock, objects)
    assert new.compare() == Restoring(restored=("flights", "taxis"))
    assert new.all_desired_states() == lost.all_desired_states()  # by whom, why and when, too
    assert new.compare() == Restoring()


def test_nothing_is_taken_over_from_a_deployment_that_lives(clock: ManualClock, objects: Objects) -> None:
    living = CopiedRegistry(clock, objects)
    living.wants("flights", RUNNING)
    other = CopiedRegistry(clock, objects)
    for _ in range(10):  # rounds of both, a minute apart
        clock.sleep(60)
        assert living.compare() == Restoring()
        assert other.compare() == Restoring(waiting=("flights",), until=clock.now() + LEFT_ALONE)
    assert other.states == {}
    clock.sleep(60)
    waits = other.compare()  # it marks nothing itself, or it would wait for ever
    assert waits.until == clock.now() + LEFT_ALONE - timedelta(seconds=60)
    clock.sleep(LEFT_ALONE.total_seconds() - 60)
    assert other.compare() == Restoring(restored=("flights",))


def test_a_wish_of_the_new_database_is_newer_than_any_of_the_copy(clock: ManualClock, objects: Objects) -> None:
    lost = CopiedRegistry(clock, objects)
    for unit in ("flights", "taxis"):
        lost.wants(unit, RUNNING)
    new = CopiedRegistry(clock, objects)
    before = objects.read("units.json")
    new.wants("flights", STOPPED)
    assert new.states == {"flights": STOPPED}
    assert objects.read("units.json") == before, "the living one would take over what another one adds"
    clock.sleep(LEFT_ALONE.total_seconds())
    assert new.compare() == Restoring(restored=("taxis",))
    assert new.states == {"flights": STOPPED, "taxis": RUNNING}
    third = CopiedRegistry(clock, objects)
    clock.sleep(LEFT_ALONE.total_seconds())
    third.compare()
    assert third.states == new.states


def test_a_mark_of_a_clock_that_was_ahead_keeps_nobody_waiting(clock: ManualClock, objects: Objects) -> None:
    ahead = ManualClock(clock.now() + timedelta(days=365))
    CopiedRegistry(ahead, objects).wants("flights", RUNNING)
    new = CopiedRegistry(clock, objects)
    assert new.compare() == Restoring(restored=("flights",))
    third = CopiedRegistry(clock, objects)
    assert third.compare().waiting == ("flights",)


def test_before_the_first_wish_there_is_no_copy(clock: ManualClock, objects: Objects) -> None:
    registry = CopiedRegistry(clock, objects)
    assert registry.compare() == Restoring()
    assert objects.names() == []


BROKEN = [b"", b"{}", b"[1]", b'{"marked": "2013-01-07T12:00Z", "units": {"a": 1}}', b"\xff"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_copy_that_cannot_be_read_changes_nothing_and_is_not_written_over(
    clock: ManualClock, objects: Objects, text: bytes
) -> None:
    objects.put("units.json", text)
    registry = CopiedRegistry(clock, objects)
    registry.set_desired_state("flights", RUNNING, by="ada", why="a test")
    with pytest.raises(CorruptionError, match=r"units.json is no copy of desired states"):
        registry.compare()
    assert objects.read("units.json") == text
    assert registry.states == {"flights": RUNNING}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("lose"), st.just("")),
        st.tuples(st.just("round"), st.just("")),
        st.tuples(st.sampled_from(list(Desired)), st.sampled_from("abc")),
    ),
    max_size=30,
)


@given(steps=STEPS)
def test_whatever_is_lost_between_the_last_wish_of_each_unit_holds(steps: list[tuple[str, str]]) -> None:
    clock, objects = ManualClock(), BucketObjects(BucketFolder("none", "desired"), MemoryStore())
    registry, wanted = CopiedRegistry(clock, objects), dict[str, Desired]()
    for step, unit in steps:
        match step:
            case "lose":
                registry = CopiedRegistry(clock, objects)
                clock.sleep(LEFT_ALONE.total_seconds())
            case "round":
                clock.sleep(60)
                registry.compare()
                assert registry.states == wanted
            case _:
                registry.wants(unit, Desired(step))
                wanted[unit] = Desired(step)


def test_the_database_copies_what_it_records_and_records_it_all_the_same_without(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_database(sqlite_url(tmp_path / "control.db"))
    migrate(engine)
    objects = objects_in(tmp_path / "desired")
    registry = SqlRegistry(engine, "local", clock, DesiredCopy(objects, clock))
    registry.set_desired_state("flights", RUNNING, by="ada", why="demo")
    assert b'"flights"' in (objects.read("units.json") or b"")
    (tmp_path / "desired" / "units.json").write_bytes(b"nonsense")
    with caplog.at_level(logging.WARNING):
        registry.set_desired_state("flights", STOPPED, by="ada", why="demo")
    assert "the copy of that was not written" in caplog.text
    desired = registry.desired("flights")
    assert desired is not None
    assert desired.state is STOPPED
