from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.specs.catalog.rhythm import UNDECLARED, Rhythm
from sluice.streams.health.cadence import MIN_SECONDS, Cadence, learn
from sluice.streams.health.window import Window
from tests.twins.observations import Done, observed, steadily

MINUTE = Rhythm(trigger=timedelta(minutes=1))


def learned(done: list[Done], rhythm: Rhythm = UNDECLARED) -> Cadence | None:
    return learn(Window().add(observed(done[-1].committed, done, rhythm=rhythm)).batches, rhythm)


def test_what_is_usual_is_the_median_gap() -> None:
    done = [*steadily(9, every=60), Done(2000, 2020, 9 * 600), Done(2060, 2080, 10 * 600)]
    cadence = learned(done, MINUTE)
    assert cadence is not None
    assert (cadence.seconds, cadence.batch_seconds, cadence.batch_records) == (60, 20, 600)


def test_a_stream_that_waits_for_records_is_as_quick_as_its_trigger_and_its_batch() -> None:
    hourly = steadily(9, every=3600, lasting=35)
    cadence = learned(hourly, Rhythm(trigger=timedelta(seconds=10)))
    assert cadence is not None
    assert cadence.seconds == 45


@pytest.mark.parametrize(("trigger", "expected"), [(5, MIN_SECONDS), (300, 300)])
def test_it_is_never_shorter_than_the_trigger_and_three_observations(trigger: int, expected: float) -> None:
    cadence = learned(steadily(9, every=5, lasting=2), Rhythm(trigger=timedelta(seconds=trigger)))
    assert cadence is not None
    assert cadence.seconds == expected


def test_a_few_batches_teach_nothing() -> None:
    assert learned(steadily(2)) is None


def test_batches_without_records_teach_nothing() -> None:
    assert learned([Done(n * 5, n * 5 + 1, 7) for n in range(20)]) is None


def test_a_larger_batch_may_take_longer_at_the_learned_rate() -> None:
    cadence = learned(steadily(9, every=60, lasting=20, records=600), MINUTE)
    assert cadence is not None
    assert cadence.expected(6000) == pytest.approx(200)
    assert cadence.expected(60) == cadence.expected(None) == 60


def test_a_rate_that_fell_lately_counts() -> None:
    slow = [Done(600 + n * 60, 640 + n * 60, 6000 + (n + 1) * 600) for n in range(3)]
    cadence = learned([*steadily(10, lasting=20), *slow])
    assert cadence is not None
    assert cadence.expected(6000) == pytest.approx(400)
