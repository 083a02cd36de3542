from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from sluice.cli.views.record_view import as_dict, as_line
from sluice.topics.records import Record

AT = datetime(2013, 1, 7, 12, 0, 0, 5_000, tzinfo=UTC)


def record(value: bytes | None, **changes: object) -> Record:
    fields = {"partition": 3, "offset": 42, "at": AT, "appended": False, "key": b"k", "value": value, "headers": ()}
    return Record(**(fields | changes))  # type: ignore[arg-type]


def test_a_line_has_time_place_key_headers_and_value() -> None:
    headers = (("trace", b"\xff1"), ("empty", b""), ("none", None))
    line = as_line(record(b'{"id": 1}', headers=headers), None).plain
    assert line == r'2013-01-07T12:00:00.005Z  3/42  k  [trace=\xff1]  [empty=]  [none]  {"id": 1}'


def test_tombstones_and_records_without_key_or_time_are_marked() -> None:
    assert as_line(record(None), None).plain == "2013-01-07T12:00:00.005Z  3/42  k  (tombstone)"
    bare = as_line(record(b"v", key=None, at=None), None).plain
    assert bare.split() == ["no", "time", "3/42", "v"]
    assert bare.index("3/42") == as_line(record(b"v"), None).plain.index("3/42")


def test_nothing_of_a_record_commands_the_terminal() -> None:
    evil = "\x1b[2J[bold]:smile:\r\n\u202e"
    line = as_line(record(evil.encode(), key=evil.encode(), headers=((evil, evil.encode()),)), None).plain
    assert line.isprintable()
    assert line.count(r"\x1b[2J[bold]:smile:\r\n\u202e") == 4


def test_each_part_is_cut() -> None:
    line = as_line(record(b"v" * 9, key=b"k" * 9, headers=(("h", b"w" * 9),)), 2).plain
    assert line.endswith("kk… (9 bytes)  [h=ww… (9 bytes)]  vv… (9 bytes)")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("größe\x1b".encode(), {"value": "größe\x1b"}),
        (b"\xff\x00", {"value_base64": "/wA="}),
        (None, {"value": None}),
        (b"", {"value": ""}),
    ],
)
def test_programs_get_all_bytes(value: bytes | None, expected: dict[str, str]) -> None:
    found = as_dict("t", record(value), None)
    assert {name: found[name] for name in found if name.startswith("value")} == expected
    assert json.dumps(found).isascii()


def test_a_json_object_names_everything() -> None:
    assert as_dict("t", record(b"{}", headers=(("h", b"\xff"), ("h", None)), appended=True), None) == {
        "topic": "t",
        "partition": 3,
        "offset": 42,
        "timestamp": "2013-01-07T12:00:00.005Z",
        "timestamp_by": "broker",
        "key": "k",
        "value": "{}",
        "headers": [{"name": "h", "value_base64": "/w=="}, {"name": "h", "value": None}],
    }


def test_a_cut_value_says_how_long_it_is() -> None:
    found = as_dict("t", record("aé".encode() * 3), 2)
    assert (found["value"], found["value_bytes"]) == ("a", 9)
    found = as_dict("t", record(b"\xff" * 9), 3)
    assert (found["value_base64"], found["value_bytes"]) == ("////", 9)
