from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval, contiguous, interval_of, intervals_between

HOUR = timedelta(hours=1)
instants = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  given by timezones
lengths = st.sampled_from([HOUR, timedelta(days=1), timedelta(minutes=10)])


def test_an_instant_on_a_boundary_belongs_to_the_interval_that_starts_there() -> None:
    at = datetime(2013, 1, 1, 10, tzinfo=UTC)
    assert interval_of(at, HOUR) == Interval(at, at + HOUR)


@given(instants, lengths)
def test_every_instant_lies_in_its_interval(instant: datetime, length: timedelta) -> None:
    interval = interval_of(instant, length)
    assert interval.start <= instant < interval.end
    assert interval.end - interval.start == length


@given(instants, st.integers(0, 50), lengths)
def test_intervals_between_tile_the_range(start: datetime, count: int, length: timedelta) -> None:
    first = interval_of(start, length).start
    intervals = list(intervals_between(first, first + count * length, length))
    assert len(intervals) == count
    assert all(a.end == b.start for a, b in pairwise(intervals))


def test_a_range_that_starts_inside_an_interval_leaves_that_interval_out() -> None:
    start = datetime(2013, 1, 1, 10, 30, tzinfo=UTC)
    assert [i.start.hour for i in intervals_between(start, start + 3 * HOUR, HOUR)] == [11, 12]


MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
spans = st.tuples(st.integers(0, 20), st.integers(1, 5)).map(
    lambda each: Interval(MIDNIGHT + each[0] * HOUR, MIDNIGHT + (each[0] + each[1]) * HOUR)
)


@given(st.lists(spans, max_size=8))
def test_ranges_hold_the_hours_of_their_intervals_and_touch_none_of_each_other(intervals: list[Interval]) -> None:
    ranges = contiguous(intervals)
    hours = sorted({hour for each in intervals for hour in intervals_between(each.start, each.end, HOUR)})
    assert [hour for each in ranges for hour in intervals_between(each.start, each.end, HOUR)] == hours
    assert all(before.end < after.start for before, after in pairwise(ranges))
