"""How values are written: what does not go together is refused at its line, and schemas are part of the code."""

from __future__ import annotations

import pytest

from sluice.specs.code.closure import meaning
from tests.unit.specs.bench import TOPIC_FILE, Bench

AVSC = """\
{
  "type": "record", "name": "Order",
  "fields": [
    {"name": "id", "type": "long"},
    {"name": "ordered_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "seen_at", "type": {"type": "long", "logicalType": "timestamp-millis"}}
  ]
}
"""
FILE = "include/schemas/orders/1.avsc"


def declare(bench: Bench, keys: str) -> None:
    bench.edit(TOPIC_FILE, "value:\n", f"value:\n  {keys}\n")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("format: avro", "nothing in Avro says under which schema it was written"),
        ("version: 1", "JSON is read without a schema; remove `version`"),
        ("schemas: {7: 1}", "there is no framing; write `framing: confluent`"),
        ("framing: confluent", "`schemas` names no id"),
        ("format: protobuf", "nothing in Protobuf says under which schema it was written"),
        ("format: proto", "protobuf"),
        ("written: {1: '{}'}", "`written` is no key of a spec"),
        ("framing: confluent\n  schemas: {-7: 1}", "-7"),
        ("framing: confluent\n  format: avro\n  version: 1\n  schemas: {7: 1}", "each id has a version of its own"),
        ("format: avro\n  version: 2", "there is no include/schemas/orders/2.avsc"),
        ("framing: confluent\n  schemas: {7: 1}", "there is no include/schemas/orders/1.json"),
        ("framing: confluent\n  format: avro\n  schemas: {7: 1, 9: 3}", "there is no include/schemas/orders/3.avsc"),
    ],
)
def test_what_does_not_go_together_is_refused(bench: Bench, keys: str, said: str) -> None:
    bench.write(FILE, AVSC)
    declare(bench, keys)
    faults = bench.scan().faults
    assert faults
    assert all(fault.file == TOPIC_FILE for fault in faults)
    assert any(said in str(fault) for fault in faults), faults


def test_a_schema_that_cannot_be_read_breaks_the_topic_that_is_written_under_it(bench: Bench) -> None:
    bench.write(FILE, AVSC.replace('"long"', '"lang"'))
    declare(bench, "format: avro\n  version: 1")
    scan = bench.scan()
    assert any("there is no type 'lang'" in str(fault) and fault.file == FILE for fault in scan.faults)
    assert "orders" not in scan.catalog.topics


def test_the_schemas_text_is_in_the_value_and_in_the_codes_meaning(bench: Bench) -> None:
    bench.write(FILE, AVSC)
    bench.write("include/schemas/orders/2.avsc", AVSC.replace('"Order"', '"Order", "doc": "x"'))
    declare(bench, "format: avro\n  framing: confluent\n  schemas: {7: 1, 8: 1, 256: 2}")
    scan = bench.scan()
    assert scan.faults == ()
    topic, pipeline = scan.catalog.topics["orders"], scan.catalog.pipelines["sales"]
    assert set(topic.value.written) == {1, 2}
    assert topic.value.written[1] == AVSC
    bench.write(FILE, AVSC.replace("timestamp-millis", "timestamp-micros"))
    assert meaning(pipeline, bench.scan().catalog.topics) != meaning(pipeline, {"orders": topic})
