from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.advice import advice
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import EXIT_CODES, FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.governor import JITTER, POLICIES
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.reconcile import STOP_PATIENCE, ActionKind, Correction, reconcile
from sluice.streams.life.status import UnitStatus
from tests.twins.clock import START

WAIT = POLICIES[FailureClass.UNKNOWN].first.total_seconds()
REPEATING = sorted(kind for kind, policy in POLICIES.items() if policy.budget == 1)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def wish(state: Desired, at: datetime = START) -> DesiredState:
    return DesiredState("flights", state, "ada", "demo", at)


def attempt(state: AttemptState, ended_at: datetime | None = None, exit_code: int | None = None) -> Attempt:
    return Attempt("flights", 2, "local.flights.g2", state, START, ended_at=ended_at, exit_code=exit_code, reason="x")


def report(state: DriverState, ended_at: datetime | None = None, exit_code: int | None = None) -> DriverReport:
    return DriverReport("local.flights.g2", state, 7, START, ended_at, exit_code)


def act(
    desired: DesiredState | None,
    of: Attempt | None,
    seen: DriverReport | None,
    *,
    watched: bool = False,
    now: datetime = START,
) -> Correction:
    return reconcile(UnitStatus("flights", desired, of, seen), watched, now=now)


def test_what_should_run_and_never_ran_is_started() -> None:
    assert act(wish(Desired.RUNNING), None, None).kind is ActionKind.START


def test_what_nobody_asked_for_is_left_alone() -> None:
    assert act(None, None, None).kind is ActionKind.NOTHING


def test_what_runs_unwatched_is_watched_and_what_is_watched_is_left_alone() -> None:
    running = (wish(Desired.RUNNING), attempt(AttemptState.BOUND), report(DriverState.RUNNING))
    assert act(*running).kind is ActionKind.WATCH
    assert act(*running, watched=True).kind is ActionKind.NOTHING


def test_what_cannot_be_seen_is_left_alone() -> None:
    assert act(wish(Desired.RUNNING), attempt(AttemptState.BOUND), None).kind is ActionKind.NOTHING


def test_a_reserved_key_is_submitted() -> None:
    of = attempt(AttemptState.INTENT)
    assert act(wish(Desired.RUNNING), of, report(DriverState.ABSENT)).kind is ActionKind.START


BACKOFF = [(WAIT - 1, ActionKind.NOTHING), (WAIT * (1 + JITTER), ActionKind.START)]


@pytest.mark.parametrize(("seconds", "kind"), BACKOFF)
def test_the_next_start_waits_until_the_backoff_is_over(seconds: float, kind: ActionKind) -> None:
    dead = report(DriverState.ENDED, after(100), ExitCode.FAILED)
    assert act(wish(Desired.RUNNING), attempt(AttemptState.BOUND), dead, now=after(100 + seconds)).kind is kind


@pytest.mark.parametrize(("seconds", "kind"), BACKOFF)
def test_an_end_on_record_is_waited_for_as_well(seconds: float, kind: ActionKind) -> None:
    of = attempt(AttemptState.ENDED, after(100), ExitCode.FAILED)
    seen = report(DriverState.ENDED, after(100), ExitCode.FAILED)
    assert act(wish(Desired.RUNNING), of, seen, now=after(100 + seconds)).kind is kind


def test_a_driver_that_was_lost_or_killed_is_followed_at_once() -> None:
    of = attempt(AttemptState.BOUND)
    assert act(wish(Desired.RUNNING), of, report(DriverState.LOST), now=after(1)).kind is ActionKind.START
    killed = report(DriverState.ENDED, after(1), -9)
    assert act(wish(Desired.RUNNING), of, killed, now=after(1)).kind is ActionKind.START


def test_a_wish_after_the_end_does_not_wait() -> None:
    dead = report(DriverState.ENDED, after(100), int(ExitCode.CORRUPT))
    action = act(wish(Desired.RUNNING, after(101)), attempt(AttemptState.BOUND), dead, now=after(102))
    assert action.kind is ActionKind.START


@pytest.mark.parametrize("failure", REPEATING)
@pytest.mark.parametrize("watched", [True, False])
def test_an_end_that_repeats_itself_is_told_and_never_retried_by_time_alone(
    failure: FailureClass, watched: bool
) -> None:
    dead = report(DriverState.ENDED, after(100), EXIT_CODES[failure])
    action = act(wish(Desired.RUNNING), attempt(AttemptState.BOUND), dead, watched=watched, now=after(10**6))
    assert action.kind is (ActionKind.NOTHING if watched else ActionKind.NOTIFY)
    assert action.why.startswith("HALTED: generation 2 ")
    assert action.why.endswith(f"To resume: {advice(failure, 'flights')}")
    assert action.about == "local.flights.g2"


PATIENCE = STOP_PATIENCE.total_seconds()


@pytest.mark.parametrize(("seconds", "kind"), [(PATIENCE - 1, ActionKind.NOTHING), (PATIENCE, ActionKind.STOP)])
def test_a_stop_that_nobody_finished_is_finished(seconds: float, kind: ActionKind) -> None:
    running = (attempt(AttemptState.BOUND), report(DriverState.RUNNING))
    found = act(wish(Desired.STOPPED), *running, now=after(seconds))
    assert found.kind is kind
    assert found.why.startswith(f"ada requested a stop (demo) {seconds:.0f} s ago")


wishes = st.none() | st.builds(wish, st.sampled_from(Desired), st.integers(0, 500).map(after))
ends = st.none() | st.integers(0, 500).map(after)
codes = st.none() | st.integers(-15, 20)
attempts = st.none() | st.builds(attempt, st.sampled_from(AttemptState), ends, codes)
reports = st.none() | st.builds(report, st.sampled_from(DriverState), ends, codes)


@given(wishes, attempts, reports, st.booleans(), st.integers(0, 1000).map(after))
def test_nothing_is_started_beside_a_driver_that_may_live_and_nothing_dead_is_watched(
    desired: DesiredState | None, of: Attempt | None, seen: DriverReport | None, watched: bool, now: datetime
) -> None:
    kind = act(desired, of, seen, watched=watched, now=now).kind
    alive = of is not None and seen is not None and seen.state is DriverState.RUNNING
    if kind is ActionKind.START:
        assert desired is not None
        assert desired.state is Desired.RUNNING
        assert of is None or (seen is not None and not alive)
    if kind is ActionKind.WATCH:
        assert alive
        assert not watched
