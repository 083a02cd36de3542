"""When the next attempt may start: histories under the governor, and what it says in words."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.streams.failures.advice import advice
from sluice.streams.failures.failure import EXIT_CODES, FailureClass
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.governor import (
    HISTORY,
    JITTER,
    POLICIES,
    STABLE_LEAST,
    STABLE_MOST,
    Go,
    Halt,
    Hold,
    Outlook,
    chance,
    govern,
    stable,
    streak,
)
from sluice.streams.life.identity import submission_key
from tests.twins.clock import START

WISH = DesiredState("flights", Desired.RUNNING, "ada", "launch", START)
NEVER_RETRIED = [kind for kind, policy in POLICIES.items() if policy.budget == 1]
RETRIED = [kind for kind in FailureClass if kind not in NEVER_RETRIED]
FOR_EVER = START + timedelta(days=3650)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def ended(generation: int, failure: FailureClass, started_at: datetime, lived: timedelta) -> Attempt:
    return Attempt(
        "flights",
        generation,
        submission_key("local", "flights", generation),
        AttemptState.ENDED,
        intended_at=started_at,
        bound_at=started_at,
        ended_at=started_at + lived,
        reason="failed",
        failure=failure,
    )


def attempts_of(*lives: tuple[FailureClass, timedelta]) -> list[Attempt]:
    """Play attempts one after another, each started as soon as it may be; newest first. Ends where it is HALTED."""
    history: list[Attempt] = []
    now = START
    for failure, lived in lives:
        outlook = govern(history, WISH, now=now)
        if isinstance(outlook, Hold):
            now = outlook.until
            outlook = govern(history, WISH, now=now)
        if isinstance(outlook, Halt):
            break
        history.insert(0, ended(len(history) + 1, failure, now, lived))
        now += lived
    return history


def at_the_end(history: list[Attempt], later: timedelta = timedelta(0)) -> Outlook:
    assert history[0].ended_at is not None
    return govern(history, WISH, now=history[0].ended_at + later)


def waited(hold: Hold, lived: timedelta) -> timedelta:
    """Return how long a wait lasts after attempts that began at the start and took so long together."""
    return hold.until - (START + lived)


kinds = st.sampled_from(FailureClass)
spans = st.integers(0, 4 * 3600).map(seconds)
plays = st.lists(st.tuples(kinds, spans), min_size=1, max_size=12)
histories = plays.map(lambda play: attempts_of(*play))


@given(histories)
def test_no_start_before_the_backoff_of_the_newest_end_is_over(history: list[Attempt]) -> None:
    match at_the_end(history):
        case Hold(until=until):
            assert isinstance(govern(history, WISH, now=until - seconds(0.001)), Hold)
            assert isinstance(govern(history, WISH, now=until), Go)
        case Go():
            assert POLICIES[history[0].failure or FailureClass.UNKNOWN].at_once > 0
        case Halt():
            assert isinstance(govern(history, WISH, now=FOR_EVER), Halt)


@given(histories, spans, spans)
def test_it_never_becomes_stricter_by_the_passing_of_time(
    history: list[Attempt], early: timedelta, late: timedelta
) -> None:
    order = [Halt, Hold, Go]
    first, second = (order.index(type(at_the_end(history, after))) for after in sorted((early, late)))
    assert first <= second


@given(histories)
def test_within_a_span_no_class_ends_more_often_than_its_budget(history: list[Attempt]) -> None:
    row = streak(history)
    for failure, policy in POLICIES.items():
        ends = sorted(end.ended_at for end in row if end.failure is failure and end.ended_at)
        for first in ends:
            assert policy.budget is None or sum(first <= end < first + policy.span for end in ends) <= policy.budget


@given(histories, st.integers(1, 10**6).map(seconds))
def test_halted_ends_by_a_younger_wish_alone(history: list[Attempt], later: timedelta) -> None:
    halted = isinstance(at_the_end(history), Halt)
    assert isinstance(govern(history, WISH, now=FOR_EVER), Halt) is halted
    assert history[0].ended_at is not None
    younger = replace(WISH, at=history[0].ended_at + later)
    assert isinstance(govern(history, younger, now=younger.at), Go)


@given(histories, histories)
def test_the_same_records_give_the_same_answer_whatever_was_asked_before(
    history: list[Attempt], other: list[Attempt]
) -> None:
    first = at_the_end(history)
    at_the_end(other)
    assert at_the_end(pickle.loads(pickle.dumps(history))) == first  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    ("generation", "failure", "milliseconds"),
    [(1, FailureClass.CODE, 32_222), (2, FailureClass.CODE, 35_306), (1, FailureClass.TRANSIENT, 16_111)],
)
def test_every_process_and_machine_computes_the_same_wait_to_the_millisecond(
    generation: int, failure: FailureClass, milliseconds: int
) -> None:
    outlook = at_the_end([ended(generation, failure, START, seconds(5))])
    # Written down, because two answers of one process agree even if each process gives another one.
    assert isinstance(outlook, Hold)
    assert waited(outlook, seconds(5)) // timedelta(milliseconds=1) == milliseconds


WAITS = [
    (FailureClass.STOPPED, 2, 10),
    (FailureClass.STOPPED, 4, 40),
    (FailureClass.STOPPED, 5, 60),
    (FailureClass.KILLED, 2, 10),
    (FailureClass.KILLED, 7, 300),
    (FailureClass.TRANSIENT, 1, 15),
    (FailureClass.TRANSIENT, 9, 600),
    (FailureClass.DISK_FULL, 3, 60),
    (FailureClass.DISK_FULL, 5, 120),
    (FailureClass.UNKNOWN, 5, 240),
    (FailureClass.OUT_OF_MEMORY, 3, 120),
    (FailureClass.CODE, 2, 60),
]
"""A class, so many ends of it in a row, and the seconds that follow before they are stretched."""


def in_a_row(failure: FailureClass, ends: int, *, first: int) -> list[Attempt]:
    """Return ends a second apart, newest first; the jitter depends on the generation of the newest."""
    return [ended(first + n, failure, START + seconds(n), seconds(0.5)) for n in reversed(range(ends))]


@pytest.mark.parametrize(("failure", "ends", "wait"), WAITS)
def test_the_jitter_stretches_a_wait_by_up_to_half_of_it(failure: FailureClass, ends: int, wait: int) -> None:
    stretched = []
    for first in range(1, 201):
        outlook = at_the_end(in_a_row(failure, ends, first=first))
        assert isinstance(outlook, Hold)
        stretched.append(waited(outlook, seconds(ends - 0.5)) / seconds(wait))
    assert 1 <= min(stretched) < 1.05
    assert 1.45 < max(stretched) < 1.5


@given(st.lists(st.tuples(st.sampled_from(RETRIED), spans), min_size=1, max_size=12))
def test_whatever_has_happened_a_wait_lasts_ten_seconds_to_a_quarter_of_an_hour(
    play: list[tuple[FailureClass, timedelta]],
) -> None:
    history = attempts_of(*play)
    outlook = at_the_end(history)
    assume(isinstance(outlook, Hold))
    assert isinstance(outlook, Hold)
    assert history[0].ended_at is not None
    assert seconds(10) <= outlook.until - history[0].ended_at < timedelta(minutes=15)


@given(st.lists(st.integers(0, 10**6).map(seconds), min_size=1, max_size=20))
def test_what_counts_as_stable_is_learned_within_bounds(lives: list[timedelta]) -> None:
    history = [ended(n, FailureClass.KILLED, START, lived) for n, lived in enumerate(lives, 1)]
    assert STABLE_LEAST <= stable(history) <= STABLE_MOST
    assert len(streak(history)) == len(history) or max(lives) >= STABLE_LEAST


def test_chance_is_spread_over_the_range() -> None:
    values = sorted(chance(submission_key("local", f"unit_{n}", 1)) for n in range(200))
    assert values[0] >= 0
    assert values[-1] < 1
    assert max(right - left for left, right in itertools.pairwise(values)) < 0.05


@pytest.mark.parametrize("failure", NEVER_RETRIED)
def test_what_another_attempt_repeats_is_halted_at_once(failure: FailureClass) -> None:
    outlook = at_the_end(attempts_of((failure, seconds(5))))
    assert isinstance(outlook, Halt)
    assert outlook.why == f"generation 1 failed ({failure}), and another attempt would only repeat that"
    assert outlook.fix == advice(failure, "flights")
    assert str(outlook) == f"HALTED: {outlook.reason}" == f"HALTED: {outlook.why}. To resume: {outlook.fix}"


def test_a_kill_is_followed_at_once_and_a_row_of_kills_more_and_more_slowly() -> None:
    killed = (FailureClass.KILLED, seconds(20))
    assert isinstance(at_the_end(attempts_of(killed)), Go)
    waits = []
    for ends in range(2, 7):
        outlook = at_the_end(attempts_of(*[killed] * ends))
        assert isinstance(outlook, Hold)
        newest = attempts_of(*[killed] * ends)[0]
        assert newest.ended_at is not None
        waits.append((outlook.until - newest.ended_at) / (1 + JITTER * chance(newest.key)) / seconds(1))
    assert waits == pytest.approx([10, 20, 40, 80, 160], abs=0.001)


def test_eight_kills_within_an_hour_are_halted() -> None:
    history = attempts_of(*[(FailureClass.KILLED, seconds(20))] * 20)
    assert len(history) == 8
    outlook = at_the_end(history)
    assert isinstance(outlook, Halt)
    assert outlook.why == "killed, 8 in a row within 1 h; the last: generation 8 failed"


def test_code_that_fails_is_tried_three_times() -> None:
    assert len(attempts_of(*[(FailureClass.CODE, seconds(40))] * 9)) == 3


def test_an_outage_is_outlived_however_long_it_lasts() -> None:
    history = attempts_of(*[(FailureClass.TRANSIENT, seconds(20))] * HISTORY)
    assert len(history) == HISTORY
    outlook = at_the_end(history)
    assert isinstance(outlook, Hold)
    longest = POLICIES[FailureClass.TRANSIENT].longest
    assert history[0].ended_at is not None
    assert longest <= outlook.until - history[0].ended_at < longest * (1 + JITTER)


def test_a_stable_attempt_ends_the_row() -> None:
    crash, day = (FailureClass.UNKNOWN, seconds(20)), (FailureClass.UNKNOWN, timedelta(days=1))
    history = attempts_of(crash, crash, crash, day, crash)
    assert [attempt.generation for attempt in streak(history)] == [5, 4]
    assert isinstance(at_the_end(attempts_of(*[crash, crash, crash, crash, day] * 5)), Hold)


def test_attempts_that_all_fall_after_twenty_minutes_are_one_crash_loop() -> None:
    history = attempts_of(*[(FailureClass.CODE, timedelta(minutes=20))] * 9)
    assert len(history) == 3
    assert isinstance(at_the_end(history), Halt)


def test_two_classes_in_turns_have_budgets_of_their_own() -> None:
    turns = [(FailureClass.TRANSIENT, seconds(20)), (FailureClass.CODE, seconds(20))] * 9
    history = attempts_of(*turns)
    assert [attempt.failure for attempt in history].count(FailureClass.CODE) == 3


def test_ends_before_the_wish_do_not_count() -> None:
    history = attempts_of((FailureClass.DATA_LOSS, seconds(5)))
    again = replace(WISH, at=START + seconds(60))
    resumed = ended(2, FailureClass.UNKNOWN, START + seconds(60), seconds(5))
    assert isinstance(govern([resumed, *history], again, now=FOR_EVER), Go)


def test_an_attempt_that_has_not_ended_is_held_back_by_no_earlier_one() -> None:
    history = attempts_of((FailureClass.DATA_LOSS, seconds(5)))
    reserved = Attempt("flights", 2, "local.flights.g2", AttemptState.INTENT, START + seconds(9))
    assert isinstance(govern([reserved, *history], WISH, now=START + seconds(10)), Go)


def test_a_hold_says_when_and_why() -> None:
    history = attempts_of((FailureClass.UNKNOWN, seconds(5)), (FailureClass.UNKNOWN, seconds(5)))
    outlook = at_the_end(history)
    assert isinstance(outlook, Hold)
    assert outlook.why.startswith("generation 2 failed (unknown, 2 in a row); the next starts at 12:01:")
    assert "UTC, in " in outlook.why


def test_a_record_from_before_there_were_classes_is_judged_by_its_exit_code() -> None:
    old = replace(ended(1, FailureClass.CORRUPT, START, seconds(5)), failure=None, exit_code=12)
    assert isinstance(govern([old], WISH, now=FOR_EVER), Halt)
    assert isinstance(govern([replace(old, exit_code=-9)], WISH, now=FOR_EVER), Go)


def test_a_person_that_declared_it_dead_waits_for_nothing() -> None:
    assert isinstance(at_the_end(attempts_of((FailureClass.FORCED, seconds(5)))), Go)


def test_every_class_has_a_policy_and_an_exit_code_of_its_own() -> None:
    assert set(POLICIES) == set(FailureClass)
    assert set(EXIT_CODES) == set(FailureClass) - {FailureClass.FORCED}
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert all(policy.budget is None or policy.budget < HISTORY for policy in POLICIES.values())
