"""Axes of time: ticks at round times, each within the axis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.console.charts.time_axis import EARLIEST, LATEST, moment_text, seconds_of, time_axis

NOON = seconds_of(datetime(2013, 1, 21, 12, tzinfo=UTC))
SECONDS = st.floats(EARLIEST - 1e9, LATEST + 1e9)


def texts(length: timedelta, start: float = NOON) -> list[str]:
    return [tick.text for tick in time_axis(start, start + length.total_seconds()).ticks]


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (timedelta(seconds=9), ["12:00:00", "12:00:02", "12:00:04", "12:00:06", "12:00:08"]),
        (timedelta(minutes=5), ["12:00", "12:01", "12:02", "12:03", "12:04", "12:05"]),
        (timedelta(hours=1), ["12:00", "12:15", "12:30", "12:45", "13:00"]),
        (timedelta(hours=24), ["12:00", "18:00", "Jan 22", "06:00", "12:00"]),
        (timedelta(days=4), ["Jan 22", "Jan 23", "Jan 24", "Jan 25"]),
        (timedelta(days=30), ["Jan 28", "Feb 4", "Feb 11", "Feb 18"]),
        (timedelta(days=150), ["Feb 2013", "Mar 2013", "Apr 2013", "May 2013", "Jun 2013"]),
        (timedelta(days=365 * 8), ["2014", "2016", "2018", "2020"]),
    ],
)
def test_ticks_are_at_round_times(length: timedelta, expected: list[str]) -> None:
    assert texts(length) == expected


def test_weeks_begin_on_monday() -> None:
    axis = time_axis(NOON, NOON + 30 * 86400)
    days = [NOON + tick.at / 100 * 30 * 86400 for tick in axis.ticks]
    assert {datetime.fromtimestamp(round(day), UTC).weekday() for day in days} == {0}


def test_the_caption_says_the_days() -> None:
    assert time_axis(NOON, NOON + 60).caption == "2013-01-21, UTC"
    assert time_axis(NOON, NOON + 86400).caption == "2013-01-21 to 2013-01-22, UTC"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(NOON, "2013-01-21 12:00"), (NOON + 5, "2013-01-21 12:00:05"), (NOON + 0.25, "2013-01-21 12:00:00.250")],
)
def test_a_moment_is_said_as_exactly_as_it_is(seconds: float, text: str) -> None:
    assert moment_text(seconds) == text


@given(SECONDS, SECONDS)
@example(EARLIEST, LATEST)
@example(NOON, NOON)
def test_any_two_moments_have_an_axis(one: float, other: float) -> None:
    first, last = sorted((one, other))
    axis = time_axis(first, last)
    assert axis.first < axis.last
    assert 0 <= axis.place(first) <= axis.place(last) <= 100
    places = [tick.at for tick in axis.ticks]
    assert all(0 <= place <= 100 for place in places)
    assert all(left < right for left, right in pairwise(places))
    assert 1 <= len(places) <= 7
