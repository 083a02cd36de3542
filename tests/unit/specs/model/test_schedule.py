"""When drivers are started, however it is written down; and what is no such time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sluice.specs.model.schedule import (
    LEAST_PAUSE,
    IdleTime,
    RunPlan,
    longest_pause,
    next_due,
    parse_schedule,
)

MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is added
SCHEDULES = st.sampled_from(
    ["0 * * * *", "*/5 * * * *", "7 3 * * *", "0 0 1 * *", "*/10 8-17 * * mon-fri", "0 0 29 2 *"]
)


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("0 * * * *", "0 * * * *"),
        ("  0   6 * * 1-5 ", "0 6 * * 1-5"),
        ("0 0 * * MON", "0 0 * * MON"),
        ("@hourly", "0 * * * *"),
        ("@Daily", "0 0 * * *"),
        ("30 minutes", "*/30 * * * *"),
        ("1 hour", "0 * * * *"),
        ("60 min", "0 * * * *"),
        ("6 hours", "0 */6 * * *"),
        ("1 day", "0 0 * * *"),
    ],
)
def test_every_form_is_read_as_cron(text: str, cron: str) -> None:
    assert parse_schedule(text) == cron
    assert parse_schedule(cron) == cron


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("7 minutes", "does not divide the day evenly"),
        ("2 days", "does not divide the day evenly"),
        ("90 minutes", "does not divide the day evenly"),
        ("0 seconds", "does not divide the day evenly"),
        ("30 seconds", "is shorter than cron can say"),
        ("* * * * *", "starts a driver every 1 minute"),
        ("0,2 * * * *", "starts a driver every 2 minutes"),
        ("60 * * * *", "out of range"),
        ("0 0 30 2 *", "is no schedule"),
        ("0 0 * * * *", "is no schedule"),
        ("R * * * *", "is no schedule"),
        ("@once", "is no schedule"),
        ("@continuous", "is no schedule"),
        ("", "is no schedule"),
        (None, "is no schedule"),
        (3600, "is no schedule"),
    ],
)
def test_what_is_no_schedule_is_refused_with_what_to_write(text: object, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        parse_schedule(text)
    assert "write" in str(refused.value)


@given(SCHEDULES, MOMENTS)
def test_the_next_time_is_later_and_no_time_is_left_out(cron: str, at: datetime) -> None:
    due = next_due(cron, at)
    assert due > at
    assert due - at <= longest_pause(cron)
    assert next_due(cron, due - timedelta(seconds=1)) == due
    assert next_due(cron, due) - due >= LEAST_PAUSE


def test_the_longest_pause_is_that_of_a_weekend() -> None:
    assert longest_pause("*/10 8-17 * * mon-fri") == timedelta(days=2, hours=14, minutes=10)
    assert longest_pause("0 0 29 2 *") == timedelta(days=1461)


def test_a_driver_rests_no_shorter_than_a_start_is_worth() -> None:
    read = TypeAdapter(IdleTime).validate_python
    assert read("30 minutes") == timedelta(minutes=30)
    for text, says in [("1 minute", "shorter than 5 minutes"), ("often", "not a duration"), (5, "not a duration")]:
        with pytest.raises(ValidationError, match=says):
            read(text)


def test_a_driver_with_a_schedule_reads_what_is_there_unless_it_waits_for_more() -> None:
    idle = timedelta(minutes=30)
    assert RunPlan("0 * * * *").bounded
    assert not RunPlan("0 * * * *", idle).bounded
    assert not RunPlan(None, idle).bounded
    assert not RunPlan().bounded
    assert (RunPlan().pause, RunPlan("0 * * * *").pause) == (None, timedelta(hours=1))
