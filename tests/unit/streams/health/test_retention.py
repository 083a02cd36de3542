from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.specs.catalog.rhythm import Rhythm
from sluice.streams.health.retention import horizon_seconds, lost, seconds_to_loss
from tests.twins.observations import PARTITION, observed, steadily, window_of

HOUR = Rhythm(retention=timedelta(hours=1))


def test_records_before_the_log_that_were_never_read_are_lost() -> None:
    assert lost(observed(10, steadily(1), 900, starts={PARTITION: 700})) == {PARTITION: 100}
    assert lost(observed(10, steadily(1), 900, starts={PARTITION: 600})) == {}


def test_a_partition_that_was_never_read_starts_where_the_log_does() -> None:
    assert lost(observed(10, [], 900, starts={PARTITION: 700})) == {}


def test_a_stream_that_stands_loses_when_its_first_record_is_as_old_as_the_retention() -> None:
    seen = observed(10, steadily(1), 900, rhythm=HOUR)
    assert seconds_to_loss(seen, window_of([seen]), 3000, 1.0) == pytest.approx(600)
    assert seconds_to_loss(seen, window_of([seen]), 3000, 0.5) == pytest.approx(1200)
    assert seconds_to_loss(seen, window_of([seen]), 9000, 1.0) == 0


@pytest.mark.parametrize(("age", "aging"), [(None, 1.0), (3000, 0.0), (3000, -1.0)])
def test_without_an_age_or_without_aging_no_loss_is_in_sight(age: float | None, aging: float) -> None:
    seen = observed(10, steadily(1), 900, rhythm=HOUR)
    assert seconds_to_loss(seen, window_of([seen]), age, aging) is None


def test_a_log_start_that_comes_nearer_says_when_it_will_be_there() -> None:
    observations = [observed(at, steadily(1), 900, starts={PARTITION: at // 10}) for at in (0, 600, 1200)]
    # 120 of 600 records in 20 minutes, by a stream that stands: 480 more at 0.1 a second.
    assert seconds_to_loss(observations[-1], window_of(observations), None, 1.0) == pytest.approx(4800)


def test_a_stream_that_moves_as_fast_as_its_log_start_loses_nothing() -> None:
    done = steadily(20, every=60, records=600)
    observations = [observed(n * 60 + 30, done[: n + 1], 99_999, starts={PARTITION: n * 600}) for n in range(20)]
    assert seconds_to_loss(observations[-1], window_of(observations), None, 1.0) is None


def test_a_short_time_gives_no_speed() -> None:
    observations = [observed(at, steadily(1), 900, starts={PARTITION: at}) for at in (0, 200)]
    assert seconds_to_loss(observations[-1], window_of(observations), None, 1.0) is None


def test_a_topic_that_keeps_everything_loses_nothing() -> None:
    observations = [observed(at, steadily(1), 900) for at in (0, 600, 1200)]
    assert seconds_to_loss(observations[-1], window_of(observations), 9e9, 1.0) is None


@pytest.mark.parametrize(("retention", "hours"), [(None, 2), (timedelta(days=7), 2), (timedelta(hours=2), 1)])
def test_a_loss_is_near_within_two_hours_or_half_the_retention(retention: timedelta | None, hours: float) -> None:
    assert horizon_seconds(observed(0, rhythm=Rhythm(retention=retention))) == hours * 3600
