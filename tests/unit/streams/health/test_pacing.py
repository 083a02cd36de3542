"""A watcher's rhythm as a pure function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.airflow.streams.watcher import OBSERVATIONS, VERDICTS
from sluice.streams.health.pacing import MAX_SECONDS, PollRate


@pytest.mark.parametrize(
    ("cost", "seconds"), [(0.0, 5.0), (0.04, 5.0), (0.05, 5.0), (0.2, 20.0), (0.57, MAX_SECONDS), (9.0, MAX_SECONDS)]
)
def test_a_cheap_round_keeps_its_rhythm_and_a_dear_one_takes_longer_up_to_a_minute(cost: float, seconds: float) -> None:
    assert PollRate(5.0, share=0.01).period(cost) == pytest.approx(seconds)


@given(cost=st.floats(0, 1e6), more=st.floats(0, 1e6))
def test_a_round_takes_no_more_than_its_share_unless_somebody_would_wait_for_longer_than_a_minute(
    cost: float, more: float
) -> None:
    for pace in (OBSERVATIONS, VERDICTS):
        period = pace.period(cost)
        assert pace.seconds <= period <= MAX_SECONDS < 60
        assert cost <= pace.share * period * (1 + 1e-9) or period == MAX_SECONDS
        assert pace.period(cost + more) >= period
