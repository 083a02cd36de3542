"""Rules over newest values: each beginning and each end once, and not more than in an hour may be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.live.rules import HOUR, RuleEvent, RuleWatch, Transition, within
from sluice.live.values import Value
from sluice.specs.model.data_alerts import Bound, DataAlert

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
LONG = DataAlert.model_validate(
    {
        "name": "long_delays",
        "output": "live",
        "when": {"delay": {"above": 60}, "flights": {"at_least": 3}},
        "most_per_hour": 2,
    }
)


def value(key: str = "JFK", **fields: object) -> Value:
    return Value((key,), {"origin": key, "delay": 0, "flights": 5, **fields}, NOW, 1)


def turns(events: list[RuleEvent]) -> list[tuple[Transition, tuple[str, ...]]]:
    return [(event.transition, event.key) for event in events]


def heard(watch: RuleWatch, *values: Value, at: datetime = NOW) -> list[tuple[Transition, tuple[str, ...]]]:
    return turns([event for each in values for event in watch.changed(each, at)])


def test_a_rule_begins_once_and_ends_once_for_a_key() -> None:
    watch = RuleWatch([LONG])
    assert heard(watch, value(delay=60)) == []
    assert heard(watch, value(delay=61), value(delay=90)) == [(Transition.FIRING, ("JFK",))]
    assert watch.holding("long_delays") == 1
    assert heard(watch, value(delay=90, flights=2)) == [(Transition.RESOLVED, ("JFK",))]
    assert heard(watch, value(delay=90)) == [(Transition.FIRING, ("JFK",))]


def test_the_end_of_a_key_is_the_end_of_its_alert() -> None:
    watch = RuleWatch([LONG])
    heard(watch, value(delay=61))
    assert turns(list(watch.gone(("JFK",), NOW))) == [(Transition.RESOLVED, ("JFK",))]
    assert turns(list(watch.gone(("JFK",), NOW))) == []


def test_more_keys_than_may_be_told_of_in_an_hour_are_told_of_together() -> None:
    watch = RuleWatch([LONG])
    four = [value(key, delay=61) for key in "ABCD"]
    assert heard(watch, *four) == [
        (Transition.FIRING, ("A",)),
        (Transition.FIRING, ("B",)),
        (Transition.RATE_LIMITED, ()),
    ]
    assert watch.holding("long_delays") == 4
    assert heard(watch, value("C"), value("D")) == [(Transition.RESOLVED, ())]
    assert heard(watch, value("E", delay=61), at=NOW + HOUR) == [(Transition.FIRING, ("E",))]


def test_what_was_told_before_a_restart_is_not_told_again_and_its_end_is() -> None:
    watch = RuleWatch([LONG], {"long_delays": [("JFK",), ("EWR",), ("LGA",)]})
    assert heard(watch, value(delay=61)) == []
    assert heard(watch, value("EWR", delay=1)) == [(Transition.RESOLVED, ("EWR",))]
    over = list(watch.complete(frozenset({("JFK",), ("EWR",)}), NOW))
    assert turns(over) == [(Transition.RESOLVED, ("LGA",))]


SHARED = {"long_delays": [("A",), ("B",), ()]}


def test_the_shared_alert_of_before_a_restart_is_over_once_all_is_read_and_no_more_keys_hold() -> None:
    watch = RuleWatch([LONG], SHARED)
    assert watch.holding("long_delays") == 2
    assert heard(watch, *(value(key, delay=1) for key in "ABCD")) == [
        (Transition.RESOLVED, ("A",)),
        (Transition.RESOLVED, ("B",)),
    ]
    assert turns(list(watch.complete(frozenset({("A",)}), NOW))) == [(Transition.RESOLVED, ())]
    assert turns(list(watch.complete(frozenset(), NOW))) == []


def test_the_shared_alert_goes_on_after_a_restart_while_more_keys_hold() -> None:
    watch = RuleWatch([LONG], SHARED)
    assert turns(list(watch.found([value(key, delay=61) for key in "ABCDE"], NOW))) == []
    keys = frozenset((key,) for key in "ABCDE")
    assert turns(list(watch.complete(keys, NOW))) == []
    assert heard(watch, value("F", delay=61)) == [(Transition.FIRING, ("F",))], "the restart has used up nothing"
    assert heard(watch, value("C", delay=1), value("D", delay=1)) == []
    assert heard(watch, value("E", delay=1)) == [(Transition.RESOLVED, ())]


def test_what_is_found_when_all_is_read_is_judged_as_what_comes() -> None:
    watch = RuleWatch([LONG], {"long_delays": [("A",)]})
    found = [value("A"), value("B", delay="late"), *(value(key, delay=61) for key in "CDE")]
    assert turns(list(watch.found(found, NOW))) == [
        (Transition.RESOLVED, ("A",)),
        (Transition.FIRING, ("C",)),
        (Transition.FIRING, ("D",)),
        (Transition.RATE_LIMITED, ()),
    ]


def test_a_row_that_cannot_be_judged_ends_nothing() -> None:
    watch = RuleWatch([LONG])
    heard(watch, *(value(key, delay=61) for key in "ABC"))
    for key in "ABC":
        assert heard(watch, Value((key,), {"Delay": 1}, NOW, 1), value(key, delay="late")) == []
    assert watch.holding("long_delays") == 3
    assert watch.faults
    assert heard(watch, value("A", delay=1)) == [(Transition.RESOLVED, ("A",))]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [({"delay": "late"}, "'late', which is no number"), ({"delay": True}, "True, which is no number")],
)
def test_a_column_that_cannot_be_judged_is_a_fault_that_is_shown(fields: dict[str, object], fault: str) -> None:
    watch = RuleWatch([LONG])
    assert heard(watch, value(**fields)) == []
    assert fault in watch.faults["long_delays"]
    heard(watch, value())
    assert not watch.faults


def test_a_column_that_is_not_there_is_a_fault() -> None:
    watch = RuleWatch([LONG])
    heard(watch, Value(("JFK",), {"origin": "JFK"}, NOW, 1))
    assert watch.faults["long_delays"] == "there is no column 'delay' in origin"


@given(
    found=st.none() | st.integers(-5, 5) | st.floats(-5, 5),
    above=st.none() | st.integers(-5, 5),
    at_most=st.none() | st.integers(-5, 5),
)
def test_all_limits_must_hold_and_null_is_within_none(
    found: float | None, above: int | None, at_most: int | None
) -> None:
    if above is None and at_most is None:
        return
    bound = Bound(above=above, at_most=at_most)
    expected = found is not None and (above is None or found > above) and (at_most is None or found <= at_most)
    assert within(found, bound) is expected


def test_a_list_is_compared_by_type_too() -> None:
    assert within("JFK", Bound(one_of=("JFK", "EWR")))
    assert not within(True, Bound(one_of=(1,)))
    assert not within(None, Bound(one_of=("null",)))


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.booleans(), st.integers(0, 40)), max_size=60))
def test_for_each_key_beginnings_and_ends_alternate_and_no_hour_has_too_many(
    steps: list[tuple[str, bool, int]],
) -> None:
    watch, now = RuleWatch([LONG]), NOW
    told: dict[str, Transition] = {}
    times: list[datetime] = []
    for key, holds, minutes in steps:
        now += timedelta(minutes=minutes)
        for event in watch.changed(value(key, delay=61 if holds else 0), now):
            if event.key:
                assert told.get(key, Transition.RESOLVED) is not event.transition
                told[key] = event.transition
            if event.transition is Transition.FIRING:
                times.append(now)
                assert sum(now - time < HOUR for time in times) <= LONG.most_per_hour
