"""Avro with records, lists, maps, decimals, dates and bytes inside: read as the oracle reads them, whatever comes."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from sluice.spark.records.decoding import FAULT, FAULT_DETAIL, decode
from sluice.specs.model.model import TopicValue
from tests.avro_oracle import BrokenError, Reading, encode
from tests.protobuf_records import frame

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
DAY = {"type": "int", "logicalType": "date"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}
FIXED = {"type": "fixed", "name": "Sum", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
LINE = {
    "type": "record",
    "name": "Line",
    "fields": [
        {"name": "sku", "type": "string"},
        {"name": "count", "type": ["null", "int"]},
        {"name": "more", "type": ["null", "Line"]},
        {"name": "seen", "type": MILLIS},
    ],
}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "head", "type": LINE},
        {"name": "lines", "type": {"type": "array", "items": "Line"}},
        {"name": "prices", "type": {"type": "map", "values": ["null", "double", "int"]}},
        {"name": "unread", "type": {"type": "map", "values": "float"}},
        {"name": "total", "type": ["null", MONEY]},
        {"name": "tax", "type": FIXED},
        {"name": "day", "type": ["null", DAY]},
        {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 2}},
        {"name": "body", "type": "bytes"},
        {"name": "odd", "type": ["null", "string", "Line"]},
        {"name": "at", "type": MILLIS},
    ],
}
INNER: dict[str, Any] = {"sku": {"type": "string"}, "count": {"type": "integer"}, "seen": {"type": "timestamp"}}
FIELDS: dict[str, Any] = {
    "id": {"type": "decimal", "precision": 20},
    "sku": {"type": "string", "path": "$.head.sku"},
    "count": {"type": "integer", "path": "$.head.more.count"},
    "head": {"type": "object", "fields": {**INNER, "more": {"type": "object", "fields": INNER}}},
    "lines": {"type": "array", "items": {"type": "object", "fields": INNER}},
    "prices": {"type": "map", "values": {"type": "double"}},
    "total": {"type": "decimal", "precision": 10, "scale": 2},
    "tax": {"type": "decimal", "precision": 9, "scale": 2},
    "day": {"type": "date"},
    "code": {"type": "binary"},
    "body": {"type": "binary"},
    "odd": {"type": "string"},
    "later": {"type": "array", "items": {"type": "long"}},
    "at": {"type": "timestamp"},
}
DECLARED = {"format": "avro", "version": 1, "fields": FIELDS, "event_time": "at", "arrival_time": "broker"}
LAST = {"sku": "b", "count": (1, 2), "more": (0, None), "seen": 2}
GOOD: dict[str, Any] = {
    "id": -7,
    "head": {"sku": "größer 🙂", "count": (0, None), "more": (1, LAST), "seen": 0},
    "lines": [LAST, {"sku": "", "count": (1, -1), "more": (0, None), "seen": 1}],
    "prices": {"k": (1, 0.5), "n": (0, None), "": (2, 3)},
    "unread": {"x": 0.5},
    "total": (1, (1234560).to_bytes(3, "big", signed=True)),
    "tax": (-5).to_bytes(4, "big", signed=True),
    "day": (1, 15706),
    "code": b"\xff\x00",
    "body": b"abc",
    "odd": (1, "text"),
    "at": 1357034400000,
}


TIMELESS = [name for name in FIELDS if name not in ("head", "lines", "at")]
"""Columns without times, of which Python cannot hold all that Spark can."""


def decoded(spark: SparkSession, values: list[bytes], columns: Collection[str] = tuple(FIELDS)) -> list[Row]:
    value = TopicValue.model_validate(DECLARED).model_copy(update={"written": {1: json.dumps(SCHEMA)}})
    rows = decode(frame(spark, [*values]), value).orderBy("n")
    found = rows.select(*columns, FAULT, FAULT_DETAIL).collect()
    assert len(found) == len(values)
    return found


def plain(value: Any) -> Any:  # noqa: ANN401 - of any column
    """Return a column's value as the oracle has it."""
    match value:
        case Row():
            return {name: plain(part) for name, part in value.asDict().items()}
        case list():
            return [plain(each) for each in value]
        case dict():
            return {key: plain(part) for key, part in value.items()}
        case datetime():
            return (value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        case date():
            return (value - date(1970, 1, 1)).days
        case _:
            return bytes(value) if isinstance(value, bytearray) else value


def money(data: bytes | None, scale: int, most: int) -> Decimal | None:
    """Return the number that bytes stand for; raises ValueError where a digit would have to be left out."""
    if data is None:
        return None
    if not data or len(data) > 32:
        raise ValueError(data)
    number = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale)
    rounded = round(number, 2)
    if rounded != number or abs(number) >= 10**most:
        raise ValueError(number)
    return rounded


def inner(line: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if line is None else {name: line[name] for name in INNER}


def wanted(data: bytes) -> tuple[str | None, dict[str, Any]]:
    """Return the fault that a record has by the oracle, and what its columns hold if it has none."""
    reading = _Keyed(data)
    try:
        found = reading.value(SCHEMA)
    except BrokenError:
        return ("malformed" if data else "empty"), {}
    if reading.place != len(data):
        return "trailing_bytes", {}
    if not reading.finite:
        return "not_finite", {}
    head, more = found["head"], found["head"]["more"]
    times = [found["at"], head["seen"], *(line["seen"] for line in found["lines"]), *([more["seen"]] if more else [])]
    try:
        total, tax = money(found["total"], 3, 8), money(found["tax"], 2, 7)
    except ValueError:
        return "wrong_type", {}
    unfit = isinstance(found["odd"], dict) or any(abs(at) > (2**63 - 1) // 1000 for at in times)
    if unfit or not -719162 <= (found["day"] or 0) <= 2932896:
        return "wrong_type", {}
    return None, {
        **{name: found[name] for name in ("code", "body", "odd", "at", "day")},
        "id": Decimal(found["id"]),
        "sku": head["sku"],
        "count": more and more["count"],
        "head": {**(inner(head) or {}), "more": inner(more)},
        "lines": [inner(line) for line in found["lines"]],
        "prices": {key: None if each is None else float(each) for key, each in found["prices"]},
        "total": total,
        "tax": tax,
        "later": None,
    }


class _Keyed(Reading):
    """Reads maps with their keys."""

    def value(self, schema: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
        schema = {"Line": LINE}.get(schema, schema) if isinstance(schema, str) else schema
        return super().value(schema, depth)

    def _entries(self, schema: Any, *, keyed: bool, depth: int) -> list[Any]:  # noqa: ANN401 - JSON
        if not keyed:
            return super()._entries(schema, keyed=keyed, depth=depth)
        pair = {"type": "record", "fields": [{"name": "k", "type": "string"}, {"name": "v", "type": schema["values"]}]}
        entries = super()._entries({"items": pair}, keyed=False, depth=depth - 1)
        return [(each["k"], each["v"]) for each in entries]


def written(value: dict[str, Any]) -> bytes:
    named = json.loads(json.dumps(SCHEMA).replace('"Line"}', json.dumps(LINE) + "}"))
    return encode(_resolved(named), value)


def _resolved(schema: Any, levels: int = 4) -> Any:  # noqa: ANN401 - JSON
    """Return a schema with its named type written out, as deep as records are nested here."""
    if schema == "Line":
        return _resolved(LINE, levels - 1) if levels else "null"
    if isinstance(schema, list):
        return [_resolved(each, levels) for each in schema]
    if isinstance(schema, dict):
        return {
            key: _resolved(part, levels) if key in ("type", "items", "fields") else part for key, part in schema.items()
        }
    return schema


def test_what_is_inside_is_read_as_it_was_written(spark: SparkSession) -> None:
    data = written(GOOD)
    assert wanted(data)[0] is None
    (row,) = decoded(spark, [data])
    assert row[FAULT] is None
    assert {name: plain(row[name]) for name in FIELDS} == wanted(data)[1]
    assert (row["total"], row["tax"], row["day"]) == (Decimal("1234.56"), Decimal("-0.05"), date(2013, 1, 1))


def test_what_does_not_fit_is_named_by_its_way(spark: SparkSession) -> None:
    cases = {
        "total is bytes (decimal), and no decimal": {"total": (1, (1234567).to_bytes(3, "big"))},
        "odd is record, and no string": {"odd": (2, LAST)},
        "lines[].seen is long (timestamp-millis), and no timestamp": {"lines": [{**LAST, "seen": 2**62}]},
        "day is int (date), and no date": {"day": (1, 2**31 - 1)},
    }
    rows = decoded(spark, [written(GOOD | changed) for changed in cases.values()])
    assert [(row[FAULT], row[FAULT_DETAIL]) for row in rows] == [("wrong_type", detail) for detail in cases]


def mutated(chance: random.Random) -> bytes:
    """Return a record of which a few bytes are others, missing or too many."""
    prices = [{"k": (1, 0.5)}, {"k": (1, float("nan"))}, {}]
    data = bytearray(written(GOOD | {"prices": chance.choice(prices), "lines": GOOD["lines"] * chance.randrange(3)}))
    match chance.randrange(6):
        case 0:
            del data[chance.randrange(len(data)) :]
        case 1:
            place = chance.randrange(len(data))
            data[place:place] = chance.randbytes(chance.randrange(1, 3))
        case 2:
            data += chance.randbytes(chance.randrange(2))
        case _:
            for _ in range(chance.randrange(4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def agree(spark: SparkSession, seed: int, count: int) -> Counter[str | None]:
    chance = random.Random(seed)
    values = [mutated(chance) for _ in range(count)]
    rows = decoded(spark, values, TIMELESS)
    for data, row in zip(values, rows, strict=True):
        fault, columns = wanted(data)
        assert row[FAULT] == fault, (data.hex(), row[FAULT_DETAIL])
        if fault is None:
            assert {name: plain(row[name]) for name in TIMELESS} == {name: columns[name] for name in TIMELESS}, (
                data.hex()
            )
    return Counter(row[FAULT] for row in rows)


def test_some_thousand_records_are_read_as_the_oracle_does(spark: SparkSession) -> None:
    found = agree(spark, 0, 3_000)
    assert {None, "malformed", "trailing_bytes", "wrong_type", "not_finite"} <= set(found), found


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_two_hundred_thousand_records_are_read_as_the_oracle_does(spark: SparkSession) -> None:
    for seed in range(1, 11):
        agree(spark, seed, 20_000)
