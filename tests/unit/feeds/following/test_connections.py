"""Connections of a follower: how fast, how often, how long, and how they end."""

from __future__ import annotations

from collections import Counter

import pytest

from sluice.errors import NotConfiguredError
from sluice.feeds.following.ending import FollowUntil
from sluice.feeds.following.ports import DisconnectedError, SourceEndedError
from sluice.specs.feeds.live import WebSocketSpec
from tests.twins.feeds.live_source import FIRST, micros
from tests.unit.feeds.following.follow_bench import EVENTS, REPLAYING, bench, ids


def test_never_more_records_are_unacknowledged_than_declared() -> None:
    _, follower = bench(patience=10**6)
    follower.follow()
    assert follower.most == REPLAYING.max_unacknowledged
    assert follower.values() == Counter(EVENTS)


def test_the_rate_is_kept_by_the_clock() -> None:
    _, follower = bench(live=REPLAYING.model_copy(update={"rate": 2.0}))
    before = follower.clock.monotonic()
    follower.follow(until=FollowUntil(idle_seconds=1))
    assert follower.clock.monotonic() - before == pytest.approx(14.5 + 1, abs=0.5)


def test_a_source_without_a_sign_of_life_is_reconnected() -> None:
    source, follower = bench()
    source.silent = True
    manifest = follower.follow(idle=100)
    assert manifest.disconnects == 1
    assert "Nothing came for 1 minute." in follower.told[0]


def test_signs_of_life_keep_a_silent_connection() -> None:
    source, follower = bench()
    assert follower.follow(idle=600).disconnects == 0
    source, follower = bench()
    count = 0

    def live_now_and_then() -> None:
        nonlocal count
        count += 1
        source.silent = count % 100 != 0

    source.step = live_now_and_then
    assert follower.follow(idle=600).disconnects == 0


def test_events_that_come_again_long_after_they_came_first_are_recognised() -> None:
    live = WebSocketSpec.model_validate(
        {"url": "wss://x.example.org/", "cursor": {"path": "$.time_us", "parameter": "cursor"}, "identity": "$.id"}
    )
    source, follower = bench(EVENTS[:5], live=live)
    opened = source.open
    source.open = lambda cursor: opened(None if cursor is None else micros(FIRST))  # type: ignore[method-assign]
    source.silent = True
    manifest = follower.follow(until=FollowUntil(seconds=400))
    assert (manifest.records, manifest.disconnects) == (5, 6)
    assert follower.follow(until=FollowUntil(seconds=90)).records == 5
    assert follower.values() == Counter(EVENTS[:5])


def test_attempts_come_later_and_later_and_never_before_the_source_wants_them() -> None:
    source, follower = bench()
    source.refusals = [DisconnectedError("Away.") for _ in range(12)] + [DisconnectedError("Busy.", retry_after=900)]
    waits: list[float] = []
    before = follower.clock.monotonic()

    def note() -> None:
        nonlocal before
        waits.append(follower.clock.monotonic() - before)
        before = follower.clock.monotonic()

    opened = source.open
    source.open = lambda cursor: (note(), opened(cursor))[1]  # type: ignore[method-assign]
    follower.follow(until=FollowUntil(seconds=3600))
    assert max(waits[1:13]) <= 60.5
    assert sum(waits[1:4]) < 15
    assert waits[13] == pytest.approx(900, abs=1)


def test_a_refusal_for_good_ends_it_in_order() -> None:
    source, follower = bench()
    source.cuts, source.refusals = [5], []
    opened = source.open

    def refuse_later(cursor: object) -> object:
        if source.asked:
            raise NotConfiguredError("401")
        return opened(cursor)  # type: ignore[arg-type]

    source.open = refuse_later  # type: ignore[method-assign,assignment]
    with pytest.raises(NotConfiguredError):
        follower.follow()
    assert ids(follower) == [0, 1, 2, 3, 4]
    assert (follower.store.manifest.records, follower.store.manifest.following) == (5, False)


def test_a_source_that_ends_ends_it() -> None:
    source, follower = bench()
    source.cuts = [5]
    source.refusals = []
    opened = source.open
    source.open = lambda cursor: opened(cursor) if not source.asked else _end()  # type: ignore[method-assign]
    assert follower.follow().records == 5
    assert follower.told[-1] == "posts: That was all."


def _end() -> None:
    raise SourceEndedError("That was all.")


def test_a_signal_ends_it_when_all_is_acknowledged() -> None:
    source, follower = bench(patience=10**6)
    sent: list[int] = []
    until = FollowUntil(stopping=lambda: sum(map(len, follower.topic.waiting)) >= 5 or bool(sent.append(1)))
    manifest = follower.follow(until=until)
    assert manifest.records == sum(follower.values().values()) >= 5
    assert not manifest.following
    assert len(source.asked) == 1
    assert [connection.closed for connection in source.connections] == [True]


def test_a_signal_between_two_connections_makes_no_further_one() -> None:
    source, follower = bench()
    source.refusals = [DisconnectedError("Away.") for _ in range(3)]
    until = FollowUntil(stopping=lambda: len(follower.told) == 2)
    follower.follow(until=until)
    assert len(source.asked) == 2
