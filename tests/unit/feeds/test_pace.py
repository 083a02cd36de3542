from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.errors import SpecError
from sluice.feeds.pace import Pace

HOUR = timedelta(hours=1)


def test_without_bounds_everything_is_due_at_once() -> None:
    assert Pace().due(1_000_000, HOUR) == 0


def test_a_rate_spaces_records_evenly() -> None:
    assert [Pace(rate=50).due(index, HOUR) for index in (0, 50, 75)] == [0, 1, 1.5]


def test_a_speed_follows_arrival_times() -> None:
    assert Pace(speed=3600).due(7, 3 * HOUR) == 3


def test_of_two_bounds_the_slower_one_holds() -> None:
    assert Pace(rate=10, speed=3600).due(100, HOUR) == 10
    assert Pace(rate=1000, speed=3600).due(100, HOUR) == 1


@pytest.mark.parametrize("wrong", [0, -1, float("nan")])
def test_a_pace_that_never_ends_is_refused(wrong: float) -> None:
    with pytest.raises(SpecError, match="rate"):
        Pace(rate=wrong)
    with pytest.raises(SpecError, match="speed"):
        Pace(speed=wrong)
