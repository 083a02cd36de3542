"""`sluice new topic --sample` of a schema: all that can be declared is, and the schema becomes the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.cli.scaffold.samples import SampleChoices, SampleFormat, draft_of
from sluice.errors import RefusedError, SluiceError, SpecError
from sluice.specs.load import load_catalog
from sluice.specs.model.model import TopicSpec

AT = {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}
ADDRESS = {
    "type": "record",
    "name": "Address",
    "fields": [{"name": "city", "type": "string"}, {"name": "_zip", "type": ["null", "string"]}],
}
ADDRESS_WORDS = "object<city:string,zip:string>"
CUSTOMER = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "parent", "type": ["null", "Customer"]},
        {"name": "address", "type": ADDRESS},
        {"name": "previous", "type": {"type": "array", "items": "Address"}},
    ],
}
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "placedAt", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "seen_at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "exact", "type": {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 2}},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "NO", "null"]}},
        {"name": "either", "type": ["int", "string"]},
        {"name": "both", "type": ["string", {"type": "map", "values": "long"}]},
        {"name": "nothing", "type": "null"},
        {"name": "whole", "type": ["null", "int", "long"]},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "customer", "type": ["null", CUSTOMER]},
        {"name": "prices", "type": {"type": "map", "values": "double"}},
        {"name": "small", "type": "int"},
        {"name": "raw", "type": {"type": "fixed", "name": "Hash", "size": 16}},
    ],
}
PROTO = """// Orders of the shop.
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

message Order {
  enum Status { NEW = 0; NO = 1; }
  message Line {
    string sku = 1;
    int32 count = 2;
    google.protobuf.DoubleValue price = 3;
    map<string, Status> states = 4;
  }
  int64 id = 1;
  google.protobuf.Timestamp placedAt = 2;
  optional string note = 3;
  Status status = 4;
  repeated Line lines = 5;
  map<int32, double> prices = 6;
  oneof payment { string card = 7; google.protobuf.Timestamp paid_at = 8; }
  google.protobuf.Int64Value points = 9;
  uint64 serial = 11;
  Node tree = 12;
  repeated google.protobuf.Int32Value many = 13;
  float ratio = 14;
  bool vip = 15;
  bytes raw = 16;
  Empty nothing = 17;
}
message Node { string name = 1; repeated Node children = 2; }
message Empty {}
"""


def container(schema: bytes, *, negative: bool = False) -> bytes:
    """Return the header of a container file, and some bytes of records."""

    def long(number: int) -> bytes:
        number, found = (number << 1) ^ (number >> 63), b""
        while number > 0x7F:
            found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
        return found + bytes([number])

    def text(data: bytes) -> bytes:
        return long(len(data)) + data

    pairs = text(b"avro.codec") + text(b"null") + text(b"avro.schema") + text(schema)
    count = long(-2) + long(len(pairs)) if negative else long(2)
    return b"Obj\x01" + count + pairs + long(0) + b"\x07" * 16 + b"\0\1\2\xff"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("include", "dags"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    return tmp_path


def new(home: Path, file: str, sample: bytes, *options: str) -> tuple[TopicSpec, str]:
    """Return the topic that is written for a file, which passes `sluice check`, and what the command says."""
    (home / file).write_bytes(sample)
    answer = CliRunner().invoke(app, ["new", "topic", "t", "--sample", str(home / file), *options])
    if isinstance(answer.exception, SluiceError):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return load_catalog(home / "include").topics["t"], " ".join(answer.output.split())


def words(topic: TopicSpec) -> dict[str, str]:
    return {name: field.words + ("!" if field.required else "") for name, field in topic.value.fields.items()}


@pytest.mark.parametrize(
    ("file", "wrapped"),
    [("order.avsc", "none"), ("order.avro", "positive"), ("order", "negative"), ("order.json", "none")],
)
def test_an_avro_schema_gives_all_that_can_be_declared(home: Path, file: str, wrapped: str) -> None:
    written = json.dumps(AVRO, indent=1).encode()
    sample = written if wrapped == "none" else container(written, negative=wrapped == "negative")
    topic, said = new(home, file, sample)
    assert (topic.value.format, topic.value.version, topic.value.event_time) == ("avro", 1, "placed_at")
    assert words(topic) == {
        "id": "long!",
        "placed_at": "timestamp!",
        "seen_at": "timestamp",
        "day": "date!",
        "total": "decimal(12,2)!",
        "status": "string!",
        "whole": "long",
        "customer": f"object<name:string,address:{ADDRESS_WORDS},previous:array<{ADDRESS_WORDS}>>",
        "prices": "map<double>!",
        "small": "integer!",
        "raw": "binary!",
    }
    assert topic.value.fields["placed_at"].path == "$.placedAt"
    assert topic.value.fields["status"].one_of == ("NEW", "NO", "null")
    assert json.loads((home / "include/schemas/t/1.avsc").read_bytes()) == AVRO
    for note in (
        "exact: left out, for a decimal of a spec has 1 to 38 digits, and one scale.",
        "either: left out, for it is int or string, which no type of a spec reads.",
        "both: left out, for it is string or map, which no type of a spec reads.",
        "nothing: left out, for it is null, which no type of a spec reads.",
        "local: left out, for it is long (local-timestamp-millis), which no type of a spec reads.",
        "customer.parent: left out, for Customer is inside of itself",
        "write `framing: confluent` and `schemas: {<id>: 1}` instead of `version: 1`.",
    ):
        assert note in said
    assert ("its records were not read" in said) is (wrapped != "none")
    declared = {name.partition(":")[0].partition(".")[0] for name in said.split(". ") if "left out" in name}
    assert {each["name"] for each in AVRO["fields"]} - {"placedAt"} <= {*topic.value.fields, *declared, "exact"}


def test_a_time_that_the_schema_lets_be_null_may_be_the_event_time(home: Path) -> None:
    fields = [{"name": "seen_at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]}]
    topic, said = new(home, "s.avsc", json.dumps({**AVRO, "fields": fields}).encode())
    assert (topic.value.event_time, topic.value.fields["seen_at"].required) == ("seen_at", False)
    assert "seen_at: may be absent under the schema; a record without it is quarantined." in said


def test_a_message_gives_all_that_can_be_declared(home: Path) -> None:
    topic, said = new(home, "order.proto", PROTO.encode(), "--message", "Order")
    value = topic.value
    assert (value.format, value.message, value.version, value.event_time) == ("protobuf", "Order", 1, "placed_at")
    assert words(topic) == {
        "id": "long!",
        "placed_at": "timestamp",
        "note": "string",
        "status": "string!",
        "lines": "array<object<sku:string,count:integer,price:double,states:map<string>>>",
        "prices": "map<double>",
        "card": "string",
        "paid_at": "timestamp",
        "points": "long",
        "serial": "long!",
        "tree": "object<name:string>",
        "many": "array<object<value:integer>>",
        "ratio": "double!",
        "vip": "boolean!",
        "raw": "binary!",
    }
    assert value.fields["points"].path == "$.points.value"
    line = value.fields["lines"].items
    assert line is not None
    assert line.fields is not None
    assert line.fields["price"].path == "$.price.value"
    assert value.fields["status"].one_of == ("NEW", "NO")
    assert (home / "include/schemas/t/1.proto").read_text() == PROTO
    text = (home / "include/topics/t.yaml").read_text()
    assert "card:" in text
    assert "# one of payment, of which a record has at most one" in text
    for note in (
        "serial: uint64, of which a long takes no numbers from 2^63",
        "tree.children[]: left out, for shop.v1.Node is inside of itself",
        "nothing: left out, for nothing inside it can be declared.",
        "placed_at: may be absent under the schema; a record without it is quarantined.",
    ):
        assert note in said
    assert all(len(line) <= 115 for line in text.splitlines())


@pytest.mark.parametrize("options", [(), ("--message", "Orders"), ("--message", "shop.v1.Line")])
def test_which_message_a_record_is_has_to_be_known(home: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(
        SpecError, match=r"its messages: shop\.v1\.Order, shop\.v1\.Order\.Line, shop\.v1\.Node"
    ) as error:
        new(home, "order.proto", PROTO.encode(), *options)
    assert "--message" in error.value.fix
    assert not (home / "include/schemas").exists()


def test_the_only_message_needs_no_name_and_standard_input_no_ending(home: Path) -> None:
    alone = PROTO.partition("message Order")[0] + "message A { google.protobuf.Timestamp at = 1; }\n"
    answer = CliRunner().invoke(app, ["new", "topic", "t", "--sample", "-"], input=alone)
    assert answer.exit_code == 0, answer.output
    assert load_catalog(home / "include").topics["t"].value.message == "A"


@pytest.mark.parametrize(
    ("file", "sample", "form", "said"),
    [
        (
            "a.avsc",
            b'{"type":"record","name":"A","fields":[{"name":"a","type":"lon"}]}',
            None,
            "there is no type 'lon'",
        ),
        ("a.avsc", b'{"type":"map","values":"long"}', None, "the values of this Avro schema are no records"),
        ("a.avsc", b"[", None, "is no Avro schema: it is no JSON"),
        ("a.bin", b"\x02\x80\x01", SampleFormat.AVRO, "is no Avro schema: byte 2 is not UTF-8"),
        ("a.avro", container(b"[]"), None, "is a damaged Avro file: it is JSON, but no object"),
        ("a.avro", container(b"{}")[:20], None, "is a damaged Avro file: its header is cut short"),
        ("a.avro", b"Obj\x01" + b"\xff" * 20, None, "a number of more than 64 bits"),
        ("a.avro", b"Obj\x01\0", None, "its header has no schema"),
        ("a.proto", b"message A {}", None, "does not say in which syntax"),
        (
            "a.proto",
            b'syntax = "proto3";\nimport "b.proto";\nmessage A { B b = 1; }',
            None,
            r"a\.proto:2: is no Protobuf",
        ),
        ("a.proto", b'syntax = "proto3";\nmessage A {}', None, "the message A has no fields"),
        ("a.bin", b"\x0a\xff", SampleFormat.PROTOBUF, "is no text"),
        ("a.bin", b"\x00\x00\x00\x00\x07\x02", None, "byte 1 is zero. Bare records of Avro or Protobuf do not say"),
    ],
)
def test_what_is_no_schema_is_refused(file: str, sample: bytes, form: SampleFormat | None, said: str) -> None:
    with pytest.raises(SpecError, match=said) as error:
        draft_of("t", sample, file, SampleChoices(form))
    assert error.value.fix or "Fix:" in str(error.value) or "values" in str(error.value)


def test_a_schema_without_a_time_says_what_one_is(home: Path) -> None:
    fields = [{"name": "sent_at", "type": "long"}]
    with pytest.raises(SpecError, match="a `long` with the logicalType timestamp-millis"):
        new(home, "a.avsc", json.dumps({**AVRO, "fields": fields}).encode())


def test_a_contract_that_is_there_is_left_alone(home: Path) -> None:
    schema = json.dumps({**AVRO, "fields": [AT]}).encode()
    (home / "include/schemas/t").mkdir(parents=True)
    (home / "include/schemas/t/1.json").write_text("{}")
    with pytest.raises(RefusedError, match="include/schemas/t has versions of a contract already"):
        new(home, "a.avsc", schema)
    assert [path.name for path in (home / "include/schemas/t").iterdir()] == ["1.json"]
    assert not (home / "include/topics").exists()


def test_types_that_multiply_are_cut_and_it_is_said() -> None:
    inner: Any = "long"
    for level in range(12):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}" if level else "long"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    schema = {"type": "record", "name": "Top", "fields": [AT, {"name": "tree", "type": inner}]}
    draft = draft_of("t", json.dumps(schema).encode(), "a.avsc", SampleChoices())
    assert any("there are more than 1,000 fields" in note for note in draft.left_out)
    assert set(draft.fields) == {"at", "tree"}


def test_what_is_too_deep_is_named() -> None:
    inner: Any = "long"
    for _ in range(20):
        inner = {"type": "array", "items": inner}
    schema = {"type": "record", "name": "Top", "fields": [AT, {"name": "deep", "type": inner}]}
    draft = draft_of("t", json.dumps(schema).encode(), "a.avsc", SampleChoices())
    assert list(draft.fields) == ["at"]
    assert any("more than 15 levels deep" in note for note in draft.left_out)
