"""Values as their topic declares them, as feeds and other readers in Python take them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.feeds.heartbeat import heartbeat_value
from sluice.feeds.lines import Fields, read_lines
from sluice.specs.model.model import TopicValue
from sluice.topics.declared_time import read_time, write_time
from sluice.topics.declared_value import parse_fields, read_fields
from sluice.topics.json_object import NoObjectError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def value(fields: dict[str, Any], **keys: Any) -> TopicValue:  # noqa: ANN401
    times = {"event_time": "at", "arrival_time": "broker"}
    return TopicValue.model_validate({"fields": fields, **times, **keys})


NESTED = value(
    {
        "at": {"type": "timestamp", "path": "$.meta.at", "epoch": "seconds"},
        "beat": {"type": "boolean", "path": "$['a beat']"},
        "id": {"type": "long", "path": "$.order.id"},
    },
    heartbeat="beat",
)
LOG = value(
    {"at": {"type": "timestamp", "format": "dd/MMM/yyyy:HH:mm:ss Z"}, "host": {"type": "string"}},
    format="text",
    pattern=r"(?<host>\S*) \[(?<at>[^\]]+)\]",
)
CSV = value(
    {"at": {"type": "timestamp", "epoch": "seconds"}, "id": {"type": "long"}},
    format="csv",
    delimiter=";",
    columns=("id", "other", "at"),
)


def test_fields_are_read_at_their_paths() -> None:
    record = b'{"meta": {"at": 1767268800}, "order": {"id": 7}, "id": "another", "x": 1}'
    assert parse_fields(record, NESTED) == {
        "meta": {"at": 1767268800},
        "order": {"id": 7},
        "x": 1,
        "at": 1767268800,
        "id": 7,
    }
    assert read_fields(b'{"order": 5, "id": 1}', NESTED) == {"order": 5}
    assert read_fields(b"[]", NESTED) is None


@pytest.mark.parametrize(
    ("declared", "line", "fields"),
    [
        (LOG, b"h [01/Jan/2026:12:00:00 +0000]\n", {"host": "h", "at": "01/Jan/2026:12:00:00 +0000"}),
        (LOG, b" [x]", {"at": "x"}),
        (LOG, b"no", "it does not match the pattern"),
        (LOG, b"\xff", "byte 1 is not UTF-8"),
        (LOG, None, "it has no value"),
        (CSV, b'"7";;1767268800\r\n', {"id": "7", "at": 1767268800}),
        (CSV, b"7;;soon", {"id": "7", "at": "soon"}),
        (CSV, b"7", "it has 1 columns, and the topic declares 3"),
        (CSV, b'"7', "its quoting is broken"),
    ],
)
def test_lines_have_the_fields_of_their_form(declared: TopicValue, line: bytes | None, fields: object) -> None:
    if isinstance(fields, str):
        with pytest.raises(NoObjectError, match=fields):
            parse_fields(line, declared)
    else:
        assert parse_fields(line, declared) == fields


def test_a_heartbeat_is_written_where_the_paths_lead() -> None:
    written = heartbeat_value(NESTED, NOON)
    assert written == {"a beat": True, "meta": {"at": 1767268800}}
    fields = parse_fields(json.dumps(written).encode(), NESTED)
    assert read_time(fields["at"], NESTED.fields["at"]) == NOON


def test_a_time_of_a_declared_form_is_written_as_it_is_read() -> None:
    field = LOG.fields["at"]
    assert write_time(NOON, field) == "01/Jan/2026:12:00:00 +0000"
    assert read_time("01/Jan/2026:13:00:00 +0100", field) == NOON
    assert read_time("01/Jan/1850:13:00:00 +0100", field) is None
    assert read_time(7, field) is None


def test_a_feed_sends_the_lines_of_a_log() -> None:
    fields = Fields("at", "at", "host", LOG.fields, LOG)
    lines, faults = read_lines([b"h [01/Jan/2026:12:00:00 +0000]", b"no", b"h [soon]"], "log", fields)
    assert [(line.event, line.key) for line in lines] == [(NOON, b"h")]
    assert "it does not match the pattern of the topic: no." in str(faults[0])
    assert "declares its lines" in str(faults[0])
    assert "as 01/Jan/2026:12:00:00 +0000" in str(faults[1])


def test_another_pattern_reads_other_times() -> None:
    other = value({"at": {"type": "timestamp", "zone": "UTC"}}, format="text", pattern="(?<at>.*)")
    assert LOG.times != other.times
    assert LOG.times.endswith("event time at as dd/MMM/yyyy:HH:mm:ss Z, arrival time the broker's")
    assert "csv ; ['id', 'other', 'at']" in CSV.times
    assert "at in seconds since 1970 at $.meta.at" in NESTED.times
