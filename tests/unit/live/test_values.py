"""Newest values against a plain dictionary, and readers that are slow or were away."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sluice.live.values import Key, LiveValues, as_json, as_text

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)


def values(most: int = 100) -> LiveValues:
    return LiveValues(["origin", "hour"], most)


def row(origin: str, hour: int = 1, **more: object) -> dict[str, object]:
    return {"origin": origin, "hour": hour, **more}


def test_the_newest_row_of_a_key_is_its_value() -> None:
    live = values()
    live.put(row("JFK", delay=5), AT)
    live.put(row("JFK", delay=7), AT)
    live.put(row("JFK", 2, delay=9), AT)
    (found,), count = live.find({"origin": "JFK", "hour": "1"}, 10)
    assert (found.fields["delay"], found.key, count) == (7, ("JFK", "1"), 1)


def test_what_has_not_changed_is_no_change() -> None:
    live = values()
    assert live.put(row("JFK", delay=5), AT) is not None
    assert live.put(row("JFK", delay=5), AT + timedelta(hours=1)) is None
    assert live.number == 1


def test_a_part_is_found_by_any_column_newest_change_first() -> None:
    live = values()
    for origin, hour in (("JFK", 1), ("EWR", 1), ("JFK", 2)):
        live.put(row(origin, hour, late=hour > 1), AT)
    found, count = live.find({"origin": "JFK"}, 1)
    assert ([v.key for v in found], count) == ([("JFK", "2")], 2)
    assert live.find({"late": "true"}, 9)[1] == 1
    assert live.find({"nothing": "1"}, 9) == ([], 0)
    assert live.find({"origin": "LGA", "hour": "1"}, 9) == ([], 0)


def test_a_row_without_its_key_is_refused() -> None:
    with pytest.raises(KeyError):
        values().put({"origin": "JFK"}, AT)


def test_of_too_many_those_that_changed_longest_ago_are_forgotten_and_counted() -> None:
    live = values(most=2)
    for origin in ("A", "B", "A2", "B"):
        live.put(row(origin, delay=live.number), AT)
    assert live.keys_held() == {("A2", "1"), ("B", "1")}
    assert live.forgotten == 1
    assert ("A", "1") in live.since(1).gone


@pytest.mark.parametrize(
    ("value", "json_value", "text"),
    [
        (datetime(2013, 1, 1, 6, tzinfo=timezone(timedelta(hours=1))), "2013-01-01T05:00:00Z", "2013-01-01T05:00:00Z"),
        (Decimal("1.50"), "1.50", "1.50"),
        (True, True, "true"),
        (None, None, "null"),
        (2.5, 2.5, "2.5"),
        (b"\x00\xff", "00ff", "00ff"),
        ([1, Decimal(2)], [1, "2"], "[1, '2']"),
    ],
)
def test_values_are_json_and_stand_in_addresses(value: object, json_value: object, text: str) -> None:
    assert as_json(value) == json_value
    assert as_text(value) == text
    json.dumps(as_json(value))


class Readers(RuleBasedStateMachine):
    """One writer and three readers, who refresh when they like: each ends up with what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.live = LiveValues(["k"], most=4)
        self.seen: list[tuple[int, dict[Key, int]]] = [(0, {}) for _ in range(3)]

    @rule(key=st.sampled_from("abcdef"), value=st.integers(0, 3))
    def put(self, key: str, value: int) -> None:
        self.live.put({"k": key, "v": value}, AT)

    @rule(key=st.sampled_from("abcdef"))
    def remove(self, key: str) -> None:
        self.live.remove((key,))

    @rule(reader=st.integers(0, 2))
    def refresh(self, reader: int) -> None:
        number, mine = self.seen[reader]
        changes = self.live.since(number)
        if not changes.complete:
            mine = {}
        mine = {key: value for key, value in mine.items() if key not in changes.gone}
        mine.update({value.key: value.fields["v"] for value in changes.values})
        assert mine == {v.key: v.fields["v"] for v in self.live.since(0).values}
        self.seen[reader] = changes.number, mine

    @invariant()
    def no_more_is_held_than_may_be(self) -> None:
        assert len(self.live) <= 4


TestReaders = Readers.TestCase
TestReaders.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_who_was_away_for_too_long_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.live.values._REMEMBERED_ENDS", 2)
    live = LiveValues(["k"])
    for key in "abcd":
        live.put({"k": key}, AT)
    for key in "abc":
        live.remove((key,))
    assert not live.since(4).complete
    assert live.since(5).complete
    assert not live.since(99).complete, "of another process"
