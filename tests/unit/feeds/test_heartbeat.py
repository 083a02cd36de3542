from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.feeds.heartbeat import heartbeat_times, heartbeat_value, written_from
from sluice.intervals.alignment import interval_of
from sluice.settling.rules import SettlingRules
from sluice.specs.model.model import FieldType, PipelineSpec, TopicValue, ValueField
from sluice.specs.model.outputs import IntervalsOutput
from sluice.specs.model.sources import TimeRules
from sluice.topics.declared_time import read_time

HOUR, NOTHING = timedelta(hours=1), timedelta()
TIMES = {"at": ValueField(type=FieldType.TIMESTAMP), "known": ValueField(type=FieldType.TIMESTAMP)}
BEAT = {"beat": ValueField(type=FieldType.BOOLEAN)}

instants = st.integers(946_684_800, 2_208_988_800).map(lambda second: datetime.fromtimestamp(second, UTC))
minutes = st.integers(0, 3000).map(lambda count: timedelta(minutes=count))


def pipeline(
    interval: str = "hour", *, lookback: timedelta = NOTHING, lookahead: timedelta = NOTHING, **rules: timedelta
) -> PipelineSpec:
    """Return a pipeline whose rules of time are `rules` beside lateness and skew."""
    output = IntervalsOutput(
        table="out",
        time_column="at",
        interval=interval,
        lookback=lookback,
        lookahead=lookahead,  # type: ignore[arg-type]
    )
    time = TimeRules(**{"allowed_lateness": 3 * HOUR, "future_skew": HOUR, **rules})
    return PipelineSpec(name="p", source="t", transform="p:p", time=time, output=output, driver="d")


@given(instants, st.sampled_from(["hour", "day"]), minutes, minutes, minutes)
def test_the_last_heartbeat_completes_the_last_interval_and_a_moment_less_would_not(
    last_event: datetime, interval: str, disorder: timedelta, lookback: timedelta, lookahead: timedelta
) -> None:
    read = pipeline(
        interval, lookback=lookback, lookahead=lookahead, arrival_disorder=disorder, watermark_delay=4 * HOUR
    )
    rules, last = SettlingRules.of(read), heartbeat_times(last_event, "t", [read])[-1]

    def closes(at: datetime) -> bool:
        settled = rules.complete_until(at)
        live = interval_of(at - read.time.delay, rules.length).start
        touched = [each for each in rules.touched(last_event) if each.end > settled]
        return not touched and live > last_event

    assert closes(last)
    assert not closes(last - timedelta(milliseconds=1))


@given(instants, st.integers(1, 72).map(lambda hours: timedelta(hours=hours)), minutes)
def test_no_heartbeat_is_an_advance_that_nothing_bears_out(
    last_event: datetime, most: timedelta, lookahead: timedelta
) -> None:
    read = pipeline("day", lookahead=lookahead, max_advance=most)
    times = heartbeat_times(last_event, "t", [read])
    arrived = last_event + read.time.allowed_lateness
    assert all(later - earlier == most for earlier, later in pairwise(times))
    assert times[0] - arrived <= most
    assert len(times) == 1 or times[0] > arrived, "none lies below what may have arrived before"


def test_the_heartbeat_of_the_first_week_is_four_hours_after_its_last_interval() -> None:
    last_event = datetime(2013, 1, 8, 4, 59, tzinfo=UTC)
    assert heartbeat_times(last_event, "t", [pipeline()]) == (datetime(2013, 1, 8, 9, tzinfo=UTC),)


def test_an_event_on_a_boundary_belongs_to_the_interval_that_it_begins() -> None:
    read = pipeline(allowed_lateness=NOTHING, future_skew=NOTHING)
    assert heartbeat_times(datetime(2013, 1, 8, 5, tzinfo=UTC), "t", [read]) == (datetime(2013, 1, 8, 6, tzinfo=UTC),)


def test_of_several_pipelines_the_slowest_one_decides() -> None:
    last_event = datetime(2013, 1, 8, 4, 59, tzinfo=UTC)
    slow = pipeline(arrival_disorder=5 * HOUR)
    assert heartbeat_times(last_event, "t", [pipeline(), slow]) == (datetime(2013, 1, 8, 13, tzinfo=UTC),)


def test_without_a_pipeline_nothing_needs_closing() -> None:
    assert heartbeat_times(datetime(2013, 1, 8, tzinfo=UTC), "t", []) == ()


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


def stamp(**form: str) -> ValueField:
    zone = {"zone": "UTC"} | form if "format" in form else form
    return ValueField.model_validate({"type": "timestamp", **zone})


@pytest.mark.parametrize(
    ("at", "known", "written"),
    [
        (stamp(format="dd.MM.yyyy HH:mm"), stamp(format="dd.MM.yyyy HH:mm"), "13:01:00"),
        (stamp(format="dd.MM.yyyy HH:mm:ss"), stamp(epoch="seconds"), "13:00:31"),
        (stamp(format="dd.MM.yyyy HH:mm:ss.S"), stamp(), "13:00:30.600"),
        (stamp(epoch="seconds"), stamp(format="dd.MM.yyyy hh a", zone="+05:30"), "13:30:00"),
        (stamp(), stamp(), "13:00:30.507"),
    ],
)
def test_a_heartbeat_in_a_coarse_form_comes_later_and_closes_what_it_is_for(
    at: ValueField, known: ValueField, written: str
) -> None:
    fields = {"at": at, "known": known}
    value = TopicValue(fields=fields | BEAT, event_time="at", arrival_time="known", heartbeat="beat")
    found = written_from(value, datetime(2026, 1, 5, 13, 0, 30, 507_000, UTC))
    assert found == datetime.fromisoformat(f"2026-01-05T{written}+00:00")
    sent = heartbeat_value(value, found)
    assert {read_time(sent[name], field) for name, field in fields.items()} == {found}
