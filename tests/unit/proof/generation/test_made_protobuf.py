"""Messages that a proof makes are read by Google's library under the file that the contract has."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.contracts.protoc import read_protobuf
from sluice.proof.generation.made import RecordFate
from sluice.proof.generation.unmade import obstacles_in
from sluice.specs.model.model import TopicValue
from tests.protobuf_oracle import classes, parsed, silent_faults
from tests.unit.proof.generation.made_topics import EVERY, LATENESS, SKEW, broken_of, generator_of, topic_of

PROTO = """
syntax = "proto3";
package air;
import "google/protobuf/timestamp.proto";
message Other { int32 x = 1; message Flight {
  int64 id = 1;
  repeated string tags = 2;
  enum Place { EWR = 0; JFK = 1; LGA = 2; }
  Place place = 3;
  optional string note = 4;
  message Inner { double deep = 1; Inner again = 2; optional int64 n = 3; }
  Inner inner = 5;
  float speed = 6;
  bool up = 7;
  map<string, bytes> extra = 8;
  google.protobuf.Timestamp at = 9;
  bytes code = 10;
  google.protobuf.Timestamp seen = 11;
  repeated sint32 counts = 12;
  int32 small = 13;
  uint32 plain = 14;
  oneof pay { string card = 16; int64 iban = 17; }
  repeated Inner inners = 18;
  map<int32, double> prices = 20;
  string day = 21;
  string amount = 22;
  fixed64 sent = 23;
  Place other = 24;
  map<bool, int64> flags = 25;
} }
"""
FIELDS: dict[str, Any] = {
    "id": {"type": "long", "minimum": 1, "maximum": 1_000_000_000},
    "tags": {"type": "array", "items": {"type": "string", "one_of": ["a", "b"]}},
    "place": {"type": "string", "one_of": ["JFK", "LGA"]},
    "note": {"type": "string"},
    "inner": {"type": "object", "required": True, "fields": {"deep": {"type": "double", "minimum": 5}}},
    "deepest": {"type": "double", "path": "$.inner.again.deep", "minimum": 2},
    "speed": {"type": "double", "required": True, "minimum": 0.1, "maximum": 0.3},
    "up": {"type": "boolean"},
    "extra": {"type": "map", "values": {"type": "binary"}},
    "at": {"type": "timestamp"},
    "seen": {"type": "timestamp", "required": True},
    "code": {"type": "binary", "required": True},
    "counts": {"type": "array", "items": {"type": "integer"}},
    "small": {"type": "integer"},
    "plain": {"type": "decimal", "precision": 3, "scale": 1},
    "card": {"type": "string"},
    "iban": {"type": "long"},
    "inners": {"type": "array", "items": {"type": "object", "fields": {"n": {"type": "long", "required": True}}}},
    "prices": {"type": "map", "values": {"type": "double", "maximum": 3}},
    "day": {"type": "date", "required": True, "format": "dd/MM/yyyy"},
    "amount": {"type": "decimal", "precision": 8, "scale": 2},
    "sent": {"type": "timestamp", "epoch": "seconds"},
    "flags": {"type": "map", "values": {"type": "long"}},
}
FLIGHT = next(each for each in classes(PROTO).values()).Flight  # type: ignore[attr-defined]


def value_of(text: str = PROTO, **more: Any) -> TopicValue:  # noqa: ANN401 - of a topic's value
    said = {"format": "protobuf", "message": "Flight", "event_time": "at", "arrival_time": "seen", "fields": FIELDS}
    value = TopicValue.model_validate({**said, **more})
    schema = read_protobuf(text)
    root = schema.root("Flight")
    assert root is not None
    return value.model_copy(update={"written": dict.fromkeys(value.versions.values(), schema.layout(root))})


def judged(data: bytes, value: TopicValue) -> str:  # noqa: PLR0911 - one for each reason
    """Return what must become of a record."""
    if value.framing == "confluent":
        if data[:1] != b"\x00":
            return "bad_framing"
        if int.from_bytes(data[1:5], "big") not in value.schemas:
            return "unknown_schema"
        assert data[5:8] == b"\x04\x00\x00"  # two numbers: the first message of the file, and the first in it
        data = data[8:]
    assert data
    message: Any = parsed(FLIGHT, data)
    if message is None:
        return "malformed"
    assert silent_faults(FLIGHT.DESCRIPTOR, data) == set()
    if not message.HasField("at"):
        return "missing_field"
    _refuse_faults(message, data)
    event, arrival = (each.ToDatetime(UTC) for each in (message.at, message.seen))
    if event.year >= 2200 or message.id > FIELDS["id"]["maximum"]:
        return "out_of_range"
    if not set(message.tags) <= {"a", "b"}:
        return "not_allowed"
    if event - arrival > SKEW:
        return "future"
    return "late" if arrival - event > LATENESS else "good"


def _refuse_faults(message: Any, data: bytes) -> None:  # noqa: ANN401 - of a class that is made of text
    """Make sure of what no broken record has, either."""
    assert message.id >= 1
    assert message.place in (1, 2), data
    assert message.HasField("inner")
    assert message.inner.deep >= 5
    assert not message.inner.HasField("again") or message.inner.again.deep >= 2
    assert 0.1 <= message.speed <= 0.3
    assert message.code
    assert message.plain < 100
    assert all(each.HasField("n") for each in message.inners)
    assert all(price <= 3 for price in message.prices.values())
    assert datetime.strptime(message.day, "%d/%m/%Y").year in (2025, 2026)  # noqa: DTZ007 - a date
    assert message.WhichOneof("pay") in ("card", "iban", None)
    assert len(message.amount.partition(".")[2]) == 2 if message.amount else True


@pytest.mark.parametrize("under", [{"version": 1}, {"framing": "confluent", "schemas": {7: 1, 70000: 2}}])
@pytest.mark.parametrize("is_live", [False, True])
def test_messages_keep_every_rule_and_broken_ones_are_what_was_meant(under: dict[str, Any], *, is_live: bool) -> None:
    value = value_of(**under)
    topic = topic_of(value)
    assert list(obstacles_in(topic, is_live=is_live)) == []
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = generator_of(topic, **({"now": lambda: now} if is_live else {}))
    records = [made.record(number) for number in range(3 * EVERY)]
    assert len({record.value for record in records}) == len(records)
    broken = broken_of(made)
    for record in (*records, *broken):
        assert judged(record.value, value) == (record.reason or record.fate.value), record
    framed = {"bad_framing", "unknown_schema"} if "framing" in under else set[str]()
    assert {each.reason for each in broken} == {"malformed", "missing_field", "out_of_range", "future"} | framed
    assert {record.fate for record in records} == {RecordFate.GOOD, RecordFate.LATE, RecordFate.QUARANTINED}


def test_of_fields_of_which_one_is_there_each_has_its_turn_and_all_else_is_there_now_and_then() -> None:
    made = generator_of(topic_of(value_of(version=1)), breaks=False, lateness=None)
    messages: list[Any] = [parsed(FLIGHT, made.value(number)) for number in range(60)]
    turns = Counter(message.WhichOneof("pay") for message in messages)
    assert min(turns["card"], turns["iban"]) >= 20
    assert {message.HasField("note") for message in messages} == {True, False}
    assert {len(message.inners) for message in messages} == {0, 1, 2}
    assert max(len(message.flags) for message in messages) == 2


def test_two_required_fields_of_which_one_is_there_are_an_obstacle() -> None:
    both = {name: {**FIELDS[name], "required": True} for name in ("card", "iban")}
    topic = topic_of(value_of(version=1, fields={**FIELDS, **both}))
    ((reason, fix),) = obstacles_in(topic)
    assert reason == "the topic things has card and iban required, of which a message has only one."
    assert fix == "make one of them optional."


def test_a_number_that_its_bytes_cannot_hold_exactly_is_an_obstacle() -> None:
    speed = {"type": "double", "required": True, "minimum": 0.1, "maximum": 0.1}
    ((reason, _),) = obstacles_in(topic_of(value_of(version=1, fields={**FIELDS, "speed": speed})))
    assert reason == "the field speed of things has no number that is allowed."


def test_a_group_and_required_fields_of_proto2_are_written() -> None:
    text = """
    syntax = "proto2";
    message Flight {
      required int64 id = 1;
      optional group Leg = 2 { optional string to = 3; }
      repeated int32 packed = 4 [packed = true];
      optional int64 at = 5;
    }
    """
    fields = {
        "id": {"type": "long", "required": True},
        "to": {"type": "string", "path": "$.leg.to", "required": True},
        "packed": {"type": "array", "items": {"type": "integer"}},
        "at": {"type": "timestamp", "epoch": "milliseconds", "required": True},
    }
    value = value_of(text, fields=fields, version=1, arrival_time="at")
    made = generator_of(topic_of(value))
    message: Any = parsed(classes(text)["Flight"], made.value(5))
    assert message is not None
    assert message.IsInitialized()
    assert (message.leg.to, list(message.packed)) == ("to-0", [5, 6])
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=message.at)
    assert at == made.happens(5)
