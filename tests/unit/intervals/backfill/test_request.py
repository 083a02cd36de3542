from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sluice.errors import SpecError
from sluice.intervals.backfill.request import range_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)


def test_a_range_of_whole_intervals_is_taken_as_it_is() -> None:
    found = range_of(MIDNIGHT, MIDNIGHT + DAY, DAY)
    assert (found.start, found.end) == (MIDNIGHT, MIDNIGHT + DAY)


def test_a_range_may_be_told_in_any_time_zone() -> None:
    new_york = timezone(-5 * HOUR)
    found = range_of(datetime(2013, 1, 1, 5, tzinfo=new_york), MIDNIGHT + DAY, HOUR)
    assert found.start == MIDNIGHT + 10 * HOUR


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (datetime(2013, 1, 1), MIDNIGHT + DAY, "no time zone"),  # noqa: DTZ001  that is the point
        (MIDNIGHT, MIDNIGHT, "is empty"),
        (MIDNIGHT + DAY, MIDNIGHT, "is empty"),
        (MIDNIGHT + HOUR / 2, MIDNIGHT + DAY, "`from` 2013-01-01T00:30:00Z lies inside the interval"),
        (MIDNIGHT, MIDNIGHT + HOUR / 2, "`to` 2013-01-01T00:30:00Z lies inside the interval"),
        (MIDNIGHT, datetime(9999, 12, 31, 23, tzinfo=UTC), "too near to an end of the calendar"),
    ],
)
def test_a_range_that_is_none_is_refused_in_words(start: datetime, end: datetime, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        range_of(start, end, HOUR)
