"""When a stream that ended alone is started again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.failure import FailureClass
from sluice.streams.life.governor import JITTER, POLICIES
from sluice.streams.life.retrying import StreamEnd, again_at
from tests.twins.clock import START


def ends_of(kind: FailureClass, *lives: float) -> list[StreamEnd]:
    """Return ends after so many seconds of life each, one right after the other."""
    found: list[StreamEnd] = []
    for seconds in lives:
        began = found[-1].at if found else START
        found.append(StreamEnd(kind, began, began + timedelta(seconds=seconds)))
    return found


def waited(ends: list[StreamEnd]) -> float | None:
    at = again_at(ends, 0.0)
    return None if at is None else (at - ends[-1].at).total_seconds()


def test_what_time_heals_is_tried_for_ever_more_and_more_slowly() -> None:
    row = [waited(ends_of(FailureClass.TRANSIENT, *[5] * n)) for n in range(1, 12)]
    assert row[:4] == [15, 30, 60, 120]
    assert row[-1] == 600


def test_code_is_given_up_at_its_third_end_in_a_row() -> None:
    assert [waited(ends_of(FailureClass.CODE, *[5] * n)) for n in (1, 2, 3)] == [30, 60, None]


def test_a_stream_that_worked_for_long_begins_a_new_row() -> None:
    assert waited(ends_of(FailureClass.CODE, 5, 5, 3600)) == 30
    assert waited(ends_of(FailureClass.CODE, 5, 3600, 5)) == 60


def test_ends_of_another_class_do_not_count() -> None:
    ends = [*ends_of(FailureClass.TRANSIENT, 5, 5, 5)]
    code = StreamEnd(FailureClass.CODE, ends[-1].at, ends[-1].at + timedelta(seconds=5))
    assert waited([*ends, code]) == 30


@pytest.mark.parametrize("kind", [kind for kind, policy in POLICIES.items() if policy.budget == 1])
def test_what_a_repetition_repeats_is_not_tried_again(kind: FailureClass) -> None:
    assert waited(ends_of(kind, 5)) is None


@given(
    kind=st.sampled_from(FailureClass),
    lives=st.lists(st.floats(0, 10_000), min_size=1, max_size=12),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_nothing_is_started_before_its_wait_is_over_nor_later_than_the_longest(
    kind: FailureClass, lives: list[float], chance: float
) -> None:
    ends = ends_of(kind, *lives)
    found: datetime | None = again_at(ends, chance)
    if found is not None:
        assert ends[-1].at <= found <= ends[-1].at + POLICIES[kind].longest * (1 + JITTER)
