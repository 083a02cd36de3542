"""What a watch makes of a sighting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.exits import ExitCode
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import UnitStatus
from sluice.streams.life.watch import SETTLE, SETTLE_FAILED, WatchState, examine

NOW = datetime(2013, 1, 7, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
KEY = "local.flights.g3"
RUNNING = DesiredState("flights", Desired.RUNNING, "ada", "launch", LONG_AGO)
RESTART = DesiredState("flights", Desired.RUNNING, "ada", "restart", NOW - timedelta(minutes=1))
STOPPED = DesiredState("flights", Desired.STOPPED, "ada", "upgrade", LONG_AGO)
BOUND = Attempt("flights", 3, KEY, AttemptState.BOUND, LONG_AGO, bound_at=LONG_AGO)
INTENT = Attempt("flights", 3, KEY, AttemptState.INTENT, LONG_AGO)
ALIVE = DriverReport(KEY, DriverState.RUNNING, pid=41)
ABSENT = DriverReport(KEY, DriverState.ABSENT)
LOST = DriverReport(KEY, DriverState.LOST)


def ended(exit_code: int | None, at: datetime = LONG_AGO) -> DriverReport:
    return DriverReport(KEY, DriverState.ENDED, exit_code=exit_code, ended_at=at)


def sight(desired: DesiredState | None, attempt: Attempt | None, report: DriverReport | None) -> UnitStatus:
    return UnitStatus("flights", desired, attempt, report, ("the launcher does not answer.",) if report is None else ())


@pytest.mark.parametrize(
    ("status", "state"),
    [
        pytest.param(sight(RUNNING, BOUND, ALIVE), WatchState.WATCHING, id="alive"),
        pytest.param(sight(STOPPED, BOUND, ALIVE), WatchState.WATCHING, id="alive-while-it-stops"),
        pytest.param(sight(STOPPED, BOUND, ended(0)), WatchState.STOPPED, id="stopped-as-asked"),
        pytest.param(sight(STOPPED, BOUND, ended(-9)), WatchState.STOPPED, id="killed-after-the-deadline-of-a-stop"),
        pytest.param(sight(STOPPED, INTENT, ABSENT), WatchState.STOPPED, id="stopped-before-it-was-submitted"),
        pytest.param(sight(RUNNING, BOUND, ended(-9)), WatchState.DIED, id="killed"),
        pytest.param(sight(RUNNING, BOUND, ended(0)), WatchState.DIED, id="stopped-behind-our-back"),
        pytest.param(sight(RUNNING, BOUND, LOST), WatchState.DIED, id="lost"),
        pytest.param(sight(RUNNING, BOUND, ended(0, NOW - SETTLE / 2)), WatchState.WATCHING, id="ended-a-moment-ago"),
        pytest.param(sight(RUNNING, BOUND, ended(-9, NOW)), WatchState.DIED, id="just-died"),
        pytest.param(sight(None, BOUND, ended(-9, NOW)), WatchState.DIED, id="just-died-and-nobody-ever-asked"),
        pytest.param(
            sight(RESTART, BOUND, ended(-9, NOW - SETTLE_FAILED / 2)), WatchState.WATCHING, id="killed-by-a-restart"
        ),
        pytest.param(sight(RESTART, BOUND, ended(-9, NOW - SETTLE / 2)), WatchState.DIED, id="no-restart-followed"),
        pytest.param(sight(RUNNING, BOUND, None), WatchState.WATCHING, id="launcher-silent"),
        pytest.param(sight(STOPPED, BOUND, None), WatchState.WATCHING, id="stop-asked-launcher-silent"),
        pytest.param(sight(RUNNING, BOUND, ABSENT), WatchState.WATCHING, id="no-trace"),
        pytest.param(sight(RUNNING, None, None), WatchState.WATCHING, id="control-database-rebuilt"),
    ],
)
def test_a_sighting_has_one_meaning(status: UnitStatus, state: WatchState) -> None:
    assert examine(status, 3, now=NOW).state is state


def test_a_newer_generation_supersedes_a_dead_one() -> None:
    assert examine(sight(RUNNING, BOUND, ended(-9)), 2, now=NOW).state is WatchState.SUPERSEDED


def test_a_recorded_end_counts_when_the_launcher_is_silent() -> None:
    attempt = Attempt(
        "flights", 3, KEY, AttemptState.ENDED, LONG_AGO, ended_at=LONG_AGO, reason="was killed by signal 9"
    )

    finding = examine(sight(RUNNING, attempt, None), 3, now=NOW)

    assert finding.state is WatchState.DIED
    assert "was killed by signal 9 at 2013-01-07 11:00:00 UTC" in finding.why


def test_a_driver_that_lives_although_its_end_is_on_record_is_watched_on() -> None:
    declared_dead = Attempt("flights", 3, KEY, AttemptState.ENDED, LONG_AGO, ended_at=LONG_AGO, reason="declared dead")

    assert examine(sight(RUNNING, declared_dead, ALIVE), 3, now=NOW).state is WatchState.WATCHING


def test_a_death_says_what_to_do() -> None:
    crashed = examine(sight(RUNNING, BOUND, ended(-9)), 3, now=NOW)
    damaged = examine(sight(RUNNING, BOUND, ended(ExitCode.CORRUPT)), 3, now=NOW)

    assert "sluice streams logs flights" in crashed.what_to_do
    assert "the next generation starts by itself" in crashed.what_to_do
    assert "then run `sluice streams resume flights`" in damaged.what_to_do
    assert "It is HALTED: " in damaged.why


@given(
    desired=st.sampled_from([None, RUNNING, STOPPED]),
    attempt=st.sampled_from([None, BOUND, INTENT]),
    watched=st.integers(1, 4),
    late=st.timedeltas(timedelta(0), timedelta(days=400)),
)
def test_unknown_is_never_dead(
    desired: DesiredState | None, attempt: Attempt | None, watched: int, late: timedelta
) -> None:
    finding = examine(sight(desired, attempt, None), watched, now=NOW + late)

    assert finding.state in {WatchState.WATCHING, WatchState.SUPERSEDED}


@given(
    attempt=st.sampled_from([BOUND, INTENT]),
    report=st.sampled_from([ALIVE, ABSENT, LOST, ended(0), ended(-9), ended(10), None]),
    watched=st.integers(1, 4),
)
def test_no_watch_is_red_while_a_stop_is_on_record(attempt: Attempt, report: DriverReport | None, watched: int) -> None:
    assert examine(sight(STOPPED, attempt, report), watched, now=NOW).state is not WatchState.DIED
