"""Standing still as planned is not dead; being late, missing a run or leaving records is found."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.specs.catalog.catalog import Unit
from sluice.specs.model.schedule import RunPlan, next_due
from sluice.streams.failures.failure import EXIT_CODES, FailureClass
from sluice.streams.health.availability import Availability, availabilities, availability
from sluice.streams.health.fleet import StreamStatus, UnitRecords, stream_statuses
from sluice.streams.health.health import FINE, Health
from sluice.streams.health.observation import Observation
from sluice.streams.health.pauses import MISSED_AFTER, judge_pause
from sluice.streams.health.snapshots import FRESH, StreamSnapshot
from sluice.streams.health.verdict import Verdict, judge
from sluice.streams.life.attempts import Attempt, AttemptState, Desired, DesiredState
from sluice.streams.life.launcher import DriverReport, DriverState
from sluice.streams.life.status import Pause, UnitStatus
from sluice.topics.administration import RecordStamp
from tests.twins.clock import START

HOURLY, IDLE = RunPlan("0 * * * *"), RunPlan(None, timedelta(minutes=30))
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
BEGUN = START + 5 * MINUTE
ENDED = BEGUN + MINUTE
DUE = next_due("0 * * * *", BEGUN)
WISH = DesiredState("flights", Desired.RUNNING, "ada", "launch", START - timedelta(days=2))
READ = {"flights/0": 100}


def attempt(kind: FailureClass = FailureClass.COMPLETED, generation: int = 1) -> Attempt:
    key, code = f"local.flights.g{generation}", int(EXIT_CODES[kind])
    return Attempt("flights", generation, key, AttemptState.ENDED, BEGUN, BEGUN, ENDED, code, "ended", kind)


def seen(at: datetime, kind: FailureClass, plan: RunPlan, *, more: int = 0, waits: timedelta | None = None) -> Verdict:
    """Return the verdict on a stream that has read 100 records, of which more have come since."""
    newest = attempt(kind)
    report = DriverReport(newest.key, DriverState.ENDED, 7, BEGUN, ENDED, newest.exit_code)
    came = at - waits if waits is not None and more else None
    unread = at if more else None
    status = UnitStatus("flights", WISH, newest, report, plan=plan, unread_since=unread)
    return judge(
        Observation(
            at,
            report,
            READ,
            batches=1,
            committed_at=ENDED,
            ends={"flights/0": 100 + more},
            starts={"flights/0": 0},
            unit="flights",
            stamps={} if came is None else {"flights/0": RecordStamp(came, appended=True)},
            pause=status.pause(at),
        )
    )


def test_between_two_runs_it_is_scheduled_whatever_has_come_since() -> None:
    empty = seen(DUE - MINUTE, FailureClass.COMPLETED, HOURLY)
    assert (empty.health, empty.lag_records) == (Health.SCHEDULED, 0)
    assert f"scheduled, next at {DUE:%Y-%m-%d %H:%M} UTC" in empty.why.lower().replace("utc", "UTC")
    came = seen(DUE - MINUTE, FailureClass.COMPLETED, HOURLY, more=5, waits=50 * MINUTE)
    assert (came.health, came.why.startswith("5 records are unread; scheduled, next at")) == (Health.SCHEDULED, True)


def test_a_run_that_does_not_begin_is_missed() -> None:
    begins = seen(DUE + MINUTE, FailureClass.COMPLETED, HOURLY)
    assert (begins.health, "due since" in begins.why) == (Health.SCHEDULED, True)
    missed = seen(DUE + MISSED_AFTER, FailureClass.COMPLETED, HOURLY)
    assert (missed.health, "did not begin" in missed.why) == (Health.STOPPED, True)
    assert "stream_flights" in missed.what_to_do


def test_a_run_that_failed_is_no_pause() -> None:
    failed = replace(attempt(), failure=FailureClass.TRANSIENT, exit_code=13)
    assert UnitStatus("flights", WISH, failed, None, plan=HOURLY).pause(ENDED) is None


def test_records_that_wait_for_longer_than_a_pause_explains_are_found() -> None:
    late = seen(DUE - MINUTE, FailureClass.COMPLETED, HOURLY, more=2, waits=3 * HOUR)
    assert (late.health, "longer than one pause of its schedule" in late.why) == (Health.LAGGING, True)


def test_a_broker_that_does_not_answer_hides_behind_no_plan() -> None:
    observed = Observation(DUE - MINUTE, DriverReport("k", DriverState.ENDED), READ, pause=Pause("ended", ENDED, DUE))
    assert judge(observed).health is Health.UNKNOWN


def test_a_driver_that_ended_because_nothing_came_is_idle_and_what_comes_starts_the_next() -> None:
    idle = seen(ENDED + 9 * HOUR, FailureClass.IDLE, IDLE)
    assert (idle.health, "starts when there are records" in idle.why) == (Health.IDLE, True)
    comes = seen(ENDED + 9 * HOUR, FailureClass.IDLE, IDLE, more=1, waits=MINUTE)
    assert (comes.health, "1 record is unread" in comes.why) == (Health.STARTING, True)
    left = seen(ENDED + 9 * HOUR, FailureClass.IDLE, IDLE, more=1, waits=MISSED_AFTER + MINUTE)
    assert (left.health, "none was started" in left.why) == (Health.STOPPED, True)


def test_a_stream_that_has_read_what_its_run_is_for_is_well_whatever_comes_while_the_others_read() -> None:
    at = BEGUN + 20 * MINUTE
    observed = Observation(
        at,
        DriverReport("local.flights.g1", DriverState.RUNNING, 7, BEGUN),
        READ,
        batches=1,
        committed_at=BEGUN + MINUTE,
        ends={"flights/0": 105},
        starts={"flights/0": 0},
        stamps={"flights/0": RecordStamp(BEGUN + 2 * MINUTE, appended=True)},
        done=True,
    )
    done = judge(observed)
    assert (done.health, "5 records are unread, for the next" in done.why) == (Health.OK, True)
    assert judge(replace(observed, done=False)).health not in FINE


moments = st.timedeltas(timedelta(days=-2), timedelta(days=2)).map(lambda step: START + step)


@given(
    st.builds(
        Pause,
        st.just("generation 1 ended"),
        moments,
        st.none() | moments,
        st.none() | st.just(HOUR),
        st.booleans(),
        st.none() | moments,
    ),
    moments,
    st.none() | st.integers(0, 10**6),
    st.none() | st.floats(0, 10**6),
)
def test_a_pause_is_fine_only_within_its_bounds(
    pause: Pause, now: datetime, lag: int | None, waits: float | None
) -> None:
    health, why, _ = judge_pause(pause, unit="flights", now=now, lag_records=lag, lag_seconds=waits)
    assert why.endswith(".")
    assert why[0] == why[0].upper()
    if pause.until is not None and now - pause.until >= MISSED_AFTER:
        assert health is Health.STOPPED
    elif pause.until is not None:
        explained = not lag or waits is None or pause.longest is None or waits <= (HOUR + MISSED_AFTER).total_seconds()
        assert health is (Health.SCHEDULED if explained else Health.LAGGING)
    elif not lag and not pause.unread:
        assert health is Health.IDLE
    else:
        assert health in (Health.STARTING, Health.STOPPED)


def standing(plan: RunPlan, kind: FailureClass, now: datetime, snapshot: StreamSnapshot | None = None) -> StreamStatus:
    records = UnitRecords(WISH, [attempt(kind)], {} if snapshot is None else {"departures": snapshot})
    (found,) = stream_statuses(Unit("flights", (), ("departures",), plan=plan), records, now)
    return found


def test_by_the_records_alone_a_schedule_is_no_alarm_until_a_run_is_missed() -> None:
    found = standing(HOURLY, FailureClass.COMPLETED, DUE - MINUTE)
    assert (found.verdict.health, found.needs_attention, found.next_at) == (Health.SCHEDULED, False, DUE)
    missed = standing(HOURLY, FailureClass.COMPLETED, DUE + MISSED_AFTER)
    assert (missed.verdict.health, missed.needs_attention) == (Health.STOPPED, True)


def test_a_unit_that_waits_for_records_is_idle_only_while_a_watcher_waits_with_it() -> None:
    later = ENDED + 2 * HOUR
    fresh = StreamSnapshot("flights", "departures", 1, later, Verdict(Health.IDLE, "Idle.", lag_records=0))
    assert standing(IDLE, FailureClass.IDLE, later, fresh).verdict == fresh.verdict
    assert standing(IDLE, FailureClass.IDLE, ENDED + MINUTE).verdict.health is Health.IDLE
    unwatched = standing(IDLE, FailureClass.IDLE, later)
    assert (unwatched.verdict.health, unwatched.verdict.health in FINE) == (Health.UNKNOWN, False)
    old = replace(fresh, at=later - FRESH - MINUTE)
    assert standing(IDLE, FailureClass.IDLE, later, old).verdict.health is Health.UNKNOWN


def test_attempts_of_a_schedule_are_no_restarts() -> None:
    history = [attempt(generation=number) for number in (3, 2, 1)]
    unit = Unit("flights", (), ("departures",), plan=HOURLY)
    (found,) = stream_statuses(unit, UnitRecords(WISH, history), ENDED)
    assert found.restarts == 0
    crashed = [history[0], replace(history[1], failure=FailureClass.KILLED), history[2]]
    (again,) = stream_statuses(unit, UnitRecords(WISH, crashed), ENDED)
    assert again.restarts == 1


def test_a_pause_as_planned_is_no_time_down_and_a_missed_run_is() -> None:
    until = DUE + 30 * MINUTE
    measured = availability([WISH], [attempt()], [], start=BEGUN, end=until, plan=HOURLY)
    assert (measured.available, measured.unknown, measured.down) == (MINUTE, timedelta(), 30 * MINUTE)
    planned = availability([WISH], [attempt(FailureClass.IDLE)], [], start=ENDED, end=until, plan=IDLE)
    assert planned.requested == timedelta()


LONG_WANTED = replace(WISH, at=START - timedelta(days=400))


def test_an_idle_end_before_the_last_thirty_days_is_no_time_down() -> None:
    now = ENDED + timedelta(days=31)
    ends = [attempt(FailureClass.IDLE)]
    found = availabilities([LONG_WANTED], ends, [], streams=["departures"], now=now, plan=IDLE)
    assert found["departures"].requested == timedelta()


def test_a_pause_that_reaches_into_the_last_thirty_days_is_no_time_down() -> None:
    plan, first = RunPlan("0 6 * * *"), next_due("0 6 * * *", START)
    begins = [first + timedelta(days=day) for day in range(41)]
    runs = [
        replace(attempt(generation=n), intended_at=begun, bound_at=begun, ended_at=begun + 2 * MINUTE)
        for n, begun in enumerate(begins, 1)
    ]
    now = begins[-1] + 6 * HOUR
    found = availabilities([LONG_WANTED], runs, [], streams=["departures"], now=now, plan=plan)
    assert found["departures"] == Availability(available=30 * 2 * MINUTE)
