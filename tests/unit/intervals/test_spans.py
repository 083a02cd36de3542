"""Values by range: whatever is changed in whatever order, they say what a value per place would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.spans import Spans

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
changes = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 3)), max_size=12)


def at(hour: int) -> datetime:
    return MIDNIGHT + hour * HOUR


@given(changes)
def test_ranges_say_what_a_value_per_hour_would(done: list[tuple[int, int, int]]) -> None:
    spans: Spans[int] = Spans()
    hours: dict[int, int] = {}
    for start, end, value in done:
        spans.change(at(start), at(end), lambda held, value=value: (held or 0) * 10 + value)
        for hour in range(start, end):
            hours[hour] = hours.get(hour, 0) * 10 + value
    assert {hour: spans.at(at(hour)) for hour in range(-1, 31)} == {hour: hours.get(hour) for hour in range(-1, 31)}
    found = list(spans)
    assert all(start < end for start, end, _ in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))


def test_a_change_of_a_century_is_one_range() -> None:
    spans: Spans[str] = Spans()
    spans.change(at(0), at(876_600), lambda _: "empty")
    spans.change(at(5), at(6), lambda _: "rows")
    assert [value for _, _, value in spans] == ["empty", "rows", "empty"]
