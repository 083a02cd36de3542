from __future__ import annotations

import pytest

from sluice.streams.looks import Rates, rates_of
from sluice.streams.window import Window
from tests.twins.looks import Done, look, moment, steadily, window_of


def test_of_a_stream_that_was_looked_at_once_nothing_is_known_about_arrivals() -> None:
    assert rates_of(Window(), moment(0)) == Rates(None, None)
    seen = look(60, [Done(0, 10, 100)])
    assert rates_of(window_of([seen]), moment(60)) == Rates(None, None)


def test_rates_are_what_came_and_what_was_read_by_the_second() -> None:
    done = steadily(10)
    looks = [look(at, done, done[-1].end + 5 * (at - 500)) for at in range(500, 701, 20)]
    found = rates_of(window_of(looks), moment(700))
    assert found.arriving == pytest.approx(5.0)
    since = 400  # five minutes before
    before = max((each for each in done if each.committed <= since), key=lambda each: each.committed)
    assert found.read == pytest.approx((done[-1].end - before.end) / 300)


def test_a_stream_that_committed_nothing_of_late_reads_nothing() -> None:
    looks = [look(at, [Done(0, 10, 100), Done(20, 30, 200)], 200) for at in range(1000, 1100, 10)]
    assert rates_of(window_of(looks), moment(1090)) == Rates(0.0, 0.0)
