"""What an event says of itself, what is remembered of it, and from where the topic is read again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError
from sluice.feeds.following.line_splitter import LineSplitter
from sluice.feeds.following.manifest import FollowManifest
from sluice.feeds.following.ports import ReceivedEvent
from sluice.feeds.following.recognition import ByContent, ByIdentity, StoredEvent
from sluice.feeds.following.replay_window import ReplayWindow
from sluice.feeds.following.rules import EventRules
from sluice.specs.feeds.live import SseSpec, WebSocketSpec
from sluice.topics.records import RecordPosition
from tests.twins.clock import START
from tests.twins.feeds.live_source import FIRST, micros
from tests.unit.feeds.following.follow_bench import CURSOR, PASSING, REPLAYING, folder_spec

NOW = START
SECOND = timedelta(seconds=1)


def rules(**keys: object) -> EventRules:
    said = {"url": "wss://x.example.org/", "cursor": CURSOR, "identity": "$.id", **keys}
    return EventRules.of(WebSocketSpec.model_validate(said))


def test_cursors_mean_the_same_only_if_they_are_written_alike() -> None:
    sequence = rules(cursor={"path": "$.time_us", "parameter": "since"})
    sse = SseSpec.model_validate(
        {"url": "https://x.example.org/", "cursor": {"header": "Last-Event-ID"}, "identity": "$.id"}
    )
    live = (REPLAYING, PASSING, folder_spec(), sse)
    meanings = [*(EventRules.of(each).meaning for each in live), sequence.meaning]
    assert len(set(meanings)) == 5
    assert rules(url="wss://another.example.org/?wanted=x").meaning == EventRules.of(REPLAYING).meaning


@pytest.mark.parametrize(
    ("epoch", "cursor", "asked"),
    [
        ("microseconds", 1_700_000_000_000_000, 1_699_999_995_000_000),
        ("milliseconds", 1_700_000_000_000, 1_699_999_995_000),
        ("seconds", 1_700_000_000, 1_699_999_995),
        ("seconds", 3, 0),
        (None, 17, 17),
        (None, "abc", "abc"),
        ("seconds", None, None),
    ],
)
def test_a_cursor_that_is_a_time_is_asked_from_the_overlap_before_it(
    epoch: str | None, cursor: int | str | None, asked: int | str | None
) -> None:
    assert rules(cursor={**CURSOR, "epoch": epoch}).asked(cursor) == asked


@pytest.mark.parametrize("written", ["true", "null", "1.5", '"soon"', "[1]", "-99999999999999999999", "10e400"])
def test_what_is_no_time_is_no_cursor(written: str) -> None:
    event = rules().read(ReceivedEvent(f'{{"id": 1, "time_us": {written}}}'.encode()), NOW)
    assert (event.cursor, event.at) == (None, NOW)


def test_an_identity_of_several_parts_needs_one_of_them() -> None:
    several = rules(identity=["$.commit.rev", "$.identity.seq"])
    values = [b'{"commit": {"rev": "1"}}', b'{"identity": {"seq": "1"}}', b'{"identity": {"seq": 1}}']
    found = [several.read(ReceivedEvent(value), NOW).identity for value in values]
    assert None not in found
    assert len(set(found)) == 3
    assert several.read(ReceivedEvent(b'{"commit": {"rev": null}}'), NOW).identity is None
    assert several.read(ReceivedEvent(b'{"x": 1, "commit": {"rev": "1"}}'), NOW).identity == found[0]


@pytest.mark.parametrize(
    ("value", "key"), [(b'{"who": "a"}', b"a"), (b'{"who": 7}', b"7"), (b'{"who": null}', None), (b"x", None)]
)
def test_the_key_is_what_is_at_its_path(value: bytes, key: bytes | None) -> None:
    assert EventRules.of(REPLAYING).read(ReceivedEvent(value), NOW).key == key


def test_an_event_is_forgotten_when_it_cannot_come_again() -> None:
    known = ByIdentity()
    for number in range(10):
        known.sent(str(number), FIRST + number * SECOND)
    known.forget(FIRST + 5 * SECOND)
    assert [known.take(str(number)) is not None for number in range(10)] == [False] * 5 + [True] * 5


def test_a_line_stands_for_one_record_however_many_are_alike() -> None:
    known = ByContent()
    for _ in range(2):
        known.found("a", StoredEvent(FIRST, counted=False))
    known.sent("a", FIRST)
    assert [known.take("a") is not None for _ in range(3)] == [True, True, False]
    assert not known.pending


@given(
    steps=st.lists(st.integers(0, 5_000), min_size=1, max_size=60),
    overlap=st.integers(0, 20_000).map(lambda count: timedelta(milliseconds=count)),
)
def test_every_event_that_may_come_again_lies_beyond_the_offset_that_is_remembered(
    steps: list[int], overlap: timedelta
) -> None:
    window, at, times = ReplayWindow(overlap, {0: 0}), FIRST, []
    for offset, step in enumerate(steps):
        at += timedelta(milliseconds=step)
        times.append(at)
        window.mark(at, {0: offset + 1})
        needed = next(n for n, each in enumerate(times) if each >= at - overlap)
        assert window.offsets[0] <= needed
    assert len(window._marks) <= 25


def test_what_is_long_past_is_not_read_again() -> None:
    window = ReplayWindow(5 * SECOND, {0: 0})
    for number in range(100):
        window.mark(FIRST + number * SECOND, {0: number})
    assert window.offsets[0] >= 90


@given(st.lists(st.binary(max_size=6), max_size=8), st.binary(max_size=3))
def test_lines_are_the_same_however_the_bytes_are_cut(pieces: list[bytes], rest: bytes) -> None:
    whole = b"".join(pieces) + b"\n"
    splitter = LineSplitter()
    lines = [line for piece in (*pieces, b"\n") for line in splitter.feed(piece)]
    assert lines == [line for each in whole.split(b"\n") if (line := each.removesuffix(b"\r"))]
    splitter.feed(rest.replace(b"\n", b""))
    assert splitter.unfinished == len(rest.replace(b"\n", b""))


def test_bytes_without_a_line_end_are_refused_before_they_fill_the_memory() -> None:
    splitter = LineSplitter()
    for _ in range(16):
        assert splitter.feed(b"x" * 1_000_000) == []
    with pytest.raises(RefusedError, match="without a line end"):
        splitter.feed(b"x" * 1_000_000)


def test_the_cursor_of_a_time_is_kept_as_it_was_written() -> None:
    at = micros(FIRST)
    event = rules().read(ReceivedEvent(f'{{"id": 1, "time_us": {at}}}'.encode()), NOW)
    assert (event.cursor, event.at) == (at, FIRST)


def test_records_that_are_found_in_another_order_take_no_offset_back() -> None:
    manifest = FollowManifest(feed="f", topic="t", topic_id="x", cursor_of="c", started_at=NOW)
    event = rules().read(ReceivedEvent(b'{"id": 1}'), NOW)
    for offset in (5, 3):
        manifest.settle(event, "found", RecordPosition(0, offset), ordered=True)
    assert (manifest.known_offsets, manifest.records) == ({0: 6}, 2)
