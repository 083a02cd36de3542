"""What is refused of a field or a format of lines, at its line and with words that say what to write."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sluice.specs.model.fields import FieldType, ValueField
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import StaticInput
from sluice.static.columns import ARROW
from tests.unit.specs.bench import TOPIC_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

ID = "id: {type: long, required: true, minimum: 0}"
AT = "value.fields.id"


@pytest.mark.parametrize(
    "case",
    [
        (ID, "id: {type: decimal}", 8, AT, "a decimal needs `precision`"),
        (ID, "id: {type: decimal, precision: 39}", 8, f"{AT}.precision", "it must be at most 38"),
        (ID, "id: {type: decimal, precision: 2, scale: 3}", 8, f"{AT}.scale", "3 digits after the point are more"),
        (ID, "id: {type: long, precision: 2}", 8, f"{AT}.precision", "only a decimal has precision"),
        (ID, "id: {type: object}", 8, AT, "an object needs `fields`"),
        (ID, "id: {type: array}", 8, AT, "an array needs `items`"),
        (ID, "id: {type: map}", 8, AT, "a map needs `values`"),
        (ID, "id: {type: object, fields: {}}", 8, f"{AT}.fields", "it needs at least one entry"),
        (ID, "id: {type: long, items: {type: long}}", 8, f"{AT}.items", "only an array has items"),
        (ID, "id: {type: array, items: {type: long, path: $.a}}", 8, f"{AT}.items", "an entry has no path"),
        (ID, "id: {type: array, items: {type: lnog}}", 8, f"{AT}.items.type", "did you mean 'long'?"),
        (ID, "id: {type: object, fields: {a: {typ: long}}}", 8, f"{AT}.fields.a.typ", "did you mean 'type'?"),
        (ID, "id: {type: date, minimum: 1}", 8, f"{AT}.minimum", "only a number has a minimum"),
        (ID, "id: {type: long, path: user.id}", 8, f"{AT}.path", "a path begins at the record, with $: $.user.id"),
        (ID, "id: {type: long, path: '$.user[*]'}", 8, f"{AT}.path", "is no step of a path"),
        (ID, "id: {type: long, path: $}", 8, f"{AT}.path", "a path has 1 to 20 keys"),
        (ID, "id: {type: timestamp, format: yyyy-MM-dd}", 8, f"{AT}.format", "the text names no zone"),
        (ID, "id: {type: timestamp, format: yyyy-MM, zone: UTC}", 8, f"{AT}.format", "it needs the year"),
        (ID, "id: {type: date, format: yyyy-MM-dd HH}", 8, f"{AT}.format", "a date has no time of day"),
        (ID, "id: {type: long, format: yyyy-MM-dd}", 8, f"{AT}.format", "only a date or a timestamp has format"),
        (ID, "id: {type: timestamp, epoch: seconds, format: dd}", 8, f"{AT}.format", "keep one"),
        (
            *(ID, "id: {type: timestamp, zone: UTC, format: 'yyyy-MM-dd HH:mm Z'}", 8, f"{AT}.format"),
            "the text names its zone, and `zone` another",
        ),
        ("  event_time", "  pattern: '(?<id>a)'\n  event_time", 13, "value.pattern", "only of `format: text`"),
        ("  event_time", "  columns: [id]\n  event_time", 13, "value.columns", "only of `format: csv`"),
        ("  fields:", "  format: avro\n  version: 1\n  fields:", 9, "value.fields", "in Avro the schema says how 'id'"),
    ],
    ids=words,
)
def test_a_wrong_field_is_refused_at_its_line(bench: Bench, case: Case) -> None:
    if "avro" in case[1]:
        inside = "items: {type: date, format: dd.MM.yyyy}"
        bench.edit(TOPIC_FILE, ID, f"id: {{type: array, required: true, {inside}}}")
    assert_one_fault(bench, TOPIC_FILE, case)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"format": "text"}, "write `pattern` with a group for each field"),
        ({"format": "text", "pattern": "(a)"}, "it has no named group"),
        ({"format": "text", "pattern": "(?<other>a)"}, "the field 'at' is no group of `pattern`; there are other"),
        ({"format": "text", "pattern": "(?<at>a)(?<b>c)", "heartbeat": "b"}, "a heartbeat is a JSON object"),
        ({"format": "csv", "columns": ["id"]}, "the field 'at' is no one of `columns`; there are id"),
        ({"format": "csv", "columns": ["at", "at"]}, "a column is in it twice"),
        ({"format": "csv", "delimiter": ";;"}, "a delimiter is one character"),
        ({"format": "csv", "delimiter": '"'}, "a delimiter is one character"),
        ({"format": "csv", "version": 1}, "a line of text is read without a schema"),
        ({"format": "csv", "framing": "confluent", "schemas": {1: 1}}, "lines of text have no frames"),
        ({"format": "csv", "fields": {"at": {"type": "timestamp", "path": "$.a"}}}, "has nothing inside its fields"),
        ({"format": "csv", "pattern": "(?<at>a)"}, "only of `format: text`"),
        ({"event_id": ["o"]}, "the field 'o' has fields inside"),
    ],
)
def test_lines_of_text_are_declared_in_full(keys: dict[str, Any], said: str) -> None:
    fields: dict[str, Any] = {"at": {"type": "timestamp"}}
    if "event_id" in keys:
        fields["o"] = {"type": "map", "values": {"type": "long"}, "required": True}
    if "heartbeat" in keys:
        fields["b"] = {"type": "boolean"}
    with pytest.raises(ValidationError) as error:
        TopicValue.model_validate({"fields": fields, "event_time": "at", "arrival_time": "broker", **keys})
    assert said in str(error.value)


@pytest.mark.parametrize("kind", FieldType)
def test_the_columns_of_static_inputs_are_of_the_types_that_their_readers_have(kind: FieldType) -> None:
    declared = {"path": "a.csv", "columns": {"a": kind}}
    if kind in ARROW and kind is not FieldType.BINARY:  # which the content of `bytes` alone is
        assert StaticInput.model_validate(declared).column_types == {"a": kind}
        return
    instead = {FieldType.INTEGER: FieldType.LONG, FieldType.DECIMAL: FieldType.DOUBLE}.get(kind, FieldType.STRING)
    with pytest.raises(ValidationError, match=f"a column of a static input is no {kind}; declare 'a' a {instead}"):
        StaticInput.model_validate(declared)


def test_a_field_is_not_nested_without_end() -> None:
    said: dict[str, Any] = {"type": "long"}
    for _ in range(20):
        said = {"type": "array", "items": said}
    with pytest.raises(ValidationError, match="nested more than 20 deep"):
        ValueField.model_validate(said)


def test_what_uses_nothing_new_is_written_as_before() -> None:
    field = {"type": "timestamp", "required": True}
    written = TopicValue.model_validate({"fields": {"at": field}, "event_time": "at", "arrival_time": "broker"})
    dumped = written.model_dump(mode="json")
    before = {"type", "required", "minimum", "maximum", "one_of", "epoch", "zone"}
    assert set(dumped["fields"]["at"]) == before
    assert not {"pattern", "delimiter", "columns"} & set(dumped)


def test_the_types_of_nested_fields_are_said_in_words() -> None:
    said = {
        "type": "array",
        "items": {"type": "object", "fields": {"a": {"type": "decimal", "precision": 5}, "b": {"type": "date"}}},
    }
    assert ValueField.model_validate(said).words == "array<object<a:decimal(5,0),b:date>>"
