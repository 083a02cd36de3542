"""A series is a tuple of records, kept flat."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.health.series import Series


class Step(NamedTuple):
    """A record of the tests."""

    at: float
    value: float


EMPTY: Series[Step] = Series(Step, 2)
STEPS = st.lists(st.builds(Step, st.floats(allow_nan=False), st.floats(allow_nan=False)), max_size=40)


def series_of(steps: list[Step]) -> Series[Step]:
    found = EMPTY
    for step in steps:
        found = found.plus(*step)
    return found


@given(steps=STEPS, begin=st.integers(-50, 50) | st.none(), end=st.integers(-50, 50) | st.none())
def test_it_reads_like_a_tuple_of_records(steps: list[Step], begin: int | None, end: int | None) -> None:
    found = series_of(steps)
    assert tuple(found) == tuple(steps)
    assert (len(found), bool(found)) == (len(steps), bool(steps))
    assert tuple(found[begin:end]) == tuple(steps[begin:end])
    assert list(found.column(1)) == [step.value for step in steps]
    places = range(-len(steps), len(steps))
    assert [found[place] for place in places] == [*steps, *steps]
    assert [(found.number(place, 0), found.number(place, 1)) for place in places] == [*steps, *steps]


@given(steps=STEPS, most=st.integers(1, 50))
def test_a_thinned_one_keeps_the_newer_half_and_every_second_of_the_older(steps: list[Step], most: int) -> None:
    half = len(steps) // 2
    expected = steps if len(steps) <= most else [*steps[:half:2], *steps[half:]]
    assert list(series_of(steps).thinned(most)) == expected


@given(steps=STEPS, others=STEPS)
def test_it_is_what_it_holds(steps: list[Step], others: list[Step]) -> None:
    one, other = series_of(steps), series_of(others)
    assert (one == other) == (steps == others)
    assert hash(one) == hash(series_of(steps))
    assert one != steps
    one.plus(1, 2)
    assert list(one) == steps, "it never changes"


def test_there_is_no_record_beyond_its_ends_and_no_part_with_gaps() -> None:
    found = series_of([Step(1, 2)])
    with pytest.raises(IndexError):
        found[1]
    with pytest.raises(IndexError):
        EMPTY[-1]
    with pytest.raises(IndexError):
        found.number(-2, 0)
    with pytest.raises(ValueError, match="gaps"):
        found[::2]
