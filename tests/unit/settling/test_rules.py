"""Which records the rows of an interval are made of, and which intervals a record may change: each says the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sluice.intervals.alignment import Interval, intervals_between
from sluice.settling.rules import SettlingRules

START = datetime(2013, 1, 7, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
DAYS = Interval(START - timedelta(days=3), START + timedelta(days=3))
minutes = st.integers(0, 2000).map(lambda count: count * MINUTE)


@given(lookback=minutes, lookahead=minutes, after=st.integers(-1000, 1000).map(lambda count: count * MINUTE))
def test_a_record_touches_the_intervals_that_read_it(
    lookback: timedelta, lookahead: timedelta, after: timedelta
) -> None:
    rules, event = SettlingRules(HOUR, HOUR, lookback=lookback, lookahead=lookahead), START + after
    reading = [
        interval
        for interval in intervals_between(DAYS.start, DAYS.end, HOUR)
        if rules.read_range(interval).start <= event < rules.read_range(interval).end
    ]
    assert list(rules.touched(event)) == reading


@given(lookback=minutes, lookahead=minutes, length=st.integers(1, 200))
def test_a_range_touches_what_any_of_its_instants_does(lookback: timedelta, lookahead: timedelta, length: int) -> None:
    rules = SettlingRules(HOUR, HOUR, lookback=lookback, lookahead=lookahead)
    times = Interval(START + MINUTE, START + (1 + length) * MINUTE)
    each = {found for number in range(length) for found in rules.touched(times.start + number * MINUTE)}
    assert list(rules.touched_by_any_of(times)) == sorted(each)


longer = st.none() | minutes
rules_of_a_topic = st.builds(
    SettlingRules,
    st.just(HOUR),
    minutes,
    arrival_disorder=minutes,
    future_skew=minutes,
    max_advance=minutes,
    idle=longer,
    lookback=minutes,
    lookahead=minutes,
)


@given(rules_of_a_topic, rules_of_a_topic)
def test_the_rules_of_several_topics_are_no_narrower_than_those_of_each(
    first: SettlingRules, second: SettlingRules
) -> None:
    both = first._or_wider(second)
    assert both == second._or_wider(first)
    for each in (first, second):
        assert both._or_wider(each) == both
        assert both.margin >= each.margin
        assert both.max_advance <= each.max_advance
        assert set(each.touched(START)) <= set(both.touched(START))
    waits = {each.idle for each in (first, second)}
    assert both.idle in waits, "as long as the one that waits longest; for ever if one of them does"
    assert both.idle is None if None in waits else all(both.idle >= each for each in waits)
