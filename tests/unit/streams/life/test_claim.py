from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.claim import Adopt, Refuse, Resume, Start, Wait, decide
from sluice.streams.life.launcher import DEAD, DriverReport, DriverState
from tests.twins.clock import START

WANTED = DesiredState("flights", Desired.RUNNING, "ada", "demo", START)
UNWANTED = DesiredState("flights", Desired.STOPPED, "bob", "upgrade", START)


def attempt(state: AttemptState, generation: int = 3) -> Attempt:
    reason = "stopped on request" if state is AttemptState.ENDED else ""
    return Attempt("flights", generation, f"local.flights.g{generation}", state, START, reason=reason)


def report(state: DriverState, exit_code: int | None = None) -> DriverReport:
    return DriverReport("local.flights.g3", state, pid=7, exit_code=exit_code)


attempts = st.none() | st.builds(attempt, st.sampled_from(AttemptState), st.integers(1, 99))
reports = st.none() | st.builds(report, st.sampled_from(DriverState), st.none() | st.integers(-15, 12))
wishes = st.sampled_from([None, WANTED, UNWANTED])


def test_the_first_start_reserves_generation_one() -> None:
    decision = decide(WANTED, None, None)
    assert isinstance(decision, Start)
    assert (decision.after_generation, decision.proven_dead) == (0, None)


@pytest.mark.parametrize("state", [AttemptState.INTENT, AttemptState.BOUND])
def test_a_live_driver_is_adopted_at_its_own_generation(state: AttemptState) -> None:
    decision = decide(WANTED, attempt(state), report(DriverState.RUNNING))
    assert isinstance(decision, Adopt)
    assert decision.attempt.generation == 3


def test_a_reserved_key_that_was_never_submitted_is_resumed() -> None:
    reserved = attempt(AttemptState.INTENT)
    decision = decide(WANTED, reserved, report(DriverState.ABSENT))
    assert isinstance(decision, Resume)
    assert decision.attempt == reserved


@pytest.mark.parametrize("state", sorted(DEAD))
@pytest.mark.parametrize("recorded", [AttemptState.INTENT, AttemptState.BOUND])
def test_a_proven_death_permits_the_next_generation_and_is_recorded_first(
    recorded: AttemptState, state: DriverState
) -> None:
    dead = attempt(recorded)
    decision = decide(WANTED, dead, report(state, None if state is DriverState.LOST else -9))
    assert isinstance(decision, Start)
    assert (decision.after_generation, decision.proven_dead) == (3, dead)


def test_a_death_on_record_is_not_recorded_twice() -> None:
    decision = decide(WANTED, attempt(AttemptState.ENDED), report(DriverState.ENDED, 0))
    assert isinstance(decision, Start)
    assert (decision.after_generation, decision.proven_dead) == (3, None)


def test_a_started_driver_without_a_trace_is_refused_with_what_to_do() -> None:
    decision = decide(WANTED, attempt(AttemptState.BOUND), report(DriverState.ABSENT))
    assert isinstance(decision, Refuse)
    assert "sluice streams force" in decision.why


def test_a_driver_that_lives_though_its_end_is_on_record_is_refused() -> None:
    decision = decide(WANTED, attempt(AttemptState.ENDED), report(DriverState.RUNNING))
    assert isinstance(decision, Refuse)
    assert "pid 7" in decision.why


@given(attempts, reports, st.sampled_from([None, UNWANTED]))
def test_nothing_starts_that_nobody_wants(
    of: Attempt | None, seen: DriverReport | None, wish: DesiredState | None
) -> None:
    assert isinstance(decide(wish, of, seen), Refuse)


@given(st.builds(attempt, st.sampled_from(AttemptState), st.integers(1, 99)), wishes)
def test_what_cannot_be_seen_is_never_taken_for_dead(of: Attempt, wish: DesiredState | None) -> None:
    assert isinstance(decide(wish, of, None), Wait | Refuse)


@given(attempts, reports, wishes)
def test_only_proof_of_death_permits_a_new_generation(
    of: Attempt | None, seen: DriverReport | None, wish: DesiredState | None
) -> None:
    decision = decide(wish, of, seen)
    if isinstance(decision, Start) and of is not None:
        assert seen is not None
        assert seen.dead or (of.state is AttemptState.ENDED and seen.state is DriverState.ABSENT)
        assert decision.after_generation == of.generation


@given(attempts, reports, wishes)
def test_every_decision_says_why(of: Attempt | None, seen: DriverReport | None, wish: DesiredState | None) -> None:
    assert len(decide(wish, of, seen).why) > 10
