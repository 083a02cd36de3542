from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import NoReturn

from sluice.errors import CorruptionError, UnreachableError
from sluice.streams.checkpoint import CommittedBatch
from sluice.streams.evidence import Source, gather
from sluice.streams.launcher import DriverReport, DriverState
from sluice.streams.life import Sighting
from sluice.streams.registry import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.verdict import Evidence
from tests.twins.clock import START

WANTED = DesiredState("flights", Desired.RUNNING, "ada", "demo", START)
BOUND = Attempt("flights", 1, "local.flights.g1", AttemptState.BOUND, START)
RUNNING = DriverReport("local.flights.g1", DriverState.RUNNING, 7, START)
BATCH = CommittedBatch(11, {"flights/0": 60}, None, START - timedelta(seconds=5))


def seen(
    sighting: Sighting | None,
    position: Callable[[], CommittedBatch | None] = lambda: BATCH,
    ends: Callable[[str], Mapping[int, int]] = lambda _topic: {0: 61},
    notes: tuple[str, ...] = (),
) -> Evidence:
    sources = {"departures": Source("flights", position)}
    return gather("flights", sighting, sources, ends, at=START, notes=notes)["departures"]


def failing(error: Exception) -> Callable[..., NoReturn]:
    def ask(*_: object) -> NoReturn:
        raise error

    return ask


def test_what_every_source_says_is_put_together() -> None:
    assert seen(Sighting("flights", WANTED, BOUND, RUNNING)) == Evidence(
        at=START,
        unit="flights",
        driver=RUNNING,
        committed={"flights/0": 60},
        batches=12,
        committed_at=START - timedelta(seconds=5),
        ends={"flights/0": 61},
    )


def test_before_the_first_batch_the_position_is_empty_and_not_missing() -> None:
    evidence = seen(Sighting("flights", WANTED, BOUND, RUNNING), position=lambda: None)
    assert (evidence.committed, evidence.batches, evidence.committed_at) == ({}, 0, None)


def test_sources_that_fail_are_missing_with_a_note_and_the_others_are_heard() -> None:
    evidence = seen(
        Sighting("flights", WANTED, BOUND, RUNNING),
        position=failing(CorruptionError("offsets/3 is empty.")),
        ends=failing(RuntimeError("no route")),
    )
    assert (evidence.committed, evidence.ends, evidence.driver) == (None, None, RUNNING)
    assert evidence.notes == ("offsets/3 is empty.", "broker: RuntimeError: no route")


def test_without_the_control_database_the_driver_is_unknown() -> None:
    note = "the control database does not answer."
    evidence = seen(None, notes=(note,))
    assert evidence.driver is None
    assert not evidence.stop_wanted
    assert evidence.notes == (note,)


def test_without_the_launcher_the_driver_is_unknown() -> None:
    evidence = seen(Sighting("flights", WANTED, BOUND, None, ("the launcher does not answer.",)))
    assert evidence.driver is None
    assert evidence.notes == ("the launcher does not answer.",)


def test_an_end_on_record_is_known_even_without_the_launcher() -> None:
    ended = Attempt("flights", 1, "local.flights.g1", AttemptState.ENDED, START, START, START, 0, "stopped as asked")
    driver = seen(Sighting("flights", WANTED, ended, None)).driver
    assert driver is not None
    assert (driver.state, driver.exit_code, driver.ended_at) == (DriverState.ENDED, 0, START)


def test_a_driver_that_lives_in_spite_of_a_recorded_end_is_shown_alive() -> None:
    ended = Attempt("flights", 1, "local.flights.g1", AttemptState.ENDED, START, START, START, None, "declared dead")
    assert seen(Sighting("flights", WANTED, ended, RUNNING)).driver == RUNNING


def test_a_started_driver_without_a_trace_is_unknown_and_not_absent() -> None:
    evidence = seen(Sighting("flights", WANTED, BOUND, DriverReport("local.flights.g1", DriverState.ABSENT)))
    assert evidence.driver is None
    assert evidence.notes == ("the launcher has no trace of local.flights.g1, which it started",)


def test_a_unit_that_never_ran_has_no_driver_for_certain() -> None:
    driver = seen(Sighting("flights", None, None, None)).driver
    assert driver is not None
    assert driver.state is DriverState.ABSENT


def test_a_stop_on_record_is_in_the_evidence() -> None:
    stopped = DesiredState("flights", Desired.STOPPED, "bob", "upgrade", START)
    assert seen(Sighting("flights", stopped, BOUND, RUNNING)).stop_wanted


def test_all_positions_are_read_before_any_end_so_that_a_batch_in_between_is_no_rewind() -> None:
    order: list[str] = []

    def position() -> CommittedBatch:
        order.append("position")
        return BATCH

    def ends(topic: str) -> Mapping[int, int]:
        order.append(topic)
        return {0: 61}

    sources = {"raw_flights": Source("flights", position), "departures": Source("flights", position)}
    evidence = gather("flights", Sighting("flights", WANTED, BOUND, RUNNING), sources, ends, at=START)
    assert order == ["position", "position", "flights"]
    assert list(evidence) == ["raw_flights", "departures"]


def test_a_broker_that_does_not_answer_is_asked_once_per_topic() -> None:
    asked: list[str] = []

    def ends(topic: str) -> Mapping[int, int]:
        asked.append(topic)
        raise UnreachableError("no answer.")

    sources = {name: Source("flights", lambda: BATCH) for name in ("raw_flights", "departures")}
    evidence = gather("flights", Sighting("flights", WANTED, BOUND, RUNNING), sources, ends, at=START)
    assert asked == ["flights"]
    assert [each.notes for each in evidence.values()] == [("no answer.",)] * 2
