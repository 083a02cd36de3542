"""A WebSocket is followed: by a real server on this machine, with its faults."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from threading import Event, Thread

import pytest

from sluice.clock import SystemClock
from sluice.errors import NotConfiguredError, SpecError
from sluice.feeds.connectors.websocket import WebSocketSource
from sluice.feeds.following.ending import FollowUntil
from sluice.specs.feeds.live import WebSocketSpec
from sluice.topics.records import RecordPosition
from tests.twins.feed_topic import InMemoryAcknowledgement, InMemoryTopic
from tests.twins.feeds.live_servers import Script, websocket_server
from tests.twins.feeds.live_source import FIRST, live_event, micros
from tests.unit.feeds.following.follow_bench import CURSOR, Bench, ids
from tests.waiting import eventually

EVENTS = [live_event(number).decode() for number in range(40)]


def spec(port: int, **keys: object) -> WebSocketSpec:
    return WebSocketSpec.model_validate(
        {"url": f"ws://127.0.0.1:{port}/subscribe?wanted=posts", "cursor": CURSOR, "identity": "$.id", **keys}
    )


def bench(live: WebSocketSpec) -> Bench:
    return Bench(WebSocketSource(live), live, SystemClock())  # type: ignore[arg-type]


def until(done: Callable[[], bool], seconds: float = 30) -> FollowUntil:
    return FollowUntil(seconds=seconds, stopping=done)


def has(follower: Bench, count: int) -> Callable[[], bool]:
    return lambda: sum(map(len, follower.topic.log)) >= count


def test_messages_become_records_and_the_cursor_asks_for_the_rest() -> None:
    script = Script(EVENTS[:20])
    with websocket_server(script) as port:
        follower = bench(spec(port))
        follower.follow(until=until(has(follower, 20)))
        script.events.extend(EVENTS[20:])
        manifest = follower.follow(until=until(has(follower, 40)))
    assert follower.values() == Counter(event.encode() for event in EVENTS)
    assert (manifest.records, manifest.gaps) == (40, [])
    assert [path for path, _ in script.requests] == [
        "/subscribe?wanted=posts",
        f"/subscribe?wanted=posts&cursor={micros(FIRST) + 14_000_000}",
    ]


def test_a_connection_that_is_cut_within_a_message_loses_and_doubles_nothing() -> None:
    script = Script(EVENTS, cuts=[7, 9])
    with websocket_server(script) as port:
        follower = bench(spec(port))
        manifest = follower.follow(until=until(has(follower, 40)))
    assert ids(follower) == list(range(40))
    assert (manifest.disconnects, manifest.gaps) == (2, [])
    assert "The connection ended" in follower.told[0]


def test_a_server_that_starts_again_is_found_again() -> None:
    first, second = Script(EVENTS[:10]), Script(EVENTS)
    with websocket_server(first) as port:
        follower = bench(spec(port))
        following = Thread(target=lambda: follower.follow(until=until(has(follower, 40))), daemon=True)
        following.start()
        eventually(has(follower, 10))
    eventually(lambda: len(follower.told) > 0)
    with websocket_server(second, port):
        following.join(30)
    assert ids(follower) == list(range(40))


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (401, NotConfiguredError, r"answered 401: it refuses a request without credentials.*header_variables"),
        (403, NotConfiguredError, "answered 403"),
        (404, SpecError, r"answered 404, and would do so again.*correct `websocket.url`"),
        (302, SpecError, "answered 302"),
    ],
)
def test_a_refusal_for_good_is_told_at_once(status: int, error: type[Exception], said: str) -> None:
    script = Script([], answers=[(status, {"Location": "ws://127.0.0.1:1/"})])
    with websocket_server(script) as port, pytest.raises(error, match=said):
        bench(spec(port)).follow(until=until(lambda: False))
    assert len(script.requests) == 1


def test_a_server_that_is_busy_is_asked_again_when_it_wants_to_be() -> None:
    script = Script(EVENTS, answers=[(429, {"Retry-After": "2"}), (503, {})])
    with websocket_server(script) as port:
        follower, begun = bench(spec(port)), time.monotonic()
        follower.follow(until=until(has(follower, 40)))
    assert time.monotonic() - begun >= 2
    assert "answered 429. The next attempt is in 2 seconds." in follower.told[0]
    assert "answered 503" in follower.told[1]


def test_secrets_are_sent_and_told_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script([], answers=[(401, {})])
    with websocket_server(script) as port:
        monkeypatch.setenv("SLUICE_CONNECTION_VENDOR", f"ws://127.0.0.1:{port}/x?token=hidden1")
        monkeypatch.setenv("SLUICE_PASSWORD_VENDOR", "Bearer hidden2")
        live = spec(port, url=None, connection="vendor", header_variables={"Authorization": "SLUICE_PASSWORD_VENDOR"})
        follower = bench(live)
        with pytest.raises(NotConfiguredError) as refused:
            follower.follow(until=until(lambda: False))
    ((path, headers),) = script.requests
    assert (path, headers["authorization"]) == ("/x?token=hidden1", "Bearer hidden2")
    assert "set SLUICE_PASSWORD_VENDOR, SLUICE_CONNECTION_VENDOR" in str(refused.value)
    assert "hidden" not in str(refused.value) + str(follower.told) + repr(follower.source.__dict__)


@pytest.mark.parametrize("url", ["", "https://x.example.org/", "wss://:1"])
def test_a_connection_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("SLUICE_CONNECTION_VENDOR", url)
    with pytest.raises(NotConfiguredError, match=r"SLUICE_CONNECTION_VENDOR.*wss://host/path"):
        WebSocketSource(spec(1, url=None, connection="vendor"))


@pytest.mark.parametrize("secret", ["Bearer hidden\nX: y", "Bearer hiddené"])
def test_a_secret_that_is_no_header_is_refused_without_being_quoted(
    monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("SLUICE_PASSWORD_VENDOR", secret)
    with pytest.raises(NotConfiguredError, match="SLUICE_PASSWORD_VENDOR") as refused:
        WebSocketSource(spec(1, header_variables={"Authorization": "SLUICE_PASSWORD_VENDOR"}))
    assert "hidden" not in str(refused.value)


def test_messages_are_sent_first_where_the_source_wants_them() -> None:
    script = Script(EVENTS[:3])
    with websocket_server(script, messages_first=2) as port:
        follower = bench(spec(port, subscribe=['{"op": "a"}', '{"op": "b"}']))
        follower.follow(until=until(has(follower, 3)))
    assert script.received == ['{"op": "a"}', '{"op": "b"}']


class StuckTopic(InMemoryTopic):
    """Acknowledges nothing until it is released."""

    def __init__(self) -> None:
        super().__init__(patience=10**9)
        self.released = Event()

    def send(self, key: bytes | None, value: bytes, partition: int | None = None) -> StuckAcknowledgement:
        return StuckAcknowledgement(self, super().send(key, value, partition))


class StuckAcknowledgement(InMemoryAcknowledgement):
    def __init__(self, topic: StuckTopic, sent: InMemoryAcknowledgement) -> None:
        self._stuck, self._sent = topic, sent

    def done(self) -> bool:
        return self._stuck.released.is_set() and self._sent.done()

    def wait(self) -> RecordPosition:
        self._stuck.released.wait(30)
        return self._sent.wait()


def test_a_server_is_read_no_faster_than_kafka_acknowledges() -> None:
    large = [f'{{"id": {number}, "time_us": {number}, "text": "{"x" * 20_000}"}}' for number in range(2_000)]
    script = Script(large)
    with websocket_server(script) as port:
        live = spec(port, max_unacknowledged=10)
        follower, topic = bench(live), StuckTopic()
        follower.topic = topic
        following = Thread(target=lambda: follower.follow(until=FollowUntil(seconds=60, idle_seconds=2)), daemon=True)
        following.start()
        seen: list[int] = []

        def stands() -> bool:
            seen.append(script.sent)
            return len(seen) > 50 and seen[-50] == seen[-1] > 0

        eventually(stands)
        assert script.sent < len(large)
        topic.released.set()
        following.join(60)
    assert ids(follower) == list(range(len(large)))
    assert follower.most == 10
