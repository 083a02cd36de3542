"""A topic in Protobuf: each fault is found at its line, in the spec or in the `.proto` file."""

from __future__ import annotations

import json

import pytest

from sluice.specs.code.closure import meaning
from sluice.specs.load import scan
from sluice.specs.reading.faults import Fault
from sluice.specs.rules.contracts import contracts_hold
from sluice.specs.rules.rules import RULES
from tests.unit.specs.bench import TOPIC_FILE, Bench

PROTO = """\
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
// What is ordered.
message Order {
  int64 id = 1;
  Shop shop = 2;
  google.protobuf.Timestamp ordered_at = 3;
  google.protobuf.Timestamp seen_at = 4;
  bool beat = 5;
  repeated Line lines = 6;
  map<string, int32> counts = 7;
  enum Shop { north = 0; south = 1; }
}
message Line { string sku = 1; int64 at = 2; }
"""
FILE = "include/schemas/orders/1.proto"
DECLARED = "format: protobuf\n  message: Order\n  version: 1"


def faults(bench: Bench) -> tuple[Fault, ...]:
    return scan(bench.include, rules=(*RULES, contracts_hold)).faults


@pytest.fixture
def messages(bench: Bench) -> Bench:
    bench.write(FILE, PROTO)
    bench.edit(TOPIC_FILE, "value:\n", f"value:\n  {DECLARED}\n")
    return bench


def add(bench: Bench, field: str) -> int:
    """Declare a field, and return its line."""
    bench.edit(TOPIC_FILE, "    beat:", f"    {field}\n    beat:")
    return (bench.home / TOPIC_FILE).read_text().splitlines().index(f"    {field}") + 1


def test_messages_are_read_with_lists_maps_and_objects(messages: Bench) -> None:
    add(messages, "lines: {type: array, items: {type: object, fields: {sku: {type: string, required: true}}}}")
    add(messages, "sent: {type: timestamp, epoch: seconds, path: $.id}")
    add(messages, "counts: {type: map, values: {type: integer, minimum: 0}}")
    assert faults(messages) == ()
    value = messages.scan().catalog.topics["orders"].value
    layout = json.loads(value.written[1])
    assert (layout["root"], layout["path"]) == ("shop.Order", [0])
    assert set(layout["messages"]) == {
        "shop.Order", "shop.Line", "shop.Order.CountsEntry", "google.protobuf.Timestamp"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  version: 1\n", "", "nothing in Protobuf says under which schema it was written"),
        ("version: 1", "version: 2", "there is no include/schemas/orders/2.proto"),
        ("  message: Order\n", "", "has not one message, and nothing says which one a value is"),
        ("message: Order", "message: Ordr", "has no message 'Ordr'"),
        ("message: Order", "message: 7x", "message"),
        ("format: protobuf", "format: avro", "only of `format: protobuf`"),
        (
            "    beat:",
            "    bat: {type: string}\n    beat:",
            "there is no 'bat' in the message shop.Order. Fix: did you mean",
        ),
        (
            "    beat:",
            '    x: {type: string, path: "$.lines.sku"}\n    beat:',
            "there is no 'lines.sku' in the message",
        ),
        (
            "    beat:",
            "    lines: {type: array, items: {type: object, fields: {sk: {type: string}}}}\n    beat:",
            "value.fields.lines.items.fields.sk: there is no 'sk' in the message shop.Line. Fix: did you mean 'sku'?",
        ),
    ],
)
def test_what_the_spec_says_wrongly_is_refused_there(messages: Bench, old: str, new: str, said: str) -> None:
    messages.edit(TOPIC_FILE, old, new)
    found = messages.scan().faults
    assert any(said in str(fault) and fault.file == TOPIC_FILE for fault in found), found


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("int64 id", "string id", 6, "id: is string, which does not read as the long of the spec of orders"),
        ("int64 id", "optional Line id", 6, "id: is shop.Line, which does not read as the long"),
        ("int64 id", "repeated int64 id", 6, "id: is a list of int64, which does not read as the long"),
        (
            "google.protobuf.Timestamp seen_at",
            "int64 seen_at",
            9,
            "seen_at: is int64, which does not read as the timestamp",
        ),
        ("bool beat", "map<string, bool> beat", 10, "beat: is a map, which does not read as the boolean"),
        ("  int64 id = 1;\n", "", 5, "id: version 1 does not have it, and the spec of orders requires it"),
        ("int64 id", "int46 id", 6, 'is no Protobuf: "int46" is not defined.'),
        ("bool beat = 5", "bool beat = 1", 10, "Field number 1 has already been used"),
        ('syntax = "proto3";', "", 1, "it does not say in which syntax it is written"),
    ],
)
def test_what_the_file_says_wrongly_is_refused_there(messages: Bench, old: str, new: str, line: int, said: str) -> None:
    messages.write(FILE, PROTO.replace(old, new, 1))
    found = faults(messages)
    assert any(said in str(fault) and (fault.file, fault.line) == (FILE, line) for fault in found), found


def test_fields_inside_are_compared_by_their_way(messages: Bench) -> None:
    add(messages, "lines: {type: array, items: {type: object, fields: {sku: {type: long}, at: {type: timestamp}}}}")
    add(messages, "counts: {type: map, values: {type: string}}")
    said = {fault.where: fault.line for fault in faults(messages) if fault.file == FILE}
    assert said == {"lines[].sku": 15, "lines[].at": 15, "counts{}": 12}


def test_bytes_that_are_no_text_are_a_fault(messages: Bench) -> None:
    messages.write(FILE, PROTO.encode().replace(b"What", b"Wh\xff"))
    assert any("not UTF-8 (0xff)" in str(fault) and fault.line == 4 for fault in faults(messages))


def test_a_newer_version_goes_with_the_one_before(messages: Bench) -> None:
    messages.write(FILE.replace("1.proto", "2.proto"), PROTO.replace("string sku = 1;", "string sku = 3;"))
    messages.write("include/schemas/orders/published.json", "{}")
    found = [fault for fault in faults(messages) if fault.file.endswith("2.proto")]
    assert [(fault.line, fault.where) for fault in found] == [(15, "lines[].sku")]
    assert "is written as number 1, and read from number 3" in found[0].message


def test_what_the_messages_mean_is_in_the_codes_meaning_and_comments_are_not(messages: Bench) -> None:
    scan = messages.scan()
    pipeline, topics = scan.catalog.pipelines["sales"], scan.catalog.topics
    messages.write(FILE, PROTO.replace("// What is ordered.", "// Something else."))
    assert meaning(pipeline, messages.scan().catalog.topics) == meaning(pipeline, topics)
    messages.write(FILE, PROTO.replace("bool beat = 5", "bool beat = 8"))
    assert meaning(pipeline, messages.scan().catalog.topics) != meaning(pipeline, topics)
