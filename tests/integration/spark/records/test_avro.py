"""Avro and Confluent's framing on Spark: whatever bytes come, nothing raises or is dropped, and the oracle agrees."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from pyspark.sql import Row, SparkSession

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.quality.reasons import Outcome, Reason
from sluice.settings import Settings
from sluice.spark.records.decoding import FAULT, decode
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from sluice.streams.failures.exits import ExitCode
from sluice.topics.administration import TopicCreation
from tests.avro_oracle import BrokenError, Reading, encode
from tests.editing import edit
from tests.integration.spark.conftest import DriverPlace, values_of
from tests.oracle import departures, differences, flights

AT = datetime(2013, 1, 1, 10, tzinfo=UTC)
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
PLACES = {"type": "enum", "name": "Place", "symbols": ["EWR", "JFK", "LGA"]}
INNER = {"type": "record", "name": "Inner", "fields": [{"name": "deep", "type": ["null", "double"]}]}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "place", "type": PLACES},
        {"name": "note", "type": ["null", "string"]},
        {"name": "inner", "type": INNER},
        {"name": "speed", "type": ["float", "null", "int"]},
        {"name": "up", "type": "boolean"},
        {"name": "extra", "type": {"type": "map", "values": ["null", "bytes"]}},
        {"name": "at", "type": MILLIS},
        {"name": "code", "type": {"type": "fixed", "name": "Code", "size": 3}},
        {"name": "seen", "type": MICROS},
        {"name": "nothing", "type": {"type": "array", "items": "null"}},
    ],
}
FIELDS = {
    "id": {"type": "long", "required": True},
    "place": {"type": "string", "required": True},
    "note": {"type": "string"},
    "speed": {"type": "double"},
    "up": {"type": "boolean"},
    "at": {"type": "timestamp", "required": True},
    "seen": {"type": "timestamp", "required": True},
    "later": {"type": "string"},
}
GOOD: dict[str, Any] = {
    "id": -7,
    "tags": ["a", "größer 🙂"],
    "place": "JFK",
    "note": (1, "text"),
    "inner": {"deep": (1, 0.5)},
    "speed": (0, 1.5),
    "up": True,
    "extra": {"k": (1, b"\xff\x00"), "n": (0, None)},
    "at": int(AT.timestamp() * 1000),
    "code": b"abc",
    "seen": int(AT.timestamp() * 1_000_000) + 1,
    "nothing": [None, None],
}
RULES = TimeRules(allowed_lateness=timedelta(hours=3), future_skew=timedelta(hours=1))


def value(schema: object = SCHEMA, **more: object) -> TopicValue:
    """Return the declaration of the topic, as the loader leaves it: with the text of its schemas."""
    said = {"fields": FIELDS, "event_time": "at", "arrival_time": "seen", **(more or {"version": 1})}
    found = TopicValue.model_validate({"format": "avro", **said})
    return found.model_copy(update={"written": {v: json.dumps(schema) for v in found.versions.values()}})


def decoded(spark: SparkSession, declared: TopicValue, values: list[bytes | None]) -> list[Row]:
    rows = [(n, None if data is None else bytearray(data), AT) for n, data in enumerate(values)]
    records = spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp")
    found = decode(records, declared).orderBy("n").collect()
    assert [row["n"] for row in found] == list(range(len(values)))
    return found


def judged(spark: SparkSession, declared: TopicValue, values: list[bytes | None]) -> list[str]:
    rows = [(n, None if data is None else bytearray(data), AT) for n, data in enumerate(values)]
    records = spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp")
    found = validate(records, declared, RULES).select("n", OUTCOME, REASON).orderBy("n").collect()
    assert [row["n"] for row in found] == list(range(len(values)))
    return [row[REASON] or row[OUTCOME] for row in found]


def test_a_record_is_read_as_it_was_written(spark: SparkSession) -> None:
    (row,) = decoded(spark, value(), [encode(SCHEMA, GOOD)])
    found = {name: row[name] for name in FIELDS}
    assert found.pop("at").astimezone(UTC) == AT
    assert found.pop("seen").astimezone(UTC) == AT + timedelta(microseconds=1)
    assert found == {"id": -7, "place": "JFK", "note": "text", "speed": 1.5, "up": True, "later": None}
    assert row[FAULT] is None
    others = {
        "note": (0, None),
        "speed": (2, 3),
        "id": 2**63 - 1,
        "extra": {},
        "tags": [],
        "inner": {"deep": (0, None)},
    }
    (row,) = decoded(spark, value(), [encode(SCHEMA, GOOD | others)])
    assert (row["note"], row["speed"], row["id"], row[FAULT]) == (None, 3.0, 2**63 - 1, None)


def test_each_fault_has_its_reason(spark: SparkSession) -> None:
    good = encode(SCHEMA, GOOD)
    blocks = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}
    huge = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # a length of 2^63 - 1
    expected: list[tuple[bytes | None, str]] = [
        (good, "good"),
        (None, "tombstone"),
        (b"", "empty"),
        (good[:-1], "malformed"),
        (good + b"\x00", "trailing_bytes"),
        (good + good, "trailing_bytes"),
        (encode(SCHEMA, GOOD | {"tags": []})[:1] + b"\x02" + huge, "malformed"),
        (encode(SCHEMA, GOOD | {"speed": (0, float("nan"))}), "not_finite"),
        (encode(SCHEMA, GOOD | {"inner": {"deep": (1, float("inf"))}}), "not_finite"),
        (encode(SCHEMA, GOOD).replace(b"text", b"te\xfft"), "malformed"),
        (encode(SCHEMA, GOOD | {"at": 2**62}), "wrong_type"),
        (encode(SCHEMA, GOOD | {"at": 0}), "late"),
        (encode(SCHEMA, GOOD | {"at": -(10**13)}), "out_of_range"),
        (json.dumps({"id": 1}).encode(), "malformed"),
    ]
    assert judged(spark, value(), [data for data, _ in expected]) == [reason for _, reason in expected]
    assert judged(spark, value(blocks), [b"\xfe\xff\xff\x7f\x00"]) == ["malformed"], "nulls without end"
    assert judged(spark, value(blocks), [b"\x80\xb5\x18\x00"]) == ["malformed"], "200,000 nulls in three bytes"


def test_a_time_of_any_field_lies_in_the_years_that_records_can_be_of(spark: SparkSession) -> None:
    fields = [*SCHEMA["fields"], {"name": "left", "type": ["null", MILLIS]}]
    schema, declared = {**SCHEMA, "fields": fields}, {**FIELDS, "left": {"type": "timestamp"}}
    moments = {
        datetime(1900, 1, 1, tzinfo=UTC): Outcome.GOOD,
        datetime(2199, 12, 31, 23, 59, 59, tzinfo=UTC): Outcome.GOOD,
        datetime(1899, 12, 31, 23, 59, 59, tzinfo=UTC): Reason.OUT_OF_RANGE,
        datetime(2300, 1, 1, tzinfo=UTC): Reason.OUT_OF_RANGE,
    }
    values = [encode(schema, {**GOOD, "left": (1, int(moment.timestamp() * 1000))}) for moment in moments]
    assert judged(spark, value(schema, version=1, fields=declared), values) == list(moments.values())


def test_frames_are_told_apart_and_each_id_has_its_schema(spark: SparkSession) -> None:
    older = {**SCHEMA, "fields": [field for field in SCHEMA["fields"] if field["name"] != "note"]}
    declared = value(framing="confluent", schemas={7: 1, 256: 2})
    declared = declared.model_copy(update={"written": {1: json.dumps(older), 2: json.dumps(SCHEMA)}})
    old, new = encode(older, GOOD), encode(SCHEMA, GOOD)
    frames = [b"\x00\x00\x00\x00\x07" + old, b"\x00\x00\x00\x01\x00" + new]
    rows = decoded(spark, declared, [*frames])
    assert [(row["note"], row[FAULT]) for row in rows] == [(None, None), ("text", None)]
    wrong = [
        b"\x00\x00\x00\x00\x08" + old,
        b"\x01\x00\x00\x00\x07" + old,
        old,
        b"\x00\x00\x00\x00",
        frames[0][:5],
        b"",
        None,
    ]
    reasons = ["unknown_schema", "bad_framing", "bad_framing", "bad_framing", "empty", "empty", "tombstone"]
    assert judged(spark, declared, [*wrong]) == reasons
    assert judged(spark, declared, [b"\x00\x00\x00\x00\x07" + new, b"\x00\xff\xff\xff\xff"]) != ["good", "good"]


def test_json_in_frames_is_read_as_json(spark: SparkSession) -> None:
    said = {"fields": FIELDS, "event_time": "at", "arrival_time": "seen", "framing": "confluent", "schemas": {9: 1}}
    declared = TopicValue.model_validate(said)
    good = {"id": 1, "place": "JFK", "at": "2013-01-01T10:00:00Z", "seen": "2013-01-01T10:00:00Z"}
    text = json.dumps(good).encode()
    values = [b"\x00\x00\x00\x00\x09" + text, text, b"\x00\x00\x00\x00\x08" + text, b"\x00\x00\x00\x00\x09{" + text]
    assert judged(spark, declared, [*values]) == ["good", "bad_framing", "unknown_schema", "malformed"]


def expected_of(data: bytes) -> str:
    """Return what must become of a record, by the oracle."""
    reading = Reading(data)
    try:
        found = reading.value(SCHEMA)
    except BrokenError:
        return Reason.MALFORMED if data else Reason.EMPTY
    at, seen = found["at"] / 1000, found["seen"] / 1_000_000
    known = all(-2208988800 <= moment < 7258118400 for moment in (at, seen))
    rules = {
        Reason.TRAILING_BYTES: reading.place != len(data),
        Reason.NOT_FINITE: not reading.finite,
        Reason.WRONG_TYPE: abs(found["at"]) > (2**63 - 1) // 1000,
        Reason.OUT_OF_RANGE: not known,
        Reason.FUTURE: at - seen > RULES.future_skew.total_seconds()
        or seen - AT.timestamp() > RULES.clock_skew.total_seconds(),
        Outcome.LATE: seen - at > RULES.allowed_lateness.total_seconds(),
    }
    return next((reason for reason, holds in rules.items() if holds), Outcome.GOOD)


def mutations(seed: int, count: int) -> list[bytes]:
    """Return random bytes, and records of which a few bytes are others, missing or too many."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        speeds = [(0, 1.5), (0, 2.5), (1, None), (2, -3), (0, float("inf"))]
        data = bytearray(encode(SCHEMA, GOOD | {"speed": chance.choice(speeds)}))
        match chance.randrange(7):
            case 0:
                data = bytearray(chance.randbytes(chance.randrange(60)))
            case 1:
                del data[chance.randrange(len(data)) :]
            case 2:
                place = chance.randrange(len(data))
                data[place:place] = chance.randbytes(chance.randrange(1, 4))
            case 3:
                data += chance.randbytes(chance.randrange(3))
            case 4:
                pass
            case _:
                for _ in range(chance.randrange(4)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
        found.append(bytes(data))
    return found


def agree(spark: SparkSession, seed: int, count: int) -> Counter[str]:
    values = mutations(seed, count)
    found, wanted = judged(spark, value(), [*values]), [str(expected_of(data)) for data in values]
    assert [(v, f, w) for v, f, w in zip(values, found, wanted, strict=True) if f != w] == []
    return Counter(found)


def test_some_thousand_records_are_judged_as_the_oracle_does(spark: SparkSession) -> None:
    found = agree(spark, seed=0, count=5_000)
    assert {"good", "malformed", "trailing_bytes", "empty", "out_of_range", "not_finite"} <= set(found), found
    assert min(found["good"], found["malformed"]) > 500


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_half_a_million_records_are_judged_as_the_oracle_does(spark: SparkSession) -> None:
    for seed in range(1, 11):
        agree(spark, seed, 50_000)


def test_the_oracle_itself_knows_the_specifications_examples() -> None:
    assert [encode("long", n) for n in (0, -1, 1, -2, 64)] == [b"\x00", b"\x01", b"\x02", b"\x03", b"\x80\x01"]
    assert encode("string", "foo") == b"\x06foo"
    assert encode({"type": "array", "items": "long"}, [3, 27]) == b"\x04\x06\x36\x00"
    assert encode("double", 0.5) == struct.pack("<d", 0.5)


FLIGHT: dict[str, Any] = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "flight_id", "type": "long"},
        {"name": "carrier", "type": "string"},
        {"name": "flight", "type": "int"},
        {"name": "origin", "type": {"type": "enum", "name": "Origin", "symbols": ["EWR", "JFK", "LGA"]}},
        {"name": "dest", "type": "string"},
        {"name": "scheduled_at", "type": MILLIS},
        {"name": "observed_at", "type": MILLIS},
        {"name": "departed_at", "type": ["null", MILLIS]},
        {"name": "dep_delay_min", "type": ["null", "int"]},
        {"name": "cancelled", "type": "boolean"},
    ],
}
NEWER = {**FLIGHT, "fields": [{"name": "note", "type": ["null", "string"], "default": None}, *FLIGHT["fields"]]}


@pytest.mark.verify
@pytest.mark.timeout(600)
def test_a_stream_of_framed_avro_under_two_versions_gives_what_the_oracle_gives(
    own_broker: BrokerProcess, tmp_path: Path
) -> None:
    own = DriverPlace(tmp_path / "state").with_own_project()
    contract = own.home / "include" / "schemas" / "flights"
    for file in contract.iterdir():
        file.unlink()
    for number, schema in enumerate((FLIGHT, NEWER), start=1):
        (contract / f"{number}.avsc").write_text(json.dumps(schema))
    topic = own.home / "include" / "topics" / "flights.yaml"
    framed = "format: avro\n  framing: confluent\n  schemas: {7: 1, 70000: 2}"
    edit(topic, "format: json", framed)
    write_endpoints(
        Settings(state=own.state).folder, Endpoints(kafka_bootstrap=(own_broker.bootstrap,), airflow_url="")
    )
    bad = publish_avro(own_broker.bootstrap)
    finished = own.run()
    assert finished.returncode == ExitCode.STOPPED, finished.stdout[-3000:]
    raw = own.table("flights_raw")
    assert (~raw["decodes"]).sum() == len(bad)
    # Nothing closes the last hours: the heartbeat of a feed is JSON, and there is none.
    found, wanted = own.table("departures"), departures("2013-01-01", "2013-01-02")
    closed = wanted[wanted["hour"] <= found["hour"].max()]
    assert len(closed) > 0.8 * len(wanted)
    assert differences(found, closed) == []


def publish_avro(bootstrap: str) -> list[bytes]:
    """Send two days of flights, every other one under the newer version, and some that are broken; return those."""
    with KafkaPythonAdministration((bootstrap,), {}) as administration:
        administration.create([TopicCreation("flights", 4, 1, {"retention.ms": "-1"})])
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number, flight in enumerate(values_of(flights("2013-01-01", "2013-01-02"))):
        given: dict[str, Any] = {**flight, "note": (1, "n")}
        for name in ("scheduled_at", "observed_at", "departed_at"):
            moment = datetime.fromisoformat(str(given.get(name, flight["scheduled_at"])))
            given[name] = int(moment.timestamp() * 1000)
        given["departed_at"] = (1, given["departed_at"]) if "departed_at" in flight else (0, None)
        given["dep_delay_min"] = (1, given["dep_delay_min"]) if "dep_delay_min" in flight else (0, None)
        head, schema = (b"\x00\x00\x00\x00\x07", FLIGHT) if number % 2 else (b"\x00\x00\x01\x11\x70", NEWER)
        producer.send("flights", key=str(flight["carrier"]).encode(), value=head + encode(schema, given))
    bad = [b'{"flight_id": 1}', b"\x00\x00\x00\x00\x09abc", b"\x00\x00\x00\x00\x07\xff"]
    for value in bad:
        producer.send("flights", value=value)
    producer.close()
    return bad
