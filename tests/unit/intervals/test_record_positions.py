"""Places are the same records however they are said."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.record_positions import OffsetRange, RecordPositions, TopicPosition

PLACES = st.sets(st.tuples(st.sampled_from(["t1", "t2"]), st.integers(0, 2), st.integers(0, 12)), max_size=30)


def listed(places: RecordPositions) -> set[TopicPosition]:
    return {(t, p, offset) for t, p, (first, last) in places.pieces() for offset in range(first, last + 1)}


def are_disjoint(ranges: Iterable[OffsetRange]) -> bool:
    """Whether ranges are in order, sound, and neither touch nor overlap."""
    own = list(ranges)
    return all(first <= last for first, last in own) and all(a[1] + 1 < b[0] for a, b in pairwise(own))


@given(PLACES)
def test_ranges_hold_exactly_their_records(records: set[TopicPosition]) -> None:
    places = RecordPositions.of(records)
    assert listed(places) == records
    assert places.count == len(records)
    assert all((t, p, o) in places for t, p, o in records)
    assert ("t3", 0, 0) not in places
    assert ("t1", 0, 13) not in places
    assert all(are_disjoint(own) for parts in places.ranges.values() for own in parts.values())


@given(PLACES, PLACES)
def test_a_union_has_the_records_of_both(one: set[TopicPosition], other: set[TopicPosition]) -> None:
    assert RecordPositions.of(one) | RecordPositions.of(other) == RecordPositions.of(one | other)


def test_it_is_written_as_people_write_it() -> None:
    places = RecordPositions.of([("t1", 3, 7), ("t1", 0, 5), ("t1", 0, 6), ("t1", 0, 9)])
    assert str(places) == "0:5-6,9; 3:7"
