"""What follows an end that the spec asks for: the governor, the watch, the reconciler, and a unit's life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.model.schedule import ALL_THE_TIME, RunPlan, next_due
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import EXIT_CODES, PLANNED, FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.governor import JITTER, POLICIES, Go, Halt, Hold, Rest, govern
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.reconcile import DUE_PATIENCE, ActionKind, reconcile
from sluice.streams.life.status import UnitStatus
from sluice.streams.life.timeline import timeline
from sluice.streams.life.watch import WatchState, examine
from tests.twins.clock import START

HOURLY = RunPlan("0 * * * *")
IDLE = RunPlan(None, timedelta(minutes=30))
MORNINGS = RunPlan("0 8 * * *", timedelta(hours=2))
WISH = DesiredState("flights", Desired.RUNNING, "ada", "launch", START - timedelta(days=2))
MINUTE = timedelta(minutes=1)


def ended(kind: FailureClass, at: datetime, *, generation: int = 1, lived: timedelta = MINUTE) -> Attempt:
    code = EXIT_CODES.get(kind)
    return Attempt(
        "flights",
        generation,
        f"local.flights.g{generation}",
        AttemptState.ENDED,
        at - lived,
        at - lived,
        at,
        None if code is None else int(code),
        "ended",
        kind,
    )


def status(*attempts: Attempt, plan: RunPlan, unread: datetime | None = None) -> UnitStatus:
    newest, *earlier = attempts
    report = DriverReport(newest.key, DriverState.ENDED, 7, newest.bound_at, newest.ended_at, newest.exit_code)
    return UnitStatus("flights", WISH, newest, report, earlier=tuple(earlier), plan=plan, unread_since=unread)


def test_after_a_run_of_a_schedule_nothing_starts_before_it_is_due() -> None:
    newest = ended(FailureClass.COMPLETED, START)
    due = next_due("0 * * * *", newest.intended_at)
    resting = status(newest, plan=HOURLY).outlook(due - timedelta(seconds=1))
    assert resting == Rest(due, f"generation 1 ended; scheduled, next at {due:%Y-%m-%d %H:%M} UTC")
    assert isinstance(status(newest, plan=HOURLY).outlook(due), Go)


def test_what_was_due_while_a_run_was_at_work_is_due_as_soon_as_it_has_ended() -> None:
    newest = ended(FailureClass.COMPLETED, START, lived=timedelta(hours=2))
    assert isinstance(status(newest, plan=HOURLY).outlook(START), Go)


@given(
    st.sampled_from(sorted(PLANNED)),
    st.sampled_from([HOURLY, IDLE, MORNINGS, ALL_THE_TIME]),
    st.timedeltas(timedelta(0), timedelta(days=3)),
    st.timedeltas(timedelta(0), timedelta(days=3)),
    st.booleans(),
)
def test_a_rest_ends_with_the_schedule_or_with_records_and_with_nothing_else(
    kind: FailureClass, plan: RunPlan, lived: timedelta, later: timedelta, comes: bool
) -> None:
    newest, now = ended(kind, START, lived=lived), START + later
    wish = replace(WISH, at=newest.intended_at)
    outlook = govern([newest], wish, now=now, plan=plan, unread_since=now if comes else None)
    if plan.schedule is not None:
        assert isinstance(outlook, Rest) == (now < next_due(plan.schedule, newest.intended_at))
    elif plan == IDLE and kind is FailureClass.IDLE:
        assert isinstance(outlook, Rest) == (not comes)
    else:
        assert isinstance(outlook, Go)
    assert not isinstance(outlook, Halt)


@given(st.lists(st.sampled_from([FailureClass.TRANSIENT, FailureClass.CODE, FailureClass.COMPLETED]), max_size=12))
def test_failures_before_a_run_that_went_well_count_no_more(kinds: Sequence[FailureClass]) -> None:
    """A schedule that fails once a night is no crash loop."""
    attempts = [
        ended(kind, START + number * timedelta(minutes=5), generation=number + 1) for number, kind in enumerate(kinds)
    ]
    failed = ended(FailureClass.CODE, START + timedelta(hours=2), generation=len(kinds) + 2)
    went_well = ended(FailureClass.COMPLETED, START + timedelta(hours=1), generation=len(kinds) + 1)
    history = [failed, went_well, *reversed(attempts)]
    assert failed.ended_at is not None
    outlook = govern(history, WISH, now=failed.ended_at, plan=HOURLY)
    assert isinstance(outlook, Hold)
    assert outlook.until - failed.ended_at <= POLICIES[FailureClass.CODE].first * (1 + JITTER)


@given(st.integers(1, 30))
def test_starts_for_little_are_bounded(ends: int) -> None:
    """Records that come soon after each idle end start a driver a few times at once, and then ever later."""
    step = timedelta(minutes=31)
    history = [
        ended(FailureClass.IDLE, START + number * step, generation=number + 1, lived=timedelta(minutes=30))
        for number in range(ends)
    ][::-1]
    newest = history[0].ended_at
    assert newest is not None
    outlook = govern(history, WISH, now=newest, plan=IDLE, unread_since=newest)
    policy = POLICIES[FailureClass.IDLE]
    if ends <= policy.at_once:
        assert isinstance(outlook, Go)
    else:
        assert isinstance(outlook, Hold)
        assert policy.first <= outlook.until - newest <= policy.longest * (1 + JITTER)


def test_a_watch_is_green_after_a_run_and_goes_on_while_records_are_waited_for() -> None:
    at = START + 10 * MINUTE
    completed, idle = ended(FailureClass.COMPLETED, at), ended(FailureClass.IDLE, at)
    found = examine(status(completed, plan=HOURLY), 1, now=at)
    assert (found.state, found.rests) == (WatchState.COMPLETED, False)
    assert "scheduled, next at" in found.why
    waits = examine(status(idle, plan=IDLE), 1, now=at)
    assert (waits.state, waits.rests) == (WatchState.WATCHING, True)
    woken = examine(status(idle, plan=IDLE, unread=at), 1, now=at)
    assert woken.state is WatchState.COMPLETED
    assert woken.over


def test_the_reconciler_leaves_a_rest_alone_watches_for_records_and_makes_up_for_a_run_that_did_not_begin() -> None:
    newest = ended(FailureClass.COMPLETED, START)
    due = next_due("0 * * * *", newest.intended_at)
    resting = status(newest, plan=HOURLY)
    assert reconcile(resting, watched=False, now=due - MINUTE).kind is ActionKind.NOTHING
    begins = reconcile(resting, watched=False, now=due)
    assert (begins.kind, "its run begins" in begins.why) == (ActionKind.NOTHING, True)
    late = reconcile(resting, watched=False, now=due + DUE_PATIENCE)
    assert (late.kind, "did not begin" in late.why) == (ActionKind.START, True)
    idle = status(ended(FailureClass.IDLE, START), plan=IDLE)
    assert reconcile(idle, watched=False, now=START).kind is ActionKind.WATCH
    assert reconcile(idle, watched=True, now=START).kind is ActionKind.NOTHING
    woken = status(ended(FailureClass.IDLE, START), plan=IDLE, unread=START)
    assert reconcile(woken, watched=False, now=START).kind is ActionKind.START


@pytest.mark.parametrize("code", [ExitCode.COMPLETED, ExitCode.IDLE])
def test_a_request_that_is_younger_than_the_end_starts_a_driver_at_once(code: ExitCode) -> None:
    kind = next(kind for kind in PLANNED if EXIT_CODES[kind] is code)
    asked = replace(status(ended(kind, START), plan=HOURLY), desired=replace(WISH, at=START + MINUTE))
    assert asked.pause(START + 2 * MINUTE) is None
    assert reconcile(asked, watched=False, now=START + 2 * MINUTE).kind is ActionKind.START


def test_the_list_of_attempts_says_when_the_next_starts() -> None:
    newest = ended(FailureClass.COMPLETED, START + MINUTE)
    due = next_due("0 * * * *", newest.intended_at)
    shown = timeline(status(newest, plan=HOURLY), [newest], now=START + 2 * MINUTE, log=Path)
    assert shown.next.endswith(f"scheduled, next at {due:%Y-%m-%d %H:%M} UTC")
    assert next(iter(shown.lines())).split(", ")[3].startswith("completed: ")
