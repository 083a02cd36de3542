"""A follower: what it takes in, and a source that fails and comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest

from sluice.clock import SystemClock
from sluice.errors import UnreachableError
from sluice.live import follower as module
from sluice.live.follower import Follower
from sluice.live.rules import RuleEvent, RuleWatch, Transition
from sluice.live.source import LiveSource, Row, SourceRead
from sluice.live.values import LiveValues
from tests.unit.live.test_rules import LONG, NOW

DEADLINE_SECONDS = 120.0


def batch(*rows: tuple[str, int], whole: bool = False, caught_up: bool = True) -> SourceRead:
    found = [Row({"origin": origin, "delay": delay, "flights": 9}, NOW) for origin, delay in rows]
    return SourceRead(found, whole=whole, caught_up=caught_up)


@dataclass
class Told:
    events: list[RuleEvent] = field(default_factory=list)
    rings: int = 0

    def notify_all(self) -> None:
        self.rings += 1

    def turns(self) -> list[tuple[Transition, tuple[str, ...]]]:
        return [(event.transition, event.key) for event in self.events]


def make(told: Told, open_source: Callable[[], LiveSource], known: tuple[str, ...] = ()) -> Follower:
    rules = RuleWatch([LONG], {"long_delays": [(key,) for key in known]})
    values = LiveValues(["origin"])
    return Follower("departures/live", open_source, values, rules, told.events.append, told.notify_all, SystemClock())


def nowhere() -> LiveSource:
    raise AssertionError("nothing is opened")


def test_a_whole_table_says_what_is_gone() -> None:
    told = Told()
    follower = make(told, nowhere)
    follower.take(batch(("JFK", 61), ("EWR", 1), whole=True))
    follower.take(batch(("EWR", 1), whole=True))
    assert told.turns() == [(Transition.FIRING, ("JFK",)), (Transition.RESOLVED, ("JFK",))]
    assert follower.values.keys_held() == {("EWR",)}
    assert told.rings == 2
    follower.take(batch(("EWR", 1), whole=True))
    assert told.rings == 2, "nothing has changed"


def test_a_part_says_nothing_of_the_others() -> None:
    told = Told()
    follower = make(told, nowhere)
    follower.take(batch(("JFK", 61)))
    follower.take(batch(("EWR", 1)))
    assert told.turns() == [(Transition.FIRING, ("JFK",))]


def test_what_was_told_before_and_went_meanwhile_is_over_once_all_is_read() -> None:
    told = Told()
    follower = make(told, nowhere, known=("JFK", "EWR"))
    follower.take(batch(("EWR", 61), caught_up=False))
    assert told.turns() == []
    follower.take(batch())
    assert told.turns() == [(Transition.RESOLVED, ("JFK",))]


def test_what_was_over_before_all_was_read_is_no_news_and_costs_no_alert_of_this_hour() -> None:
    told = Told()
    follower = make(told, nowhere, known=("EWR",))
    past = [(f"over {number}", delay) for number in range(25) for delay in (61, 1)]
    follower.take(batch(*past, ("EWR", 61), ("JFK", 61), caught_up=False))
    assert told.turns() == []
    follower.take(batch(("JFK", 62)))
    assert told.turns() == [(Transition.FIRING, ("JFK",))]
    follower.take(batch(("LGA", 61)))
    assert told.turns() == [(Transition.FIRING, ("JFK",)), (Transition.FIRING, ("LGA",))]


def test_a_source_that_was_not_read_from_its_beginning_proves_no_end() -> None:
    told = Told()
    follower = make(told, nowhere, known=("JFK", "EWR"))
    follower.take(replace(batch(("EWR", 61)), partial=True))
    assert told.turns() == []
    follower.take(replace(batch(("JFK", 1)), partial=True))
    assert told.turns() == [(Transition.RESOLVED, ("JFK",))]


def test_a_key_whose_value_was_forgotten_has_not_gone() -> None:
    told = Told()
    follower = make(told, nowhere, known=("JFK",))
    follower.values = LiveValues(["origin"], most=1)
    follower.take(batch(("JFK", 61), ("EWR", 1)))
    assert follower.values.forgotten == 1
    assert told.turns() == []


def test_a_row_without_its_key_is_counted() -> None:
    follower = make(Told(), nowhere)
    follower.take(SourceRead([Row({"delay": 1}, NOW)], unreadable=2))
    assert follower.condition.unreadable == 3


class Failing:
    """A source that says something, and then fails."""

    def __init__(self, said: Iterable[SourceRead], closed: list[str]) -> None:
        self._said = iter(said)
        self._closed = closed

    def read(self, seconds: float) -> SourceRead:
        _ = seconds
        said = next(self._said, None)
        if said is None:
            raise UnreachableError("the broker has gone")
        return said

    def close(self) -> None:
        self._closed.append("closed")


def followed(monkeypatch: pytest.MonkeyPatch, told: Told, *sources: Failing) -> Follower:
    """Follow one source after the other, and return when no further one can be opened."""
    monkeypatch.setattr(module, "_SHORTEST_PAUSE", 0.01)
    again, remaining = threading.Event(), iter(sources)

    def open_source() -> LiveSource:
        found = next(remaining, None)
        if found is None:
            again.set()
            raise UnreachableError("there is no broker")
        return found

    follower = make(told, open_source)
    follower.start()
    assert again.wait(DEADLINE_SECONDS)
    follower.stop()
    return follower


def test_a_source_that_fails_is_opened_again_and_what_was_read_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = list[str]()
    sources = (Failing([batch(("JFK", 1))], closed), Failing([batch(("EWR", 2))], closed))
    follower = followed(monkeypatch, Told(), *sources)
    assert follower.values.keys_held() == {("JFK",), ("EWR",)}
    assert closed == ["closed", "closed"]
    assert follower.condition.trouble
    assert follower.condition.since is not None
    assert follower.ended


def test_a_source_that_sends_everything_again_repeats_no_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    first = Failing([batch(("JFK", 61), ("JFK", 1), ("EWR", 1))], [])
    again = [batch(("JFK", 61), caught_up=False), batch(("JFK", 1), ("EWR", 1), ("EWR", 61))]
    followed(monkeypatch, told, first, Failing(again, []))
    assert told.turns() == [(Transition.FIRING, ("EWR",))]
