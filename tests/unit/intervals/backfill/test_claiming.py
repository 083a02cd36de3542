from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.claiming import backfill_id, overlap

AT = datetime(2013, 1, 7, 12, 30, 5, tzinfo=UTC)
instants = st.integers(0, 6).map(lambda hours: AT + timedelta(hours=hours))
ranges = st.tuples(instants, instants).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: Interval(*pair))


@given(ranges, ranges)
def test_ranges_overlap_when_they_have_an_hour_in_common(one: Interval, other: Interval) -> None:
    def hours(found: Interval) -> set[int]:
        return {n for n in range(6) if found.start <= AT + timedelta(hours=n) < found.end}

    assert overlap(one, other) == overlap(other, one) == bool(hours(one) & hours(other))


def test_an_id_that_is_taken_gets_more_digits() -> None:
    short = backfill_id("departures", AT, "run-1", lambda _: False)
    long = backfill_id("departures", AT, "run-1", lambda name: name == short)
    assert short.startswith("departures-20130107T123005-")
    assert long.startswith(short)
    assert len(long) > len(short)
