"""Following a live source: everything that came is in the topic once, and what is missing is on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.specs.feeds.live import WebSocketSpec
from tests.twins.feed_topic import InMemoryTopic
from tests.twins.feeds.live_source import FIRST, live_event, micros
from tests.unit.feeds.following.follow_bench import CURSOR, EVENTS, PASSING, KilledError, Steps, bench, ids

SECOND = timedelta(seconds=1)


LONGER_THAN_ALL_PAUSES = 120
"""Seconds. After five cuts in a row a follower has waited for up to a minute; the usual end is 20 s of silence."""


def test_events_become_records_with_their_keys_in_their_order() -> None:
    _, follower = bench()
    manifest = follower.follow()
    assert follower.values() == Counter(EVENTS)
    assert follower.topic.log[sum(b"A") % 4] == EVENTS[0::3]
    assert (manifest.records, manifest.repeated, manifest.gaps) == (30, 0, [])
    assert (manifest.cursor, manifest.cursor_at) == (micros(FIRST + 29 * SECOND), FIRST + 29 * SECOND)
    assert not manifest.following


def test_after_a_stop_the_source_is_asked_from_the_overlap_before_the_cursor() -> None:
    source, follower = bench(EVENTS[:20])
    follower.follow()
    source.events.extend(EVENTS[20:])
    manifest = follower.follow()
    assert source.asked == [None, micros(FIRST + 14 * SECOND)]
    assert follower.values() == Counter(EVENTS)
    assert (manifest.records, manifest.repeated, manifest.gaps) == (30, 6, [])


def test_after_a_cut_it_goes_on_and_sends_nothing_twice() -> None:
    source, follower = bench(patience=5)
    source.cuts = [4, 1, 0, 11, 2]
    manifest = follower.follow(LONGER_THAN_ALL_PAUSES)
    assert follower.values() == Counter(EVENTS)
    assert (manifest.disconnects, manifest.records, manifest.gaps) == (5, 30, [])
    assert [each for each in follower.told if "The connection was cut. The next attempt is in" in each]


def test_an_event_that_a_source_delivers_twice_is_sent_once() -> None:
    _, follower = bench([EVENTS[0], EVENTS[1], EVENTS[0], EVENTS[1], EVENTS[2]], patience=3)
    manifest = follower.follow()
    assert ids(follower) == [0, 1, 2]
    assert (manifest.records, manifest.repeated) == (3, 2)


def test_wherever_it_is_killed_every_event_is_in_the_topic_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Steps()
    # Pauses of chance have another number of steps each time.
    monkeypatch.setattr("tenacity.wait.random.uniform", lambda shortest, longest: (shortest + longest) / 2)
    source, follower = bench(patience=4)
    source.step, source.cuts = whole, [13]
    follower.follow(step=whole)
    assert whole.taken > 60
    for last in range(whole.taken):
        source, follower = bench(patience=4)
        source.cuts = [13]
        source.step = dying = Steps(last)
        with pytest.raises(KilledError):
            follower.follow(step=dying)
        follower.topic.lose_the_sender()
        source.step = lambda: None
        knew = follower.store.load() is not None and follower.store.manifest.cursor is not None
        manifest = follower.follow()
        assert follower.values() == Counter(EVENTS), f"killed before step {last}"
        assert manifest.records == 30
        assert manifest.gaps == [] or not knew


@given(
    seed=st.integers(0, 10**6),
    kills=st.lists(st.integers(0, 120), max_size=5),
    cuts=st.lists(st.integers(0, 12), max_size=5),
    patience=st.sampled_from([0, 3, 20]),
    seconds=st.lists(st.floats(0, 3), min_size=1, max_size=40),
)
def test_however_often_it_is_killed_and_cut_the_topic_has_what_the_source_had(
    seed: int, kills: list[int], cuts: list[int], patience: int, seconds: list[float]
) -> None:
    at, events = 0.0, []
    for number, passed in enumerate(seconds):
        at += passed
        events.append(live_event(number, seconds=at))
    source, follower = bench(events, patience=patience)
    follower.topic._random.seed(seed)
    source.cuts = list(cuts)
    for last in kills:
        source.step = dying = Steps(last)
        try:
            follower.follow(step=dying)
        except KilledError:
            follower.topic.lose_the_sender()
    source.step = lambda: None
    manifest = follower.follow(LONGER_THAN_ALL_PAUSES)
    assert follower.values() == Counter(events)
    assert manifest.records == len(events)
    assert [gap.why for gap in manifest.gaps if "cannot be asked" not in gap.why] == []


@given(
    seed=st.integers(0, 10**6),
    kills=st.lists(st.integers(0, 100), max_size=4),
    cuts=st.lists(st.integers(0, 12), max_size=4),
    count=st.integers(1, 40),
)
# Twice killed, and the second run met the last of the records first that the first one had left behind.
@example(seed=0, kills=[5, 6], cuts=[2, 1], count=4)
def test_events_in_another_order_are_recognised_within_the_overlap(
    seed: int, kills: list[int], cuts: list[int], count: int
) -> None:
    events = [live_event(number, seconds=number / 3) for number in range(count)]
    source, follower = bench(events, patience=3)
    chance = Random(seed)
    source.cuts, source.disorder = list(cuts), lambda: chance.uniform(0, 2)
    for last in kills:
        source.step = dying = Steps(last)
        try:
            follower.follow(step=dying)
        except KilledError:
            follower.topic.lose_the_sender()
    source.step = lambda: None
    manifest = follower.follow(LONGER_THAN_ALL_PAUSES)
    assert follower.values() == Counter(events)
    assert manifest.records == count


def test_what_another_producer_writes_between_is_not_taken_for_ours() -> None:
    source, follower = bench(EVENTS[:10])
    follower.follow()
    for value in (b"x", None, b'{"id": 99}', EVENTS[25]):
        follower.topic.append(value)
    source.events.extend(EVENTS[10:20])
    assert follower.follow().records == 20


def test_a_source_that_forgot_what_follows_the_cursor_leaves_a_gap() -> None:
    source, follower = bench(EVENTS[:10])
    follower.follow()
    source.events.extend(EVENTS[10:])
    source.first = 15
    manifest = follower.follow()
    (gap,) = manifest.gaps
    assert (gap.since, gap.until) == (FIRST + 9 * SECOND, FIRST + 15 * SECOND)
    assert "the source no longer had the events" in gap.why
    assert manifest.records == 25


def test_an_outage_longer_than_the_declared_retention_is_a_gap() -> None:
    live = WebSocketSpec.model_validate(
        {"url": "wss://x.example.org/", "cursor": {**CURSOR, "retention": "1 hour"}, "identity": "$.id"}
    )
    source, follower = bench(EVENTS[:10], live=live)
    stopped = follower.follow().followed_until
    assert stopped is not None
    follower.clock.sleep(3 * 3600)
    source.silent = True
    (gap,) = follower.follow().gaps
    assert gap.since == stopped
    assert timedelta(hours=1, minutes=59) < gap.until - gap.since < timedelta(hours=2, minutes=1)


def test_a_source_that_cannot_replay_leaves_a_gap_from_its_last_sign_of_life() -> None:
    source, follower = bench(live=PASSING)
    source.cuts = [10]
    source.refusals = []
    source.live = 0
    manifest = follower.follow()
    (gap,) = manifest.gaps
    assert gap.since < gap.until
    assert gap.why == "The connection was cut. The source cannot be asked for what happened meanwhile."
    assert manifest.followed_until is not None


def test_while_nobody_follows_a_source_that_cannot_replay_there_is_a_gap() -> None:
    source, follower = bench(live=PASSING)
    stopped = follower.follow().followed_until
    follower.clock.sleep(600)
    source.live = 30
    begun = follower.clock.now()
    (gap,) = follower.follow().gaps
    assert (gap.since, gap.until) == (stopped, begun)
    assert "the feed was not followed" in gap.why


def test_wherever_it_is_killed_what_cannot_come_again_is_counted() -> None:
    whole = Steps()
    source, follower = bench(live=PASSING, patience=4)
    source.step = whole
    follower.follow(step=whole)
    for last in range(whole.taken):
        source, follower = bench(live=PASSING, patience=4)
        source.step = dying = Steps(last)
        with pytest.raises(KilledError):
            follower.follow(step=dying)
        follower.topic.lose_the_sender()
        source.step = lambda: None
        knew = follower.store.load() is not None and follower.store.manifest.followed_until is not None
        manifest = follower.follow()
        assert manifest.records == sum(follower.values().values()), f"killed before step {last}"
        assert bool(manifest.gaps) == knew, f"killed before step {last}"


def test_from_now_gives_up_the_cursor_and_says_so() -> None:
    source, follower = bench(EVENTS[:10])
    follower.follow()
    source.events.extend(EVENTS[10:])
    source.live = 25
    manifest = follower.follow(from_now=True)
    assert source.asked == [None, None]
    assert [gap.why for gap in manifest.gaps] == ["the feed was told to go on from now"]
    assert manifest.records == 15


def test_a_cursor_of_another_meaning_is_not_used() -> None:
    source, follower = bench(EVENTS[:10])
    follower.follow()
    follower.live = WebSocketSpec.model_validate(
        {"url": "wss://x.example.org/", "cursor": {"path": "$.id", "parameter": "since"}, "identity": "$.id"}
    )
    manifest = follower.follow()
    assert source.asked == [None, None]
    assert "its cursor means something else" in manifest.gaps[0].why


def test_a_topic_that_was_created_again_gets_a_manifest_of_its_own() -> None:
    _, follower = bench()
    follower.follow()
    follower.topic.id = "topic-2"
    follower.topic.log = [[] for _ in range(4)]
    manifest = follower.follow()
    assert follower.store.retired == ["topic-1"]
    assert (manifest.topic_id, manifest.records, follower.values()) == ("topic-2", 30, Counter(EVENTS))


def test_what_is_no_object_is_sent_as_it_is_and_counted() -> None:
    _, follower = bench([EVENTS[0], b"hello", b"\xff", b'{"id": null}', EVENTS[1]])
    manifest = follower.follow()
    assert follower.values() == Counter([EVENTS[0], b"hello", b"\xff", b'{"id": null}', EVENTS[1]])
    assert (manifest.records, manifest.no_object, manifest.no_identity) == (5, 2, 3)


@pytest.mark.parametrize(("largest", "size"), [(None, 1_000_001), (2_000, 5_000)])
def test_an_event_larger_than_a_record_is_a_gap_and_stops_nothing(largest: int | None, size: int) -> None:
    _, follower = bench([EVENTS[0], b"x" * size, EVENTS[1]])
    follower.topic.largest = largest
    manifest = follower.follow()
    assert ids(follower) == [0, 1]
    assert [f"{size:,} bytes" in gap.why for gap in manifest.gaps] == [True]
    assert (manifest.records, manifest.cursor_at, manifest.following) == (2, FIRST + SECOND, False)


def test_a_cursor_from_the_future_is_not_believed() -> None:
    _, follower = bench([EVENTS[0], live_event(1, seconds=10**9), EVENTS[2]])
    assert follower.follow().cursor_at == FIRST + 2 * SECOND


def test_a_killed_run_waits_for_an_open_transaction_that_may_hide_its_records() -> None:
    source, follower = bench(patience=4)
    source.step = dying = Steps(30)
    with pytest.raises(KilledError):
        follower.follow(step=dying)
    follower.topic.lose_the_sender()
    source.step = lambda: None
    follower.topic.behind_open = {0: 1}
    with pytest.raises(RefusedError, match="hides the last offsets"):
        follower.follow()


def test_what_was_still_on_its_way_when_it_died_is_waited_for() -> None:
    class SlowTopic(InMemoryTopic):
        """What waits is appended after the first look at the ends, as a broker may do with a dead sender's request."""

        looks = 0

        def ends(self) -> Mapping[int, int]:
            found = super().ends()
            self.looks += 1
            if self.looks == 2:
                while any(self.waiting):
                    self.deliver(next(p for p, waiting in enumerate(self.waiting) if waiting))
            return found

    source, follower = bench()
    follower.topic = topic = SlowTopic(patience=10**6)
    source.step = dying = Steps(14)
    topic.looks = 2
    with pytest.raises(KilledError):
        follower.follow(step=dying)
    assert any(topic.waiting)
    topic.looks, source.step = 0, lambda: None
    follower.follow()
    assert follower.values() == Counter(EVENTS)
