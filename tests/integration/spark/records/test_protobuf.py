"""Protobuf on Spark: how messages are read, bare and framed, and which reason each fault has."""

from __future__ import annotations

import json
from datetime import UTC, timedelta
from typing import Any

from pyspark.sql import SparkSession

from sluice.spark.checks.producer_drift import fields_as_json
from sluice.spark.records.decoding import FAULT, FAULT_DETAIL
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from tests.protobuf_oracle import classes
from tests.protobuf_records import AT, FLIGHT, PROTO, columns, declared, decoded, frame, good, read

RULES = TimeRules(allowed_lateness=timedelta(hours=3), future_skew=timedelta(hours=1))


def judged(spark: SparkSession, value: TopicValue, values: list[bytes | None]) -> list[str]:
    found = validate(frame(spark, values), value, RULES).select("n", OUTCOME, REASON).orderBy("n").collect()
    assert [row["n"] for row in found] == list(range(len(values)))
    return [row[REASON] or row[OUTCOME] for row in found]


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
        (whole + tag(1, 0) + b"\xff" * 9 + b"\x00", "malformed", None),
        (whole + tag(1, 0) + b"\xff" * 9 + b"\x03", "malformed", None),
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
