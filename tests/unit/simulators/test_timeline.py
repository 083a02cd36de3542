"""When simulated events happen: as many as the rate says, in order, inside the simulated time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import mean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.simulators.draws import generator
from sluice.simulators.timeline import delay, event_times
from sluice.specs.feeds.simulation import Disorder, Simulation

START = datetime(2026, 1, 5, tzinfo=UTC)


def simulation(**keys: Any) -> Simulation:  # noqa: ANN401
    return Simulation.model_validate(
        {"start": "2026-01-05", "length": "1 hour", "rate": 2, "fields": {"id": {"sequence": ""}}, **keys}
    )


@given(rate=st.floats(0.01, 20), seed=st.integers(0, 1000), spacing=st.sampled_from(["random", "steady"]))
def test_events_are_in_order_within_their_time_in_whole_milliseconds(rate: float, seed: int, spacing: str) -> None:
    made = simulation(rate=rate, seed=seed, spacing=spacing, length="2 min")
    times = list(event_times(made))
    assert times == sorted(times)
    assert all(made.start <= at < made.end and at.microsecond % 1000 == 0 for at in times)


def test_random_spacing_is_a_poisson_process() -> None:
    times = list(event_times(simulation(length="3 hours")))
    gaps = [(after - before).total_seconds() for before, after in pairwise(times)]
    assert len(times) == pytest.approx(2 * 3 * 3600, rel=0.03)
    assert mean(gaps) == pytest.approx(0.5, rel=0.03)
    assert stdev(gaps) == pytest.approx(0.5, rel=0.05), "of an exponential distribution the two are equal"


def test_steady_spacing_has_equal_gaps() -> None:
    times = list(event_times(simulation(spacing="steady", rate=4, length="10 s")))
    assert times == [START + n * timedelta(milliseconds=250) for n in range(40)]


def test_the_daily_wave_moves_events_to_the_evening_and_changes_none_of_the_mean() -> None:
    times = list(event_times(simulation(length="4 days", rate=0.2, daily_wave=0.9)))
    assert len(times) == pytest.approx(4 * 86_400 * 0.2, rel=0.03)
    evening, morning = (sum(abs(at.hour + at.minute / 60 - hour) < 1 for at in times) for hour in (20, 8))
    assert evening / morning == pytest.approx(1.9 / 0.1, rel=0.4)


def test_delays_have_their_mean_and_their_late_share() -> None:
    random = generator(1, "delays")
    disorder = Disorder.model_validate({"mean": "2 s", "late": 0.05, "late_by": "10 min"})
    delays = [delay(disorder, random) for _ in range(20_000)]
    late = [each for each in delays if each >= timedelta(minutes=10)]
    on_time = [each.total_seconds() for each in delays if each < timedelta(minutes=10)]
    assert len(late) / len(delays) == pytest.approx(0.05, rel=0.1)
    assert mean(on_time) == pytest.approx(2, rel=0.05)
    assert delay(Disorder(), random) == timedelta()
