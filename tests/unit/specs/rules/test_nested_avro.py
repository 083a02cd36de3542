"""A topic in Avro with records, lists and other types inside: the contract promises what the spec reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluice.specs.load import scan
from sluice.specs.rules.contracts import contracts_hold
from sluice.specs.rules.rules import RULES
from tests.unit.specs.bench import TOPIC_FILE, Bench

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
LINE = {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "ordered_at", "type": MILLIS},
        {"name": "seen_at", "type": MILLIS},
        {"name": "first", "type": ["null", LINE]},
        {"name": "lines", "type": {"type": "array", "items": "Line"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "body", "type": "bytes"},
    ],
}
SOUND = (
    "lines: {type: array, items: {type: object, fields: {sku: {type: string}}}}",
    "counts: {type: map, values: {type: integer}}",
    "total: {type: decimal, precision: 9, scale: 2}",
    "day: {type: date}",
    "body: {type: binary}",
    "first: {type: object, fields: {sku: {type: string}}}",
    'sku: {type: string, path: "$.first.sku"}',
)


def faults(bench: Bench, *fields: str) -> list[str]:
    bench.write("include/schemas/orders/1.avsc", json.dumps(SCHEMA))
    bench.edit(TOPIC_FILE, "value:\n", "value:\n  format: avro\n  version: 1\n")
    for field in fields:
        bench.edit(TOPIC_FILE, "    beat:", f"    {field}\n    beat:")
    return [str(fault) for fault in scan(bench.include, rules=(*RULES, contracts_hold)).faults]


def test_what_avro_nests_is_declared_with_its_own_types(bench: Bench) -> None:
    assert faults(bench, *SOUND) == []


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("body: {type: string}", "body: is bytes, which does not read as the string"),
        ("day: {type: string}", "day: is int (date), which does not read as the string"),
        ("total: {type: double}", "which does not read as the double"),
        ("lines: {type: map, values: {type: string}}", "lines: is array, which does not read as the map"),
        ('sku: {type: long, path: "$.first.sku"}', "sku: is string, which does not read as the long"),
        ('sku: {type: string, required: true, path: "$.first.sku"}', "sku: may be absent or null"),
        (
            'sku: {type: string, required: true, path: "$.first.name"}',
            "does not have it, and the spec of orders requires",
        ),
        ("id2: {type: timestamp, epoch: seconds}", "in Avro the schema says how 'id2' is written"),
    ],
)
def test_other_types_are_refused(bench: Bench, field: str, said: str) -> None:
    found = faults(bench, field)
    assert any(said in fault for fault in found), found
