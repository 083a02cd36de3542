"""Protobuf on Spark: whatever bytes come, nothing raises or is dropped, and Protobuf's own library agrees."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from sluice.contracts.protoc import read_protobuf
from sluice.spark.checks.producer_drift import fields_as_json
from sluice.spark.records.decoding import FAULT, FAULT_DETAIL, decode
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from tests.protobuf_oracle import classes, parsed, silent_faults

AT = datetime(2013, 1, 1, 10, tzinfo=UTC)
PROTO = """
syntax = "proto3";
package air;
import "google/protobuf/timestamp.proto";
message Inner { double deep = 1; Inner again = 2; optional int64 n = 3; }
message Flight {
  int64 id = 1;
  repeated string tags = 2;
  enum Place { EWR = 0; JFK = 1; LGA = 2; }
  Place place = 3;
  optional string note = 4;
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
  fixed64 big = 15;
  oneof pay { string card = 16; int64 iban = 17; }
  repeated Inner inners = 18;
  sfixed32 below = 19;
  map<int32, double> prices = 20;
}
"""
INNER = {"deep": {"type": "double"}, "n": {"type": "long"}}
FIELDS: dict[str, Any] = {
    "id": {"type": "long"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "place": {"type": "string"},
    "note": {"type": "string"},
    "inner": {"type": "object", "fields": {**INNER, "again": {"type": "object", "fields": INNER}}},
    "deepest": {"type": "double", "path": "$.inner.again.deep"},
    "speed": {"type": "double"},
    "up": {"type": "boolean"},
    "extra": {"type": "map", "values": {"type": "binary"}},
    "at": {"type": "timestamp"},
    "code": {"type": "binary"},
    "seen": {"type": "timestamp"},
    "counts": {"type": "array", "items": {"type": "integer"}},
    "small": {"type": "integer"},
    "plain": {"type": "decimal", "precision": 12, "scale": 2},
    "card": {"type": "string"},
    "iban": {"type": "long"},
    "inners": {"type": "array", "items": {"type": "object", "fields": INNER}},
    "below": {"type": "long"},
    "prices": {"type": "map", "values": {"type": "double"}},
}
FLIGHT = classes(PROTO)["air.Flight"]
RULES = TimeRules(allowed_lateness=timedelta(hours=3), future_skew=timedelta(hours=1))


def declared(text: str = PROTO, message: str = "Flight", **more: object) -> TopicValue:
    """Return the declaration of the topic, as the loader leaves it: with what its messages mean."""
    said = {"fields": FIELDS, "event_time": "at", "arrival_time": "seen", "version": 1, **more}
    value = TopicValue.model_validate({"format": "protobuf", "message": message, **said})
    schema = read_protobuf(text)
    root = schema.root(message)
    assert root is not None
    return value.model_copy(update={"written": dict.fromkeys(value.versions.values(), schema.layout(root))})


def good(**more: object) -> Any:  # noqa: ANN401 - of a class that is made of text
    """Return a message with all that there is in it."""
    found: Any = FLIGHT(
        id=-7,
        tags=["a", "größer 🙂"],
        place=1,
        note="text",
        inner={"deep": 0.5, "again": {"deep": 1.5, "n": 3}},
        speed=1.5,
        up=True,
        extra={"k": b"\xff\x00", "": b""},
        code=b"abc",
        counts=[1, -2, 2**31 - 1],
        small=-(2**31),
        plain=2**32 - 1,
        big=2**64 - 1,
        iban=5,
        inners=[{}, {"n": 0}, {"deep": -1}],
        below=-9,
        prices={-1: 0.5, 7: 2.0},
    )
    found.at.FromDatetime(AT)
    found.seen.FromDatetime(AT + timedelta(microseconds=1))
    for name, value in more.items():
        setattr(found, name, value)
    return found


def frame(spark: SparkSession, values: list[bytes | None]) -> Any:  # noqa: ANN401 - a DataFrame
    rows = [(n, None if data is None else bytearray(data), AT) for n, data in enumerate(values)]
    return spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp")


def decoded(spark: SparkSession, value: TopicValue, values: list[bytes | None]) -> list[Row]:
    found = decode(frame(spark, values), value).orderBy("n").collect()
    assert [row["n"] for row in found] == list(range(len(values)))
    return found


def judged(spark: SparkSession, value: TopicValue, values: list[bytes | None]) -> list[str]:
    found = validate(frame(spark, values), value, RULES).select("n", OUTCOME, REASON).orderBy("n").collect()
    assert [row["n"] for row in found] == list(range(len(values)))
    return [row[REASON] or row[OUTCOME] for row in found]


def read(message: Any) -> dict[str, Any]:  # noqa: ANN401 - of a class that is made of text
    """Return what a spec's columns hold of a message that the library has read."""
    inner = message.inner if message.HasField("inner") else None
    again = inner.again if inner is not None and inner.HasField("again") else None
    return {
        "id": message.id,
        "tags": [*message.tags],
        "place": ("EWR", "JFK", "LGA")[message.place],
        "note": message.note if message.HasField("note") else None,
        "inner": inner and {**_inner(inner), "again": again and _inner(again)},
        "deepest": again and again.deep,
        "speed": message.speed,
        "up": message.up,
        "extra": dict(message.extra),
        "code": message.code,
        "counts": [*message.counts],
        "small": message.small,
        "plain": message.plain,
        "card": message.card if message.HasField("card") else None,
        "iban": message.iban if message.HasField("iban") else None,
        "inners": [_inner(each) for each in message.inners],
        "below": message.below,
        "prices": {str(key): value for key, value in message.prices.items()},
        **{name: _micros(message, name) for name in ("at", "seen")},
    }


def _inner(message: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"deep": message.deep, "n": message.n if message.HasField("n") else None}


def _micros(message: Any, name: str) -> int | None:  # noqa: ANN401
    at = getattr(message, name)
    return at.seconds * 1_000_000 + at.nanos // 1000 if message.HasField(name) else None


def plain(value: Any) -> Any:  # noqa: ANN401 - of any column
    """Return a column's value as the library has it."""
    if isinstance(value, Row):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, datetime):
        return (value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return bytes(value) if isinstance(value, bytearray) else value


def columns(row: Row) -> dict[str, Any]:
    return {name: plain(row[name]) for name in FIELDS}


def test_a_record_is_read_as_it_was_written(spark: SparkSession) -> None:
    messages = [good(), good(card="c", small=7, place=2), FLIGHT(id=1)]
    rows = decoded(spark, declared(), [each.SerializeToString() for each in messages])
    assert [columns(row) for row in rows] == [read(each) for each in messages]
    assert [row[FAULT] for row in rows] == [None, None, None]
    assert (rows[1]["card"], rows[1]["iban"]) == ("c", None)
    empty = rows[2]
    assert [empty[name] for name in ("note", "inner", "deepest", "at", "card")] == [None] * 5
    assert (empty["place"], empty["up"], empty["tags"], empty["extra"], empty["speed"]) == ("EWR", False, [], {}, 0.0)


def tag(number: int, wire: int) -> bytes:
    assert number < 16
    return bytes([number << 3 | wire])


def test_each_fault_has_its_reason_and_its_field(spark: SparkSession) -> None:
    whole = good().SerializeToString()
    wide = b"\xff\xff\xff\xff\x7f"
    negative = b"\xff" * 9 + b"\x01"
    expected: list[tuple[bytes | None, str | None, str | None]] = [
        (whole, None, None),
        (None, "tombstone", None),
        (b"", "empty", None),
        (whole[:-1], "malformed", None),
        (whole + b"\x00", "malformed", None),
        (whole + tag(15, 4), "malformed", None),
        (whole + tag(15, 6), "malformed", None),
        (whole + tag(2, 2) + negative, "malformed", None),
        (whole + tag(2, 2) + wide + b"abc", "malformed", None),
        (whole + tag(4, 2) + b"\x01\xff", "malformed", "note is not UTF-8"),
        (whole + tag(2, 2) + b"\x02\xc0\x80", "malformed", "tags[] is not UTF-8"),
        (whole + tag(8, 2) + b"\x03\x0a\x01\xff", "malformed", "extra{} is not UTF-8"),
        (whole + b"\xf8\x7f\x07", None, None),
        (whole + tag(1, 2) + b"\x01a", "wrong_type", "id is not written as int64"),
        (whole + tag(5, 2) + b"\x02" + tag(1, 0) + b"\x01", "wrong_type", "inner.deep is not written as double"),
        (whole + tag(15, 0) + b"\x01", "wrong_type", "big is not written as fixed64"),
        (whole + tag(13, 0) + wide, "wrong_type", "small is a number beyond 32 bits"),
        (whole + tag(12, 2) + b"\x05" + wide, "wrong_type", "counts[] is a number beyond 32 bits"),
        (whole + tag(7, 0) + b"\x02", "wrong_type", "up is a number, and no bool"),
        (whole + tag(3, 0) + b"\x07", "wrong_type", "place is a number that its enum does not name"),
        (
            whole + tag(9, 2) + b"\x06" + tag(2, 0) + wide[:4] + b"\x07",
            "wrong_type",
            "at is no time of the years 1 to 9999",
        ),
        (good(speed=float("nan")).SerializeToString(), "not_finite", "speed is no finite number"),
    ]
    rows = decoded(spark, declared(), [data for data, _, _ in expected])
    assert [(row[FAULT], row[FAULT_DETAIL]) for row in rows] == [(fault, detail) for _, fault, detail in expected]


def test_frames_say_which_schema_and_which_message(spark: SparkSession) -> None:
    text = PROTO.replace("message Inner", "message First { int64 a = 1; }\nmessage Inner", 1)
    value = declared(text, framing="confluent", schemas={7: 1, 256: 1}, version=None)
    data = good().SerializeToString()
    frames = {
        b"\x00\x00\x00\x00\x07\x02\x04" + data: "good",
        b"\x00\x00\x00\x01\x00\x02\x04" + data: "good",
        b"\x00\x00\x00\x00\x07\x00" + data: "unknown_schema",
        b"\x00\x00\x00\x00\x07\x02\x02" + data: "unknown_schema",
        b"\x00\x00\x00\x00\x07\x04\x04\x00" + data: "unknown_schema",
        b"\x00\x00\x00\x00\x09\x02\x04" + data: "unknown_schema",
        b"\x00\x00\x00\x00\x07": "bad_framing",
        b"\x00\x00\x00\x00\x07\x02": "bad_framing",
        b"\x00\x00\x00\x00\x07\x01" + data: "bad_framing",
        b"\x00\x00\x00\x00\x07\xfe\xff\xff\xff\x0f" + data: "bad_framing",
        b"\x00\x00\x00\x00\x07\x02\x04": "empty",
        b"\x01\x00\x00\x00\x07\x02\x04" + data: "bad_framing",
        data: "bad_framing",
    }
    assert judged(spark, value, [*frames]) == [*frames.values()]
    first = declared(
        PROTO.replace("message Inner", "message Unused {}\nmessage Inner").replace("message Flight", "message F2"), "F2"
    )
    assert judged(spark, first, [data]) == ["good"]


def test_a_version_that_lacks_a_field_reads_it_as_null(spark: SparkSession) -> None:
    older = PROTO.replace("repeated string tags = 2;", "").replace("float speed = 6;", "")
    (row,) = decoded(spark, declared(older), [good().SerializeToString()])
    assert (row["tags"], row["speed"], row[FAULT]) == (None, None, None)


def test_groups_and_closed_enums_of_proto2_are_read(spark: SparkSession) -> None:
    text = """
    syntax = "proto2";
    message Old {
      required int64 id = 1;
      optional group Item = 2 { optional string name = 1; repeated int32 n = 2; }
      enum Place { EWR = 1; JFK = 2; }
      optional Place place = 3 [default = JFK];
      required int64 at = 4;
    }
    """
    fields = {
        "id": {"type": "long"},
        "name": {"type": "string", "path": "$.item.name"},
        "numbers": {"type": "array", "items": {"type": "long"}, "path": "$.item.n"},
        "place": {"type": "string"},
        "at": {"type": "timestamp", "epoch": "seconds"},
    }
    value = declared(text, "Old", fields=fields, arrival_time="broker")
    message: Any = classes(text)["Old"](id=1, item={"name": "x", "n": [1, 2]}, place=1, at=1357034400)
    data = message.SerializeToString()
    rows = decoded(spark, value, [data, data[:2], data + b"\x18\x07", data + b"\x13\x14", data + b"\x13\x2b\x2c\x14"])
    assert [row[FAULT] for row in rows] == [None, None, "wrong_type", None, None]
    assert [rows[0][name] for name in ("id", "name", "numbers", "place")] == [1, "x", [1, 2], "EWR"]
    assert rows[0]["at"].astimezone(UTC) == AT
    assert [rows[1][name] for name in ("id", "name", "numbers", "place", "at")] == [1, None, None, None, None]


def test_the_fields_that_a_message_has_are_known_with_those_that_nothing_declares(spark: SparkSession) -> None:
    data = FLIGHT(id=1, up=True, tags=["a"], inner={"deep": 1}, speed=0.5, note="x").SerializeToString()
    more = data + b"\xf8\x3f\x07" + b"\xc2\x3e\x01a" + b"\xfd\x3f" + bytes(4)
    framed = declared(framing="confluent", schemas={7: 1}, version=None)
    head = b"\x00\x00\x00\x00\x07\x02\x02"
    told = {"id": 1, "up": True, "tags": [], "inner": {}, "speed": 0.5, "note": ""}
    unknown = {"1023": 0.5, "1000": ""}
    for value, before in ((declared(), b""), (framed, head)):
        rows = frame(spark, [before + data, before + more, before + data[:-1], None])
        found = rows.withColumnRenamed("_value", "value").select("n", fields_as_json(value).alias("text")).orderBy("n")
        texts = [row["text"] and json.loads(row["text"]) for row in found.collect()]
        assert texts == [told, told | unknown, None, None]


def in_pieces(chance: random.Random) -> bytes:
    """Return fields in any order and number, some of them written as another type."""
    found = b""
    for _ in range(chance.randrange(1, 6)):
        field = chance.choice(FLIGHT.DESCRIPTOR.fields)
        piece = FLIGHT()
        whole = good()
        for kept in chance.choices(whole.ListFields(), k=2):
            _copy(piece, whole, kept[0].name)
        head = field.number << 3 | chance.choice([0, 1, 2, 5])
        other = bytes([head & 0x7F | 0x80, head >> 7]) + chance.choice([b"\x00", b"\x01\x01", bytes(4), bytes(8)])
        found += other if chance.random() < 0.2 else piece.SerializeToString()
    return found


def _copy(piece: Any, whole: Any, name: str) -> None:  # noqa: ANN401 - of a class that is made of text
    left = FLIGHT.FromString(whole.SerializeToString())
    for field in FLIGHT.DESCRIPTOR.fields:
        if field.name != name:
            left.ClearField(field.name)
    piece.MergeFrom(left)


def mutated(chance: random.Random) -> bytes:
    """Return random bytes, or a record of which a few bytes are others, missing or too many."""
    more = {"speed": chance.choice([1.5, float("inf")]), "small": chance.choice([1, -1, 2**31 - 1])}
    data = bytearray(good(**(more if chance.random() < 0.3 else {})).SerializeToString())
    match chance.randrange(12):
        case 0:
            return chance.randbytes(chance.randrange(60))
        case 1:
            del data[chance.randrange(len(data)) :]
        case 2:
            place = chance.randrange(len(data))
            data[place:place] = chance.randbytes(chance.randrange(1, 4))
        case 3:
            data += bytes(
                chance.choice([0, 8, 13, 18, 40, 66, 0x9B, 0x9C, 1, 2, 0x80]) for _ in range(chance.randrange(6))
            )
        case 4:
            first = chance.randrange(len(data))
            data = data[:first] + data[chance.randrange(len(data)) :]
        case 5:
            data = data + data[chance.randrange(len(data)) :]
        case 6 | 7 | 8 | 9:
            return in_pieces(chance)
        case _:
            for _ in range(chance.randrange(4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def wanted_fault(data: bytes) -> str | None:
    """Return what must become of a record: by the library, and by what it passes over."""
    if not data:
        return "empty"
    message: Any = parsed(FLIGHT, data)
    faults = {"malformed"} if message is None else silent_faults(FLIGHT.DESCRIPTOR, data)
    if "malformed" in faults:
        return "malformed"
    if "not_finite" in faults:
        return "not_finite"
    times = [getattr(message, name) for name in ("at", "seen")]
    known = all(-62135596800 <= at.seconds <= 253402300799 and 0 <= at.nanos < 10**9 for at in times)
    return None if known and message.place in (0, 1, 2) and not faults else "wrong_type"


def agree(spark: SparkSession, values: list[bytes]) -> Counter[str | None]:
    rows = decoded(spark, declared(), [*values])
    for data, row in zip(values, rows, strict=True):
        assert row[FAULT] == wanted_fault(data), (data.hex(), row[FAULT_DETAIL])
        if row[FAULT] is None:
            message = parsed(FLIGHT, data)
            assert columns(row) == read(message), data.hex()
    return Counter(row[FAULT] for row in rows)


def test_some_thousand_records_are_judged_as_the_library_does(spark: SparkSession) -> None:
    chance = random.Random(0)
    found = agree(spark, [mutated(chance) for _ in range(4_000)])
    assert {None, "malformed", "wrong_type", "empty", "not_finite"} <= set(found), found
    assert min(found[None], found["malformed"], found["wrong_type"]) > 150, found


@pytest.mark.verify
@pytest.mark.timeout(1200)
def test_half_a_million_records_are_judged_as_the_library_does(spark: SparkSession) -> None:
    for seed in range(1, 26):
        chance = random.Random(seed)
        agree(spark, [mutated(chance) for _ in range(20_000)])
