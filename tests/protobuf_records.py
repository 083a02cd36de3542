"""Flights in Protobuf: a message with all that there is in it, decoded on Spark, and what its library has read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from sluice.contracts.protoc import read_protobuf
from sluice.spark.records.decoding import decode
from sluice.specs.model.model import TopicValue
from tests.protobuf_oracle import classes

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


def frame(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [(n, None if data is None else bytearray(data), AT) for n, data in enumerate(values)]
    return spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp")


def decoded(spark: SparkSession, value: TopicValue, values: list[bytes | None]) -> list[Row]:
    found = decode(frame(spark, values), value).orderBy("n").collect()
    assert [row["n"] for row in found] == list(range(len(values)))
    return found


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
