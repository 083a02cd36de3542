"""Lines that a proof makes have the columns, or match the pattern, and hold what their fields allow."""

from __future__ import annotations

import base64
import csv
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.proof.generation.line_parts import avoidable, count_of, names_in, parts_of, text_of
from sluice.proof.generation.unmade import obstacles_in
from sluice.specs.model.model import TopicValue
from sluice.values.line_pattern import line_pattern
from tests.unit.proof.generation.made_topics import EVERY, LATENESS, SKEW, broken_of, generator_of, topic_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CSV_FIELDS: dict[str, Any] = {
    "at": {"type": "timestamp", "required": True, "format": "dd/MM/yyyy HH:mm:ss", "zone": "+01:00"},
    "seen": {"type": "timestamp", "required": True, "epoch": "milliseconds"},
    "n": {"type": "integer", "required": True, "minimum": -2, "maximum": 40},
    "share": {"type": "double", "minimum": 0, "maximum": 1},
    "cost": {"type": "decimal", "precision": 5, "scale": 2, "required": True},
    "day": {"type": "date"},
    "raw": {"type": "binary"},
    "ok": {"type": "boolean"},
    "note": {"type": "string", "one_of": ["a;b", 'say "x"', "ü"], "required": True},
}
COLUMNS = ("note", "spare", "at", "seen", "n", "share", "cost", "day", "raw", "ok")
LOG = r'(?<at>[^ ]+) \[(?<level>INFO|WARN)\] (?<host>[a-z]+)(?: took (?<ms>\d{4}))? (?<size>\d+|-) "(?<text>[^"]*)"'
LOG_FIELDS: dict[str, Any] = {
    "at": {"type": "timestamp", "required": True},
    "level": {"type": "string", "required": True},
    "host": {"type": "string", "required": True},
    "ms": {"type": "long"},
    "size": {"type": "long", "required": True, "minimum": 7},
    "text": {"type": "string"},
}
TIMES = {"event_time": "at", "arrival_time": "at"}
_SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def csv_value(**more: Any) -> TopicValue:  # noqa: ANN401 - of a topic's value
    said = {"format": "csv", "event_time": "at", "arrival_time": "seen", "fields": CSV_FIELDS}
    return TopicValue.model_validate({**said, "delimiter": ";", "columns": COLUMNS, **more})


def judged_columns(line: str) -> str:  # noqa: PLR0911 - one for each reason
    """Return what must become of a line."""
    if line.count('"') % 2:
        return "malformed"
    (parts,) = csv.reader([line], delimiter=";", strict=True)
    if len(parts) != len(COLUMNS):
        return "malformed"
    found = dict(zip(COLUMNS, parts, strict=True))
    if not found["at"]:
        return "missing_field"
    try:
        event = datetime.strptime(f"{found['at']} +0100", "%d/%m/%Y %H:%M:%S %z")
    except ValueError:
        return "wrong_type"
    arrival = datetime.fromtimestamp(int(found["seen"]) / 1000, UTC)
    assert 0 <= float(found["share"] or 0) <= 1
    assert abs(Decimal(found["cost"])) < 1000
    assert len(found["cost"].partition(".")[2]) == 2
    assert found["ok"] in ("true", "false", "")
    assert base64.b64decode(found["raw"], validate=True).startswith(b"raw-") or not found["raw"]
    assert not found["day"] or date.fromisoformat(found["day"]).year == 2026
    if event.year >= 2200 or not -2 <= int(found["n"]) <= 40:
        return "out_of_range"
    if found["note"] not in CSV_FIELDS["note"]["one_of"]:
        return "not_allowed"
    if event - arrival > SKEW:
        return "future"
    return "late" if arrival - event > LATENESS else "good"


@pytest.mark.parametrize("is_live", [False, True])
def test_columns_are_as_declared_and_broken_lines_are_what_was_meant(*, is_live: bool) -> None:
    topic = topic_of(csv_value())
    assert list(obstacles_in(topic, is_live=is_live)) == []
    made = generator_of(topic, **({"now": lambda: NOW} if is_live else {}))
    records, broken = [made.record(number) for number in range(3 * EVERY)], broken_of(made)
    assert len({record.value for record in records}) == len(records)
    for record in (*records, *broken):
        assert judged_columns(record.value.decode()) == (record.reason or record.fate.value), record
    assert {record.reason for record in broken} == {
        *("malformed", "missing_field", "wrong_type", "out_of_range", "future", "not_allowed"),
    }


def test_lines_of_the_same_moment_that_nothing_tells_apart_are_an_obstacle() -> None:
    topic = topic_of(csv_value(columns=[name for name in COLUMNS if name != "spare"]))
    assert list(obstacles_in(topic)) == []
    ((reason, fix),) = obstacles_in(topic, is_live=True)
    assert reason == "the topic things has no field that tells two records of the same moment apart."
    assert "add a required text or number" in fix


def test_lines_match_their_pattern() -> None:
    value = TopicValue.model_validate(
        {"format": "text", "pattern": LOG, "event_time": "at", "arrival_time": "broker", "fields": LOG_FIELDS}
    )
    topic = topic_of(value)
    assert list(obstacles_in(topic, is_live=True)) == []
    made = generator_of(topic, now=lambda: NOW)
    pattern = re.compile(LOG.replace("(?<", "(?P<"), re.ASCII)
    matches = [pattern.fullmatch(made.value(number).decode()) for number in range(200)]
    assert all(match is not None for match in matches)
    found = [match.groupdict() for match in matches if match is not None]
    assert {each["level"] for each in found} == {"INFO", "WARN"} or {each["level"] for each in found} == {"INFO"}
    assert {each["ms"] is None for each in found} == {True, False}
    assert min(int(each["size"]) for each in found) == 7
    assert len({each["host"] for each in found} | {each["text"] for each in found}) >= 200  # one holds the number
    reasons = {record.reason: record.value for record in broken_of(made)}
    assert reasons.keys() == {"malformed", "out_of_range", "future"}
    assert pattern.fullmatch(reasons["malformed"].decode()) is None


def test_a_group_that_takes_no_text_of_its_field_is_an_obstacle() -> None:
    fields = {"at": LOG_FIELDS["at"], "n": {"type": "long", "required": True}}
    value = TopicValue.model_validate(
        {"format": "text", **TIMES, "fields": fields, "pattern": "(?<at>[^ ]+) (?<n>[a-z]+)"}
    )
    ((reason, _),) = obstacles_in(topic_of(value))
    assert reason == "the field n of things is 0, and the group of the pattern matches no text of it."


def test_a_pattern_that_cuts_a_line_elsewhere_is_an_obstacle() -> None:
    fields = {"at": LOG_FIELDS["at"], "n": {"type": "long", "required": True}}
    pattern = r"(?<at>[^ ]+) (?<before>\w+)(?<n>\d+)"  # the first takes all digits but one
    value = TopicValue.model_validate({"format": "text", **TIMES, "fields": fields, "pattern": pattern})
    ((reason, _),) = obstacles_in(topic_of(value))
    assert "no line was found that its pattern reads as" in reason


def patterns() -> st.SearchStrategy[str]:
    """Patterns of what Java and Python read alike."""
    one = st.sampled_from(["a", "\\d", "\\S", ".", "[a-c]", "[^x]", "\\.", "-", "\\w", " "])
    times = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "+?"])
    piece = st.builds(lambda part, count: part + count, one, times)
    joined = st.lists(piece, min_size=1, max_size=4).map("".join)
    # Without a count inside of another: where nothing matches, such a pattern takes for ever to say so.
    ways = st.lists(st.lists(one, min_size=1, max_size=3).map("".join), min_size=1, max_size=3)
    grouped = st.builds(lambda each, count: f"(?:{'|'.join(each)}){count}", ways, times)
    return st.lists(joined | grouped, min_size=1, max_size=4).map("".join)


@_SLOW
@given(patterns())
def test_texts_of_a_pattern_match_it_and_differ(pattern: str) -> None:
    compiled = line_pattern(f"(?<it>{pattern})").compiled
    group = parts_of(pattern)
    count = count_of(group)
    texts = [text_of(group, number) for number in range(min(count, 50))]
    assert all(compiled.fullmatch(text) for text in texts)
    assert len(set(texts)) == len(texts) or "?" in pattern or "*" in pattern or "{1,3}" in pattern or "+" in pattern


def test_what_a_line_can_be_without_is_known() -> None:
    parts = parts_of(LOG)
    assert names_in(parts) == set(LOG_FIELDS)
    assert [name for name in LOG_FIELDS if avoidable(parts, name)] == ["ms"]
    either = parts_of("(?<a>x)|(?<b>y)z*")
    assert [avoidable(either, name) for name in "ab"] == [True, True]
