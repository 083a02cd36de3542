from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.feeds.heartbeat import closing_time, heartbeat_time, heartbeat_value
from sluice.intervals.alignment import closed_until
from sluice.specs.model.model import FieldType, TopicValue, ValueField

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMES = {"at": ValueField(type=FieldType.TIMESTAMP), "known": ValueField(type=FieldType.TIMESTAMP)}
BEAT = {"beat": ValueField(type=FieldType.BOOLEAN)}

instants = st.integers(946_684_800, 2_208_988_800).map(lambda second: datetime.fromtimestamp(second, UTC))
minutes = st.integers(0, 3000).map(lambda count: timedelta(minutes=count))


@given(instants, st.sampled_from([HOUR, DAY]), minutes)
def test_the_heartbeat_closes_the_last_interval_and_a_moment_less_would_not(
    last_event: datetime, length: timedelta, delay: timedelta
) -> None:
    at = heartbeat_time(last_event, length, delay)
    assert closed_until(at - delay, length) > last_event
    assert closed_until(at - delay - timedelta(milliseconds=1), length) <= last_event


def test_the_heartbeat_of_the_first_week_is_four_hours_after_its_last_interval() -> None:
    last_event = datetime(2013, 1, 8, 4, 59, tzinfo=UTC)
    at = heartbeat_time(last_event, HOUR, timedelta(hours=4))
    assert at == datetime(2013, 1, 8, 9, tzinfo=UTC)


def test_an_event_on_a_boundary_belongs_to_the_interval_that_it_begins() -> None:
    at = heartbeat_time(datetime(2013, 1, 8, 5, tzinfo=UTC), HOUR, timedelta(0))
    assert at == datetime(2013, 1, 8, 6, tzinfo=UTC)


def test_without_a_pipeline_nothing_needs_closing() -> None:
    assert closing_time(datetime(2013, 1, 8, tzinfo=UTC), []) is None


def test_a_heartbeat_carries_its_mark_and_its_two_times_and_nothing_else() -> None:
    value = TopicValue(fields=TIMES | BEAT, event_time="at", arrival_time="known", heartbeat="beat")
    assert heartbeat_value(value, datetime(2013, 1, 8, 9, tzinfo=UTC)) == {
        "beat": True,
        "at": "2013-01-08T09:00:00Z",
        "known": "2013-01-08T09:00:00Z",
    }


def test_where_the_broker_stamps_arrival_a_heartbeat_has_one_time() -> None:
    value = TopicValue(fields=TIMES | BEAT, event_time="at", arrival_time="broker", heartbeat="beat")
    assert set(heartbeat_value(value, datetime(2013, 1, 8, tzinfo=UTC))) == {"beat", "at"}


def test_a_topic_without_heartbeats_gets_none() -> None:
    with pytest.raises(ValueError, match="no heartbeat"):
        heartbeat_value(TopicValue(fields=TIMES, event_time="at", arrival_time="known"), datetime.now(UTC))
