from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.launcher import DriverReport, DriverState
from sluice.streams.verdict import Evidence, Health, judge
from tests.twins.clock import START

PATIENCE = timedelta(minutes=2)
RUNNING = DriverReport("local.flights.g1", DriverState.RUNNING, 7, START - timedelta(hours=1))

AT_WORK = Evidence(
    at=START,
    unit="flights",
    driver=RUNNING,
    committed={"flights/0": 60, "flights/1": 40},
    batches=12,
    committed_at=START - timedelta(seconds=5),
    ends={"flights/0": 60, "flights/1": 40},
)


def ago(**duration: float) -> datetime:
    return START - timedelta(**duration)


def test_a_recent_commit_and_nothing_unread_is_ok() -> None:
    verdict = judge(AT_WORK)
    assert (verdict.health, verdict.lag_records, verdict.batches) == (Health.OK, 0, 12)
    assert verdict.why == "Nothing is unread after offset sum 100; batch 11 was committed 5 s ago."


def test_an_old_commit_and_nothing_unread_is_idle_and_not_dead() -> None:
    assert judge(replace(AT_WORK, committed_at=ago(days=3))).health is Health.IDLE


def test_an_empty_topic_before_the_first_batch_is_idle() -> None:
    empty = replace(AT_WORK, committed={}, batches=0, committed_at=None, ends={"flights/0": 0})
    assert judge(empty).health is Health.IDLE


def test_unread_records_with_a_recent_commit_are_ok_and_counted() -> None:
    verdict = judge(replace(AT_WORK, ends={"flights/0": 70, "flights/1": 45}))
    assert (verdict.health, verdict.lag_records) == (Health.OK, 15)


def test_a_partition_that_was_never_read_is_lag() -> None:
    assert judge(replace(AT_WORK, ends={"flights/0": 60, "flights/1": 40, "flights/2": 9})).lag_records == 9


def test_unread_records_without_a_recent_commit_are_never_ok() -> None:
    verdict = judge(replace(AT_WORK, ends={"flights/0": 70, "flights/1": 40}, committed_at=ago(minutes=10)))
    assert verdict.health is Health.UNKNOWN
    assert "10 records are unread and batch 11 was committed 600 s ago, longer than 120 s" in verdict.why
    assert verdict.what_to_do == "sluice streams logs flights"


def test_a_driver_that_has_just_started_is_given_time_to_commit() -> None:
    young = replace(RUNNING, started_at=ago(seconds=30))
    late = replace(AT_WORK, driver=young, ends={"flights/0": 70, "flights/1": 40}, committed_at=ago(days=1))
    assert judge(late).health is Health.OK


def test_a_commit_from_the_future_is_no_sign_of_life() -> None:
    skewed = replace(AT_WORK, ends={"flights/0": 70, "flights/1": 40}, committed_at=ago(hours=-5))
    assert judge(skewed).health is Health.UNKNOWN


def test_a_stop_on_record_and_proven_death_is_stopped_as_asked() -> None:
    dead = DriverReport("local.flights.g1", DriverState.ENDED, ended_at=ago(seconds=9), exit_code=0)
    verdict = judge(replace(AT_WORK, driver=dead, stop_wanted=True))
    assert verdict.health is Health.STOPPED
    assert verdict.why == "It is stopped as asked; local.flights.g1 stopped as asked 9 s ago."
    assert verdict.what_to_do == "sluice streams start flights"


def test_a_death_that_nobody_asked_for_says_how_it_died() -> None:
    dead = DriverReport("local.flights.g1", DriverState.ENDED, ended_at=ago(seconds=9), exit_code=-9)
    verdict = judge(replace(AT_WORK, driver=dead))
    assert verdict.health is Health.STOPPED
    assert verdict.why == "It does not run: local.flights.g1 was killed by signal 9 9 s ago."
    assert verdict.what_to_do == "sluice streams logs flights"


def test_death_is_told_even_when_nothing_else_can_be_seen() -> None:
    dead = DriverReport("local.flights.g1", DriverState.LOST)
    blind = Evidence(at=START, driver=dead, committed=None, ends=None)
    assert judge(blind).health is Health.STOPPED


def test_a_driver_that_lives_in_spite_of_a_stop_is_not_called_stopped() -> None:
    verdict = judge(replace(AT_WORK, stop_wanted=True))
    assert verdict.health is Health.UNKNOWN
    assert verdict.what_to_do == "sluice streams stop flights"


def test_a_position_beyond_the_end_of_the_topic_is_never_ok() -> None:
    verdict = judge(replace(AT_WORK, ends={"flights/0": 8, "flights/1": 40}))
    assert verdict.health is Health.UNKNOWN
    assert "read flights/0 to offset 60, but at the broker it ends at 8" in verdict.why


def test_what_could_not_be_seen_is_named_with_its_reason() -> None:
    verdict = judge(replace(AT_WORK, ends=None, notes=("Kafka at 127.0.0.1:1 did not answer.",)))
    assert verdict.health is Health.UNKNOWN
    assert verdict.why == "Could not look at the broker; Kafka at 127.0.0.1:1 did not answer."
    assert verdict.completeness == pytest.approx(0.67)


def test_a_topic_without_partitions_is_missing_evidence() -> None:
    assert judge(replace(AT_WORK, committed={}, ends={})).health is Health.UNKNOWN


offsets = st.dictionaries(st.sampled_from(["flights/0", "flights/1", "flights/2"]), st.integers(0, 10**6))
moments = st.integers(-(10**6), 10**6).map(lambda seconds: START + timedelta(seconds=seconds))
drivers = st.builds(
    DriverReport,
    st.just("local.flights.g1"),
    st.sampled_from(DriverState),
    started_at=st.none() | moments,
    ended_at=st.none() | moments,
    exit_code=st.none() | st.integers(-15, 12),
)
evidence = st.builds(
    Evidence,
    at=st.just(START),
    driver=st.none() | drivers,
    committed=st.none() | offsets,
    batches=st.integers(0, 100),
    committed_at=st.none() | moments,
    ends=st.none() | offsets,
    stop_wanted=st.booleans(),
    notes=st.just(()),
)


@given(evidence)
def test_whatever_is_seen_has_a_verdict_with_a_sentence(seen: Evidence) -> None:
    verdict = judge(seen)
    assert verdict.why.endswith(".")
    assert 0 <= verdict.completeness <= 1


@given(evidence)
def test_ok_and_idle_take_a_live_driver_and_complete_evidence(seen: Evidence) -> None:
    verdict = judge(seen)
    if verdict.health in (Health.OK, Health.IDLE):
        assert seen.driver is not None
        assert seen.driver.state is DriverState.RUNNING
        assert seen.committed is not None
        assert seen.ends
        assert not seen.stop_wanted
        assert verdict.completeness == 1


@given(evidence, st.sampled_from(["driver", "committed", "ends"]))
def test_losing_evidence_never_makes_a_verdict_better(seen: Evidence, lost: str) -> None:
    blinded = judge(replace(seen, **{lost: None}))
    assert blinded.health in (Health.UNKNOWN, Health.STOPPED)
    if blinded.health is Health.STOPPED:
        assert judge(seen).health is Health.STOPPED


@given(evidence, st.integers(0, 10**6), st.integers(1, 10**6))
def test_more_unread_records_never_make_a_verdict_better(seen: Evidence, end: int, more: int) -> None:
    seen = replace(seen, ends={"flights/0": end, **(seen.ends or {})})
    worse = replace(seen, ends={partition: end + more for partition, end in (seen.ends or {}).items()})
    if judge(worse).health is Health.IDLE:
        assert judge(seen).health is Health.IDLE
    if judge(seen).health is Health.UNKNOWN and (seen.lag_records or 0) > 0:
        assert judge(worse).health is not Health.IDLE


@given(evidence, st.integers(1, 10**6))
def test_the_passing_of_time_alone_never_turns_unknown_into_ok(seen: Evidence, seconds: int) -> None:
    newest = max([seen.at, *filter(None, [seen.committed_at, seen.driver and seen.driver.started_at])])
    seen = replace(seen, at=newest)  # a moment that lies ahead comes nearer, and is none of time's passing alone
    later = replace(seen, at=seen.at + timedelta(seconds=seconds))
    if judge(seen).health is Health.UNKNOWN:
        assert judge(later).health is Health.UNKNOWN
