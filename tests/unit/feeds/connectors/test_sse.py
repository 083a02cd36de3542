"""Server-Sent Events are followed: by a real server on this machine, with its faults."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from sluice.clock import SystemClock
from sluice.errors import NotConfiguredError, SpecError
from sluice.feeds.connectors.sse import SseSource
from sluice.feeds.following.ending import FollowUntil
from sluice.specs.feeds.live import SseSpec
from tests.twins.feeds.live_servers import Script, sse_server
from tests.twins.feeds.live_source import live_event
from tests.unit.feeds.following.follow_bench import Bench, ids

EVENTS = [live_event(number).decode() for number in range(40)]


def bench(port: int, **keys: object) -> Bench:
    live = SseSpec.model_validate(
        {"url": f"http://127.0.0.1:{port}/", "cursor": {"header": "Last-Event-ID"}, "identity": "$.id", **keys}
    )
    return Bench(SseSource(live), live, SystemClock())  # type: ignore[arg-type]


def until(done: Callable[[], bool], seconds: float = 30) -> FollowUntil:
    return FollowUntil(seconds=seconds, stopping=done)


def has(follower: Bench, count: int) -> Callable[[], bool]:
    return lambda: sum(map(len, follower.topic.log)) >= count


def test_the_data_of_events_become_records_and_the_last_id_asks_for_the_rest() -> None:
    script = Script(EVENTS[:20])
    with sse_server(script) as port:
        follower = bench(port)
        follower.follow(until=until(has(follower, 20)))
        script.events.extend(EVENTS[20:])
        manifest = follower.follow(until=until(has(follower, 40)))
    assert follower.values() == Counter(event.encode() for event in EVENTS)
    assert (manifest.records, manifest.repeated, manifest.cursor, manifest.gaps) == (40, 1, "39", [])
    assert [headers.get("last-event-id") for _, headers in script.requests] == [None, "19"]
    assert script.requests[0][1]["accept"] == "text/event-stream"


def test_a_connection_that_is_cut_within_an_event_loses_and_doubles_nothing() -> None:
    script = Script(EVENTS, cuts=[7, 9, 3])
    with sse_server(script, extra="retry: 100\n") as port:
        follower = bench(port)
        manifest = follower.follow(until=until(has(follower, 40)))
    assert ids(follower) == list(range(40))
    assert (manifest.disconnects, manifest.gaps) == (3, [])


def test_comments_are_signs_of_life() -> None:
    script = Script(EVENTS[:1])
    with sse_server(script) as port:
        follower = bench(port, idle_timeout="1 s")
        assert follower.follow(until=FollowUntil(seconds=2.5)).disconnects == 0


def test_without_ids_an_outage_is_a_gap() -> None:
    script = Script(EVENTS, cuts=[7])
    with sse_server(script, ids=False) as port:
        follower = bench(port, cursor=None)
        manifest = follower.follow(until=until(has(follower, 40)))
    assert [gap.why.partition(".")[0] for gap in manifest.gaps] == ["The source closed the connection"]


def test_the_server_says_when_it_wants_to_be_asked_again() -> None:
    script = Script(EVENTS, cuts=[7])
    with sse_server(script, extra="retry: 1500\n") as port:
        follower, begun = bench(port), time.monotonic()
        follower.follow(until=until(has(follower, 40)))
    assert time.monotonic() - begun >= 1.5


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (401, NotConfiguredError, "answered 401"),
        (404, SpecError, "correct `sse.url`"),
        (301, SpecError, "answered 301"),
    ],
)
def test_a_refusal_for_good_is_told_at_once(status: int, error: type[Exception], said: str) -> None:
    script = Script([], answers=[(status, {"Location": "/"})])
    with sse_server(script) as port, pytest.raises(error, match=said):
        bench(port).follow(until=until(lambda: False))
    assert len(script.requests) == 1


def test_a_page_that_is_no_stream_of_events_is_told_at_once() -> None:
    with sse_server(Script([]), kind="text/html; charset=utf-8") as port, pytest.raises(SpecError, match="text/html"):
        bench(port).follow(until=until(lambda: False))


def test_a_server_that_is_busy_is_asked_again() -> None:
    script = Script(EVENTS, answers=[(429, {"Retry-After": "1"}), (502, {})])
    with sse_server(script) as port:
        follower = bench(port)
        follower.follow(until=until(has(follower, 40)))
    assert len(script.requests) == 3


def test_a_server_that_has_no_more_ends_it() -> None:
    script = Script(EVENTS, cuts=[40])
    script.events.append("cut")
    with sse_server(script, extra="retry: 10\n") as port:
        follower = bench(port)
        script.answers = [(200, {"Content-Type": "text/event-stream"}), (204, {})]
        assert follower.follow(until=until(lambda: False)).records == 40
    assert "answered 204: nothing will follow" in follower.told[-1]


def test_nobody_there_is_no_reason_to_give_up() -> None:
    with sse_server(Script([])) as port:
        pass
    follower = bench(port)
    assert follower.follow(until=FollowUntil(seconds=1.5)).disconnects >= 1
    assert f"No connection to http://127.0.0.1:{port}/" in follower.told[0]
