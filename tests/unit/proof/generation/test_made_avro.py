"""Avro that a proof makes is read by a reader that is written from the specification, and keeps every rule."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.generation.unmade import obstacles_in
from sluice.specs.model.model import TopicValue
from tests.avro_oracle import BrokenError, Reading
from tests.unit.proof.generation.made_topics import (
    BEGIN,
    EVERY,
    LATENESS,
    SKEW,
    STEP,
    broken_of,
    generator_of,
    topic_of,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLIS, MICROS = ({"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros"))
DECIMAL = {"logicalType": "decimal", "precision": 9, "scale": 2}
_Pair = tuple[Any, dict[str, Any]]
"""A type of Avro, and what a spec declares of it."""
TIMES = {"event_time": "at", "arrival_time": "at"}
_SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def flat() -> st.SearchStrategy[_Pair]:
    """Types without parts."""
    pairs: list[_Pair] = [
        *(("int", {"type": "integer", "maximum": 7}), ("int", {"type": "long"}), ("long", {"type": "long"})),
        *(("int", {"type": "double"}), ("float", {"type": "double", "maximum": 0.1}), ("double", {"type": "double"})),
        *(("long", {"type": "decimal", "precision": 5, "scale": 2}), ("boolean", {"type": "boolean"})),
        *(("string", {"type": "string"}), ("string", {"type": "string", "one_of": ["x", "y"]})),
        *((MILLIS, {"type": "timestamp"}), (MICROS, {"type": "timestamp"})),
        ({"type": "int", "logicalType": "date"}, {"type": "date"}),
        ({"type": "bytes", **DECIMAL}, {"type": "decimal", "precision": 12, "scale": 4, "minimum": -2}),
        ({"type": "bytes", **DECIMAL}, {"type": "decimal", "precision": 3, "scale": 1}),
        *(("bytes", {"type": "binary"}),),
    ]
    return st.sampled_from(pairs)


def with_parts(inner: st.SearchStrategy[_Pair]) -> st.SearchStrategy[_Pair]:
    """Lists and maps."""
    return st.one_of(
        inner.map(lambda pair: ({"type": "array", "items": pair[0]}, {"type": "array", "items": pair[1]})),
        inner.map(lambda pair: ({"type": "map", "values": pair[0]}, {"type": "map", "values": pair[1]})),
    )


@st.composite
def schemas(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema, and the fields of a spec that reads it: some records, enums and fixed bytes, and much undeclared."""
    names = iter(f"N{number}" for number in range(1_000))

    def record(depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
        own, said = [], {}
        for key in draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=1)):
            kind, declared = one(depth)
            nullable = draw(st.booleans())
            own.append({"name": key, "type": ["null", kind] if nullable else kind})
            if draw(st.booleans()):
                said[key] = {**declared, "required": draw(st.booleans()) and not nullable}
        return {"type": "record", "name": next(names), "fields": own}, said

    def one(depth: int) -> _Pair:
        dice = draw(st.integers(0, 9))
        if dice == 0:
            return {"type": "enum", "name": next(names), "symbols": ["P", "Q", "R"]}, {
                "type": "string",
                **draw(st.sampled_from([{}, {"one_of": ["Q", "R", "S"]}])),
            }
        if dice == 1:
            return {"type": "fixed", "name": next(names), "size": draw(st.integers(0, 9))}, {"type": "binary"}
        if dice == 2:
            fixed = {"type": "fixed", "name": next(names), "size": 4, **DECIMAL}
            return fixed, {"type": "decimal", "precision": 12, "scale": 2}
        if dice <= 4 and depth:
            kind, said = record(depth - 1)
            return kind, {"type": "object", "fields": said or {"nothing": {"type": "string"}}}
        return draw(st.recursive(flat(), with_parts, max_leaves=3))

    top, said = record(2)
    again = {"type": "record", "name": "Again", "fields": [{"name": "next", "type": ["null", "Again"]}]}
    more = [{"name": "at", "type": MILLIS}, {"name": "seen", "type": ["null", MICROS]}, {"name": "un", "type": again}]
    times = {"at": {"type": "timestamp", "required": True}, "seen": {"type": "timestamp"}}
    return {**top, "fields": [*top["fields"], *more]}, {**times, **said}


@_SLOW
@given(schemas(), st.sampled_from(["none", "confluent"]))
def test_records_keep_every_rule_of_their_fields(made_of: tuple[dict[str, Any], dict[str, Any]], framing: str) -> None:
    schema, fields = made_of
    under: dict[str, Any] = {"version": 1} if framing == "none" else {"framing": framing, "schemas": {7: 1, 70000: 1}}
    value = TopicValue.model_validate(
        {"format": "avro", "event_time": "at", "arrival_time": "seen", "fields": fields, **under}
    ).model_copy(update={"written": {1: json.dumps(schema)}})
    topic = topic_of(value)
    assert list(obstacles_in(topic)) == []
    made = generator_of(topic)
    records = [made.record(number) for number in range(2 * EVERY)]
    assert len({record.value for record in records}) == len(records)
    for record in (*records, *broken_of(made)):
        assert judged(record.value, value, schema) == (record.reason or record.fate.value), record


def judged(data: bytes, value: TopicValue, schema: dict[str, Any]) -> str:  # noqa: PLR0911 - one for each reason
    """Return what must become of a record."""
    if value.framing == "confluent":
        if data[:1] != b"\x00" or len(data) < 5:
            return "bad_framing"
        if int.from_bytes(data[1:5], "big") not in value.schemas:
            return "unknown_schema"
        data = data[5:]
    reading = Reading(data)
    try:
        found = reading.value(schema)
    except (BrokenError, ValueError):
        return "malformed"
    if reading.place < len(data):
        return "trailing_bytes"
    said = {name: field.model_dump(exclude_none=True) for name, field in value.fields.items()}
    if found["at"] is None or found["seen"] is None:
        return "missing_field"
    event, arrival = EPOCH + timedelta(milliseconds=found["at"]), EPOCH + timedelta(microseconds=found["seen"])
    if fault := fault_in(found, schema, {"type": "object", "fields": said}):
        return fault
    if event.year >= 2200:
        return "out_of_range"
    if event - arrival > SKEW:
        return "future"
    return "late" if arrival - event > LATENESS else "good"


def fault_in(found: Any, schema: Any, said: dict[str, Any]) -> str:  # noqa: ANN401, C901, PLR0911 - one case per type
    """Return the reason for which a value is refused; empty if it keeps its rules."""
    if isinstance(schema, list):
        schema = schema[1]
    if found is None:
        return "missing_field" if said.get("required") else ""
    kind = schema["type"] if isinstance(schema, dict) else schema
    match said["type"]:
        case "object":
            own = {each["name"]: each["type"] for each in schema["fields"]}
            parts = [(found.get(key), own.get(key), inner) for key, inner in said["fields"].items()]
            return next((fault for part in parts if (fault := fault_in(*part))), "")
        case "array" | "map":
            inner, key = (schema["items"], "items") if kind == "array" else (schema["values"], "values")
            return next((fault for each in found if (fault := fault_in(each, inner, said[key]))), "")
        case "decimal":
            scale = schema["scale"] if isinstance(schema, dict) else 0
            number = Decimal(int.from_bytes(found, "big", signed=True) if isinstance(found, bytes) else found)
            number = number.scaleb(-scale)
            kept = round(number, said.get("scale", 0)) == number
            if not kept or abs(number) >= 10 ** (said["precision"] - said.get("scale", 0)):
                return "wrong_type"
            assert not isinstance(schema, dict) or abs(number) < 10 ** (schema["precision"] - schema["scale"])
            return "out_of_range" if number < said.get("minimum", number) else ""
        case "integer" if not -(2**31) <= found < 2**31:
            return "wrong_type"
        case "date":
            return "" if date(2020, 1, 1) < EPOCH.date() + timedelta(days=found) < date(2030, 1, 1) else "wrong_type"
        case "long" | "integer" | "double":
            return "out_of_range" if not said.get("minimum", found) <= found <= said.get("maximum", found) else ""
        case "string":
            return "not_allowed" if found not in said.get("one_of", [found]) else ""
    return ""


def test_the_ways_to_break_avro_are_used_and_a_null_is_one_of_them() -> None:
    fields = [
        *({"name": "at", "type": ["null", MILLIS]}, {"name": "seen", "type": MILLIS}),
        *({"name": "n", "type": "int"}, {"name": "s", "type": "string"}),
    ]
    schema = {"type": "record", "name": "R", "fields": fields}
    said = {
        "at": {"type": "timestamp"},
        "seen": {"type": "timestamp", "required": True},
        "n": {"type": "integer", "required": True, "maximum": 9},
        "s": {"type": "string", "one_of": ["a"]},
    }
    value = TopicValue.model_validate(
        {"format": "avro", "event_time": "at", "arrival_time": "seen", "fields": said, "version": 1}
    ).model_copy(update={"written": {1: json.dumps(schema)}})
    records = broken_of(generator_of(topic_of(value)))
    assert {record.reason for record in records} == {
        *("malformed", "trailing_bytes", "missing_field", "out_of_range", "future", "not_allowed"),
    }
    assert [judged(record.value, value, schema) for record in records] == [record.reason for record in records]


def test_a_schema_that_is_not_there_and_types_that_do_not_fit_are_obstacles() -> None:
    said = {"at": {"type": "timestamp", "required": True}, "n": {"type": "long", "required": True}}
    value = TopicValue.model_validate(
        {"format": "avro", "event_time": "at", "arrival_time": "at", "fields": said, "version": 3}
    )
    reasons = [reason for reason, _ in obstacles_in(topic_of(value))]
    assert reasons[0] == "the field at of things version 3 of its contract is not there, or cannot be read."
    schema = {"type": "record", "name": "R", "fields": [{"name": "at", "type": MILLIS}, {"name": "n", "type": "bytes"}]}
    ((reason, _),) = obstacles_in(topic_of(value.model_copy(update={"written": {3: json.dumps(schema)}})))
    assert reason == "the field n of things is bytes in the schema, and long in the topic."


@pytest.mark.parametrize("number", [0, 1, 63, 64, 1_000_000])
def test_records_are_found_again_by_their_times(number: int) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "at", "type": MICROS}]}
    value = TopicValue.model_validate(
        {"format": "avro", "version": 1, **TIMES, "fields": {"at": {"type": "timestamp", "required": True}}}
    ).model_copy(update={"written": {1: json.dumps(schema)}})
    record = MadeRecord(generator_of(topic_of(value)).value(number))
    assert record.fate is RecordFate.GOOD
    found = Reading(record.value).value(schema)
    assert EPOCH + timedelta(microseconds=found["at"]) == BEGIN + number * STEP
