from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.health.health import WELL, Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.verdict import judge
from sluice.streams.health.window import Window
from sluice.streams.life.driver_files import Executors
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.position.checkpoint import PlannedBatch
from tests.twins.clock import START

PATIENCE = timedelta(minutes=2)
RUNNING = DriverReport("local.flights.g1", DriverState.RUNNING, 7, START - timedelta(hours=1))

AT_WORK = Observation(
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


def test_an_open_transaction_is_said_and_neither_lag_nor_a_rewind() -> None:
    held = replace(AT_WORK, ends={"flights/0": 50, "flights/1": 40}, held={"flights/0": 12})
    verdict = judge(held)  # it has read to 60, when records of open transactions were read
    assert (verdict.health, verdict.lag_records) == (Health.OK, 0)
    assert "an open transaction holds back 12 offsets, 12 of them of flights/0: they cannot be read" in verdict.why
    assert judge(replace(held, held={"flights/0": 9})).health is Health.REWOUND, "position 60 lies beyond 59"
    behind = judge(replace(AT_WORK, ends={"flights/0": 70, "flights/1": 40}, held={"flights/1": 3}))
    assert (behind.health, behind.lag_records) == (Health.OK, 10)
    assert "holds back 3 offsets" in behind.why


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
    assert "10 records are unread and batch 11 was committed 10 min ago, longer than 2 min" in verdict.why
    assert verdict.what_to_do == "sluice streams logs flights"


def test_a_driver_that_has_just_started_is_given_time_to_commit() -> None:
    young = replace(RUNNING, started_at=ago(seconds=30))
    late = replace(AT_WORK, driver=young, ends={"flights/0": 70, "flights/1": 40}, committed_at=ago(days=1))
    verdict = judge(late)
    assert verdict.health is Health.STARTING
    assert verdict.why == (
        "10 records are unread; local.flights.g1 (pid 7), which started 30 s ago, has committed nothing yet: "
        "no batch is planned yet."
    )
    assert verdict.what_to_do == ""


def first_start(age: timedelta, planned: timedelta | None = None, unread: int = 432) -> Observation:
    """A stream that has never committed a batch, and whose topic holds records."""
    return replace(
        AT_WORK,
        driver=replace(RUNNING, started_at=START - age),
        committed={},
        batches=0,
        committed_at=None,
        ends={"flights/0": unread},
        running=None if planned is None else PlannedBatch(0, {"flights/0": unread}, None, planned_at=START - planned),
    )


def test_a_first_batch_that_is_at_work_is_a_start_and_after_ten_minutes_it_is_stalled() -> None:
    at_work = judge(first_start(timedelta(minutes=9), timedelta(minutes=8)))
    assert at_work.health is Health.STARTING
    assert at_work.why.endswith("which started 9 min ago, has committed nothing yet: batch 0 is at work.")
    stuck = judge(first_start(timedelta(minutes=12), timedelta(minutes=11)))
    assert stuck.health is Health.STALLED
    assert stuck.why.startswith("432 records are unread, and for 11 min batch 0 is not committed; local.flights.g1")
    assert stuck.what_to_do == "sluice streams logs flights; then sluice streams restart flights"


def test_a_stream_whose_topic_was_empty_for_hours_starts_with_its_first_records() -> None:
    assert judge(first_start(timedelta(hours=5), timedelta(seconds=3))).health is Health.STARTING
    assert judge(first_start(timedelta(hours=5))).health is Health.UNKNOWN  # one observation does not show how long
    assert judge(first_start(timedelta(hours=5), unread=0)).health is Health.IDLE


@given(
    age=st.timedeltas(timedelta(0), timedelta(days=3)),
    planned=st.none() | st.timedeltas(timedelta(0), timedelta(days=3)),
    unread=st.integers(1, 10**9),
    observations=st.integers(1, 90),
)
def test_a_stream_that_has_records_to_read_and_never_committed_is_never_called_sound_and_does_not_start_for_ever(
    age: timedelta, planned: timedelta | None, unread: int, observations: int
) -> None:
    window, found = Window(), []
    for minute in range(observations):
        at = START + timedelta(minutes=minute)
        seen = replace(first_start(age, planned, unread), at=at)
        window = window.add(seen)
        found.append(judge(seen, window).health)
    assert not set(found) & WELL
    assert Health.LAGGING not in found
    if observations > 15:
        assert found[-1] in {Health.STALLED, Health.UNKNOWN}
        if planned is not None:
            assert found[-1] is Health.STALLED


def test_a_commit_from_the_future_is_no_sign_of_life() -> None:
    skewed = replace(AT_WORK, ends={"flights/0": 70, "flights/1": 40}, committed_at=ago(hours=-5))
    assert judge(skewed).health is Health.UNKNOWN


def test_what_nobody_ever_asked_for_is_stopped_and_asks_nobody_for_anything() -> None:
    absent = DriverReport("flights", DriverState.ABSENT)
    verdict = judge(replace(AT_WORK, driver=absent, never_requested=True))
    assert (verdict.health, verdict.what_to_do) == (Health.STOPPED, "")
    assert verdict.why == "Its start was never requested; `sluice streams start flights` requests it."
    asked = judge(replace(AT_WORK, driver=absent))
    assert asked.what_to_do == "sluice streams start flights"


def test_a_stop_on_record_and_proven_death_is_stopped_as_asked() -> None:
    dead = DriverReport("local.flights.g1", DriverState.ENDED, ended_at=ago(seconds=9), exit_code=0)
    verdict = judge(replace(AT_WORK, driver=dead, stop_requested=True))
    assert verdict.health is Health.STOPPED
    assert verdict.why == "It is stopped as requested; local.flights.g1 stopped as requested 9 s ago."
    assert verdict.what_to_do == "sluice streams start flights"


def test_a_death_that_nobody_asked_for_says_how_it_died() -> None:
    dead = DriverReport("local.flights.g1", DriverState.ENDED, ended_at=ago(seconds=9), exit_code=-9)
    verdict = judge(replace(AT_WORK, driver=dead))
    assert verdict.health is Health.STOPPED
    assert verdict.why == "It does not run: local.flights.g1 was killed by signal 9 9 s ago."
    assert verdict.what_to_do == "sluice streams logs flights"


def test_death_is_told_even_when_nothing_else_can_be_seen() -> None:
    dead = DriverReport("local.flights.g1", DriverState.LOST)
    blind = Observation(at=START, driver=dead, committed=None, ends=None)
    assert judge(blind).health is Health.STOPPED


def test_a_driver_that_lives_in_spite_of_a_stop_is_not_called_stopped() -> None:
    verdict = judge(replace(AT_WORK, stop_requested=True))
    assert verdict.health is Health.UNKNOWN
    assert verdict.what_to_do == "sluice streams stop flights"


def test_a_position_beyond_the_end_of_the_topic_is_never_ok() -> None:
    verdict = judge(replace(AT_WORK, ends={"flights/0": 8, "flights/1": 40}))
    assert verdict.health is Health.REWOUND
    assert "read flights/0 to offset 60, but at the broker it ends at 8" in verdict.why


def test_what_could_not_be_seen_is_named_with_its_reason() -> None:
    verdict = judge(replace(AT_WORK, ends=None, notes=("Kafka at 127.0.0.1:1 did not answer.",)))
    assert verdict.health is Health.UNKNOWN
    assert verdict.why == "Could not check the broker; Kafka at 127.0.0.1:1 did not answer."
    assert verdict.completeness == pytest.approx(0.5)


def test_a_topic_without_partitions_is_missing_evidence() -> None:
    assert judge(replace(AT_WORK, committed={}, ends={})).health is Health.UNKNOWN


def test_why_nothing_starts_it_any_more_is_said() -> None:
    dead = DriverReport("local.flights.g1", DriverState.ENDED, ended_at=ago(seconds=9), exit_code=1)
    verdict = judge(replace(AT_WORK, driver=dead, halted="it failed 3 times within 6 hours."))
    assert verdict.health is Health.STOPPED
    assert verdict.why.endswith("9 s ago. It is HALTED: it failed 3 times within 6 hours.")
    assert verdict.what_to_do == "sluice streams resume flights"


def test_lags_are_told_per_partition_and_for_the_watermark() -> None:
    seen = replace(AT_WORK, ends={"flights/1": 45, "flights/0": 60}, watermark=ago(hours=4))
    verdict = judge(seen)
    assert [(lag.partition, lag.records, lag.seconds) for lag in verdict.partitions] == [
        ("flights/0", 0, 0.0),
        ("flights/1", 5, None),
    ]
    assert verdict.watermark_lag_seconds == 4 * 3600


NO_ROOM = "departures needs at least 1 core, the cluster offers 2 cores; free: 0, used by sluice-local-weather (2)"


def test_what_has_no_room_is_stopped_and_says_what_is_needed_and_what_is_free() -> None:
    absent = DriverReport("local.flights.g1", DriverState.ABSENT)
    verdict = judge(replace(AT_WORK, driver=absent, shortage=NO_ROOM))
    assert verdict.health is Health.STOPPED
    assert verdict.why == f"It does not run: the cluster has no capacity for it. {NO_ROOM[0].upper()}{NO_ROOM[1:]}."
    assert "add workers" in verdict.what_to_do


def test_unread_records_and_a_driver_without_an_executor_are_stalled_before_any_cadence_is_known() -> None:
    bare = replace(AT_WORK, ends={"flights/0": 70, "flights/1": 40}, executors=Executors(0, 0, ago(minutes=3)))
    verdict = judge(bare)
    assert verdict.health is Health.STALLED
    assert "10 records are unread, and local.flights.g1 (pid 7) has had no executor for 3 min" in verdict.why
    assert verdict.what_to_do.startswith("see which workers and cores there are")


@pytest.mark.parametrize("executors", [None, Executors(1, 1, ago(minutes=3)), Executors(0, 0, ago(seconds=20))])
def test_a_driver_that_has_an_executor_or_has_just_lost_it_is_judged_like_any_other(
    executors: Executors | None,
) -> None:
    seen = replace(AT_WORK, ends={"flights/0": 70, "flights/1": 40}, executors=executors)
    assert judge(seen).health is Health.OK


def test_without_an_executor_and_without_anything_to_read_nothing_is_wrong_yet_and_it_is_said() -> None:
    verdict = judge(replace(AT_WORK, executors=Executors(0, 0, ago(minutes=3))))
    assert verdict.health is Health.OK
    assert verdict.why.endswith("local.flights.g1 (pid 7) has had no executor for 3 min, and could read nothing.")


def test_a_stream_that_has_ended_beside_others_is_stopped_and_says_why() -> None:
    drift = Failure(FailureClass.SCHEMA_DRIFT, "SchemaDriftError", "80 of 100 are refused", ago(minutes=3))
    seen = replace(AT_WORK, ends={"flights/0": 160, "flights/1": 40}, ended_alone=drift)
    verdict = judge(seen)
    assert verdict.health is Health.STOPPED
    assert verdict.why == (
        "It has ended 3 min ago, and the other streams of its driver continue: schema drift. 80 of 100 are refused."
    )
    assert verdict.what_to_do.endswith("fix one of them; then sluice streams restart flights")
    waits = replace(seen, ended_alone=replace(drift, again_at=ago(minutes=-2)))
    assert judge(waits).health is Health.STOPPED
    assert "it is started again by itself at" in judge(waits).what_to_do
    assert judge(replace(seen, stop_requested=True)).health is Health.UNKNOWN
    dead = replace(seen, driver=replace(RUNNING, state=DriverState.ENDED, exit_code=13))
    assert "exited" not in judge(dead).why
    assert "the other streams" not in judge(dead).why
