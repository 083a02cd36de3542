from __future__ import annotations

import pytest

from sluice.cli.topics.send import keys_of, send_lines
from sluice.errors import SpecError
from sluice.topics.records import RecordTooLargeError
from tests.twins.feed_topic import InMemoryTopic


def test_a_key_is_the_text_of_a_field_or_its_json() -> None:
    lines = [b'{"id":"a","n":1}', b'{"id":"\xc3\xa9","n":null}']
    assert keys_of(lines, "id") == [b"a", "é".encode()]
    assert keys_of(lines, "n") == [b"1", b"null"]
    assert keys_of(lines, "") == [None, None]


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b"7", b"\xff"])
def test_a_line_without_the_field_is_named_by_its_place_in_the_file(line: bytes) -> None:
    with pytest.raises(SpecError, match="line 12 has no field 'id'"):
        keys_of([b'{"id":1}', line], "id", skip=10)


def test_a_line_that_the_topic_does_not_take_ends_it_with_what_was_acknowledged() -> None:
    topic, told = InMemoryTopic(partitions=1), list[int]()
    topic.largest = 5
    lines = [*[b"short"] * 1_200, b"longer"]
    with pytest.raises(RecordTooLargeError, match=r"1,000 of 1,201 lines .* Fix: make that line .* --skip 1003"):
        send_lines(topic, lines, [None] * 1_201, skip=3, report=told.append)
    assert told == [1_000]
    send_lines(topic, lines[:-1], [None] * 1_200, skip=0, report=told.append)
    assert told == [1_000, 1_000, 1_200]
