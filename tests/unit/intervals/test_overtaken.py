"""Settled intervals that lack records on time: marked until a recompute has read all of these, of every topic."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from sluice.intervals.entries import (
    BackfillEntry,
    Content,
    Entry,
    ExaminedSource,
    Logged,
    SettleEntry,
    WithdrawnEntry,
)
from sluice.intervals.ledger import fold
from sluice.intervals.reach import Reach
from sluice.intervals.rows import REOPENED

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)
WHY = "records on time came after generation 1 of settle:departures had settled it"


def settling(
    flights: Reach, weather: Reach | None, *, until: int = 1, overtaken: Mapping[str, int] | None = None
) -> SettleEntry:
    """Return the settlement of the first hour, or only a mark on it."""
    each = {"flights": flights} if weather is None else {"flights": flights, "weather": weather}
    return SettleEntry(
        "settle:departures",
        1,
        "n",
        MIDNIGHT + (HOUR if overtaken else timedelta()),
        MIDNIGHT + until * HOUR,
        {name: ExaminedSource(reach.offsets, reach.topics) for name, reach in each.items()},
        overtaken={MIDNIGHT: overtaken} if overtaken else {},
    )


def recompute(raw: Reach) -> BackfillEntry:
    return BackfillEntry(
        "b", "recompute", "ada", "", raw.offsets, {}, {MIDNIGHT: Content(3, "3")}, "c", "p", raw.topics
    )


def marks(*entries: Entry) -> tuple[str, ...]:
    ledger = fold([Logged(version, MIDNIGHT, entry) for version, entry in enumerate(entries)], HOUR)
    return ledger.rows[MIDNIGHT].dirty


def flights(*ends: int) -> Reach:
    return Reach({f"flights/{number}": end for number, end in enumerate(ends)}, ("f",))


def weather(end: int, *ids: str) -> Reach:
    return Reach({"weather/0": end}, ids or ("w",))


def both(of_flights: Reach, of_weather: Reach) -> Reach:
    return Reach.joined({"flights": of_flights, "weather": of_weather})


FIRST = settling(flights(5), weather(7))


@pytest.mark.parametrize("topic", ["flights/0", "weather/0"])
def test_a_mark_of_either_topic_lasts_until_a_recompute_has_read_that_one(topic: str) -> None:
    marked = settling(flights(9), weather(9), overtaken={topic: 9})
    assert marks(FIRST, marked) == (WHY,)
    other = both(flights(8), weather(99)) if topic == "flights/0" else both(flights(99), weather(8))
    assert marks(FIRST, marked, recompute(other)) == (WHY,), "it has read the other topic only"
    assert marks(FIRST, marked, recompute(both(flights(9), weather(9)))) == ()


def test_what_it_was_settled_from_is_not_lacking() -> None:
    assert marks(FIRST, settling(flights(9), weather(9), overtaken={"flights/0": 5, "weather/0": 7})) == ()


def test_a_later_mark_hides_none_of_another_topic_or_partition() -> None:
    one = settling(flights(9), weather(9), overtaken={"flights/0": 9})
    other = settling(flights(9), weather(12), overtaken={"weather/0": 12})
    assert marks(FIRST, one, other) == (WHY,), "said once"
    assert marks(FIRST, one, other, recompute(both(flights(8), weather(12)))) == (WHY,)
    assert marks(FIRST, one, other, recompute(both(flights(9), weather(12)))) == ()
    alone = settling(flights(5, 5), None)
    entries = (
        alone,
        settling(flights(9, 5), None, overtaken={"flights/0": 9}),
        settling(flights(9, 8), None, overtaken={"flights/1": 8}),
    )
    assert marks(*entries, recompute(flights(8, 8))) == (WHY,)
    assert marks(*entries, recompute(flights(9, 8))) == ()


def test_a_topic_that_was_added_overtakes_what_was_settled_without_it() -> None:
    alone = settling(flights(5), None)
    assert marks(alone, settling(flights(5), weather(2), overtaken={"weather/0": 2})) == (WHY,)


@pytest.mark.parametrize(
    "before", [settling(flights(5), Reach({})), settling(flights(5), None)], ids=["empty", "added"]
)
def test_records_of_a_topic_that_was_deleted_overtake_what_was_settled_when_nothing_of_it_was_read(
    before: SettleEntry,
) -> None:
    marked = settling(flights(5), weather(0, "w", "x"), overtaken={"weather/0": 0})
    assert marks(before, marked) == (WHY,)
    assert marks(before, marked, recompute(both(flights(5), weather(0, "w", "x")))) == ()


def test_what_was_published_of_an_interval_that_is_open_again_lacks_what_was_examined_since() -> None:
    raw = both(flights(5), weather(7))
    published = (FIRST, WithdrawnEntry(MIDNIGHT, "ada", "wrong"), recompute(raw))
    assert marks(*published) == ()
    assert marks(*published, settling(flights(5), weather(7), until=0)) == (), "nothing came since"
    examined = settling(flights(9), weather(7), until=0)
    assert marks(*published, examined) == (REOPENED,)
    assert marks(*published, examined, recompute(both(flights(9), weather(7)))) == ()
    assert marks(*published, examined, settling(flights(9), weather(7))) == (), "it is settled again"
