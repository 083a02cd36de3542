"""Server-Sent Events are read as the standard says, in whatever pieces they come."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.feeds.following.event_stream import EventStreamParser, ServerSentEvent, TooLongError


def read(stream: bytes) -> list[ServerSentEvent]:
    return list(EventStreamParser().feed(stream))


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        ("data: a\n\n", [("a", "message", "")]),
        ("data:a\n\ndata:  b\n\n", [("a", "message", ""), (" b", "message", "")]),
        ("data: a\ndata:\ndata: c\n\n", [("a\n\nc", "message", "")]),
        ("data\n\n", [("", "message", "")]),
        ("event: x\n\ndata: a\n\n", [("a", "message", "")]),
        ("event: x\ndata: a\n\n", [("a", "x", "")]),
        ("id: 1\ndata: a\n\ndata: b\n\n", [("a", "message", "1"), ("b", "message", "1")]),
        ("id: 1\n\ndata: b\n\n", [("b", "message", "1")]),
        ("id: 1\ndata: a\n\nid\ndata: b\n\n", [("a", "message", "1"), ("b", "message", "")]),
        ("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", [("a", "message", "1"), ("b", "message", "1")]),
        (": comment\ndata: a\n: more\n\n:\n\n", [("a", "message", "")]),
        ("other: x\ndata: a\n\n", [("a", "message", "")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", [(text, "message", "") for text in "abc"]),
        ("\ufeffdata: a\n\n\ufeffdata: b\n\n", [("a", "message", "")]),
        ("data: a\r\ndata: b\r\n\r\n", [("a\nb", "message", "")]),
        ("data: a", []),
        ("data: a\n", []),
    ],
)
def test_a_stream_is_read_as_the_standard_says(stream: str, events: list[tuple[str, str, str]]) -> None:
    assert [(each.data, each.kind, each.last_id) for each in read(stream.encode())] == events


def test_what_is_not_utf_8_is_replaced_and_stops_nothing() -> None:
    assert [each.data for each in read(b"data: \xff\n\ndata: b\n\n")] == ["\ufffd", "b"]


@pytest.mark.parametrize(("text", "wait"), [("retry: 1500", 1500), ("retry: 15s", None), ("retry:", None)])
def test_the_server_says_how_long_to_wait(text: str, wait: int | None) -> None:
    parser = EventStreamParser()
    assert list(parser.feed(f"{text}\n\n".encode())) == []
    assert parser.retry_milliseconds == wait


def test_the_id_of_the_connection_before_holds_until_there_is_another() -> None:
    parser = EventStreamParser("7")
    assert [each.last_id for each in parser.feed(b"data: a\n\nid: 8\ndata: b\n\n")] == ["7", "8"]


def test_an_event_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    parser, line = EventStreamParser(), b"data: " + b"x" * 1_000_000 + b"\n"
    for _ in range(16):
        assert list(parser.feed(line)) == []
    with pytest.raises(TooLongError):
        list(parser.feed(line))


_FIELDS = ["data: a", "data", "data:ü", "id: 1", "id", "id: \0", "event: x", ":", "retry: 5", "\ufeff"]
_ENDS = ["\n", "\r", "\r\n"]


_lines = st.tuples(st.sampled_from([*_FIELDS, ""]), st.sampled_from(_ENDS)).map("".join)


@given(st.lists(_lines, max_size=30).map("".join), st.lists(st.integers(0, 200), max_size=8))
@example("data: a\r\ndata: b\r\n\r\n", [])
def test_however_the_bytes_are_cut_the_events_are_the_same(text: str, cuts: list[int]) -> None:
    stream = text.encode()
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    parser = EventStreamParser()
    pieces = [stream[first:last] for first, last in pairwise(places)]
    whole = read(stream)
    assert [event for piece in pieces for event in parser.feed(piece)] == whole
    single = EventStreamParser()
    assert [event for number in stream for event in single.feed(bytes([number]))] == whole


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), min_size=1))
def test_whatever_is_written_is_read(lines: list[str]) -> None:
    stream = "".join(f"data: {line}\n" for line in lines) + "\n"
    assert [each.data for each in read(stream.encode())] == ["\n".join(lines)]
