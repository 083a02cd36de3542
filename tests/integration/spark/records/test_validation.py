from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import Row, SparkSession

from sluice.quality.reasons import FAULTS, Reason
from sluice.spark.records.validation import DETAIL, OUTCOME, REASON, decodes, validate
from sluice.spark.sinks.raw import raw_records, raw_rows
from sluice.specs.catalog.catalog import Catalog

GOOD = {
    "flight_id": 1,
    "carrier": "AA",
    "flight": 1,
    "origin": "JFK",
    "dest": "LAX",
    "scheduled_at": "2013-01-01T10:00:00Z",
    "observed_at": "2013-01-01T10:05:00Z",
    "cancelled": False,
}
HEARTBEAT = {"heartbeat": True, "scheduled_at": "2013-01-01T10:00:00Z", "observed_at": "2013-01-01T10:00:00Z"}
FAR = {"scheduled_at": "2100-01-01T00:00:00Z", "observed_at": "2100-01-01T00:00:00Z"}
BROKER = datetime(2013, 1, 2, tzinfo=UTC)


def value(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


CORPUS: list[tuple[str, bytes | None, str]] = [
    ("good", value(), "good"),
    ("null optional", value(tailnum=None), "good"),
    ("unknown field", value(extra=1), "good"),
    ("exactly 180 minutes late", value(observed_at="2013-01-01T13:00:00Z"), "good"),
    ("one second later", value(observed_at="2013-01-01T13:00:01Z"), "late"),
    ("exactly 60 minutes early", value(observed_at="2013-01-01T09:00:00Z"), "good"),
    ("one second earlier", value(observed_at="2013-01-01T08:59:59Z"), Reason.FUTURE),
    ("far future", value(scheduled_at="2099-01-01T00:00:00Z"), Reason.FUTURE),
    ("milliseconds for seconds", value(scheduled_at=1357034400000, observed_at=1357034400000), Reason.WRONG_TYPE),
    ("beyond all years", value(scheduled_at="9999-12-31T23:59:59Z"), Reason.OUT_OF_RANGE),
    ("before all years", value(scheduled_at="0001-01-01T00:00:00Z"), Reason.OUT_OF_RANGE),
    ("last second", value(scheduled_at="2199-12-31T23:59:59Z", observed_at="2199-12-31T23:59:59Z"), Reason.FUTURE),
    ("a heartbeat from the future", json.dumps({**HEARTBEAT, **FAR}).encode(), Reason.FUTURE),
    (
        "heartbeat in milliseconds",
        json.dumps({**HEARTBEAT, "scheduled_at": 1357034400000, "observed_at": 1357034400000}).encode(),
        Reason.WRONG_TYPE,
    ),
    (
        "times from both ends",
        value(scheduled_at="-290000-01-01T00:00:00Z", observed_at="+290000-01-01T00:00:00Z"),
        Reason.WRONG_TYPE,
    ),
    ("heartbeat", json.dumps(HEARTBEAT).encode(), "control"),
    ("heartbeat without time", b'{"heartbeat": true}', Reason.MISSING_FIELD),
    ("no heartbeat", value(heartbeat=False), "good"),
    ("tombstone", None, Reason.TOMBSTONE),
    ("empty", b"", Reason.EMPTY),
    ("blank", b" \t\r\n", Reason.EMPTY),
    ("random bytes", b"\xff\x00\xfe", Reason.MALFORMED),
    ("invalid UTF-8 inside", value(dest="XX").replace(b"XX", b"\xff\xfe"), Reason.MALFORMED),
    ("truncated", value()[:-5], Reason.MALFORMED),
    ("JSON null", b"null", Reason.MALFORMED),
    ("array", b"[]", Reason.MALFORMED),
    ("array of objects", b"[" + value() + b"]", Reason.MALFORMED),
    ("number", b"1", Reason.MALFORMED),
    ("string", b'"x"', Reason.MALFORMED),
    ("leading white space", b" \n\t" + value(), "good"),
    ("text for a number", value(flight_id="one"), Reason.WRONG_TYPE),
    ("fraction for a long", value(flight_id=1.5), Reason.WRONG_TYPE),
    ("too large a long", value(flight_id=10**30), Reason.WRONG_TYPE),
    ("text for a boolean", value(cancelled="no"), Reason.WRONG_TYPE),
    ("no timestamp", value(scheduled_at="yesterday"), Reason.WRONG_TYPE),
    ("no type fits and nothing is left", b'{"flight_id": "seven"}', Reason.WRONG_TYPE),
    ("a time without a date", value(scheduled_at="10:00:00Z"), Reason.WRONG_TYPE),
    ("microseconds for seconds", value(scheduled_at=1357034400000000), Reason.WRONG_TYPE),
    ("seconds", value(scheduled_at=1357034400), Reason.WRONG_TYPE),
    ("a time without a zone", value(scheduled_at="2013-01-01T10:00:00"), Reason.WRONG_TYPE),
    ("a year as a time", value(departed_at="2013"), Reason.WRONG_TYPE),
    ("a time that ends in a zero", value(departed_at="2013-01-01T10:00:00Z\0"), Reason.WRONG_TYPE),
    ("another time beyond all years", value(departed_at="2300-01-01T00:00:00Z"), Reason.OUT_OF_RANGE),
    ("a number of 1,001 digits", value(extra=0).replace(b"0}", b"7" * 1001 + b"}"), Reason.MALFORMED),
    ("single quotes", value().replace(b'"', b"'"), Reason.MALFORMED),
    ("byte order mark", b"\xef\xbb\xbf" + value(), Reason.MALFORMED),
    ("UTF-16", value().decode().encode("utf-16-le"), Reason.MALFORMED),
    ("half a character", value(tailnum="\ud83d"), Reason.MALFORMED),
    ("half a character where nobody looks", value(extra=["\ude42"]), Reason.MALFORMED),
    ("a whole character in two halves", value(tailnum="\U0001f642"), "good"),
    ("white space after it", value() + b"\r\n", "good"),
    ("garbage after it", value() + b" garbage", Reason.TRAILING_BYTES),
    ("two objects", value() * 2, Reason.TRAILING_BYTES),
    ("zeros after it", value() + b"\0\0", Reason.TRAILING_BYTES),
    ("a key twice", value()[:-1] + b', "flight": 2}', Reason.DUPLICATE_KEY),
    ("a key twice where nobody looks", value(extra=0).replace(b"0}", b'{"a": 1, "a": 1}}'), Reason.DUPLICATE_KEY),
    ("the same key in two objects", value(extra=[{"a": 1}, {"a": 1}], a={"a": 1}), "good"),
    ("NaN", value()[:-1] + b', "distance_miles": NaN}', Reason.NOT_FINITE),
    ("NaN where nobody looks", value(extra=float("nan")), Reason.NOT_FINITE),
    ("infinity", value(distance_miles=float("-inf")), Reason.NOT_FINITE),
    ("absent field", json.dumps({k: v for k, v in GOOD.items() if k != "carrier"}).encode(), Reason.MISSING_FIELD),
    ("null field", value(carrier=None), Reason.MISSING_FIELD),
    ("other case", value().replace(b"carrier", b"Carrier"), Reason.WRONG_CASE),
    ("other case beside it", value(Carrier="AA"), Reason.WRONG_CASE),
    ("other case further inside", value(extra={"Carrier": "AA"}), "good"),
    ("empty object", b"{}", Reason.MISSING_FIELD),
    ("above the range", value(dep_delay_min=2881), Reason.OUT_OF_RANGE),
    ("at the end of the range", value(dep_delay_min=2880), "good"),
    ("below the range", value(flight_id=-1), Reason.OUT_OF_RANGE),
    ("not in the list", value(origin="SFO"), Reason.NOT_ALLOWED),
]


def judged(spark: SparkSession, catalog: Catalog, values: list[bytes | None]) -> list[Row]:
    topic, pipeline = catalog.topics["flights"], catalog.pipelines["departures"]
    rows = [(n, None if v is None else bytearray(v), BROKER) for n, v in enumerate(values)]
    records = spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp")
    validated = validate(records, topic.value, pipeline.time).withColumn("decodes", decodes())
    return sorted(validated.select("n", OUTCOME, REASON, DETAIL, "decodes").collect())


def test_every_kind_of_bad_record_gets_its_reason(spark: SparkSession, catalog: Catalog) -> None:
    rows = judged(spark, catalog, [value for _, value, _ in CORPUS])
    found = {name: row[REASON] or row[OUTCOME] for (name, _, _), row in zip(CORPUS, rows, strict=True)}
    assert found == {name: str(expected) for name, _, expected in CORPUS}


@pytest.mark.parametrize(
    ("arrival", "expected"),
    [
        ("2013-01-02T00:10:00Z", "good"),
        ("2013-01-02T00:10:00.000001Z", Reason.FUTURE),
        ("2100-01-01T00:00:00Z", Reason.FUTURE),
        ("1999-01-01T00:00:00Z", "good"),
    ],
)
def test_nothing_arrives_later_than_the_broker_got_it_by_more_than_the_clock_skew(
    spark: SparkSession, catalog: Catalog, arrival: str, expected: str
) -> None:
    (row,) = judged(spark, catalog, [value(scheduled_at=arrival, observed_at=arrival)])
    assert (row[REASON] or row[OUTCOME]) == expected


def test_a_producers_timestamp_beyond_all_years_is_compared_and_overflows_nothing(
    spark: SparkSession, catalog: Catalog
) -> None:
    topic, pipeline = catalog.topics["flights"], catalog.pipelines["departures"]
    records = spark.createDataFrame([(bytearray(value()),)], "_value binary")
    for micros, expected in ((-(2**63), Reason.FUTURE), (2**63 - 1, None)):
        stamped = records.selectExpr("*", f"timestamp_micros({micros}) as _timestamp")
        (row,) = validate(stamped, topic.value, pipeline.time).select(REASON).collect()
        assert row[REASON] == expected


def test_a_broker_that_stamps_itself_is_believed_without_a_skew(spark: SparkSession, catalog: Catalog) -> None:
    topic, pipeline = catalog.topics["flights"], catalog.pipelines["departures"]
    by_broker = topic.value.model_copy(update={"arrival_time": "broker"})
    no_skew = pipeline.time.model_copy(update={"clock_skew": timedelta()})
    rows = [(bytearray(value(scheduled_at="2013-01-02T00:00:00Z", observed_at="2100-01-01T00:00:00Z")), BROKER)]
    records = spark.createDataFrame(rows, "_value binary, _timestamp timestamp")
    assert validate(records, by_broker, no_skew).select(OUTCOME).collect() == [Row("good")]


def test_a_reason_names_the_field_and_quotes_nothing_of_the_record(spark: SparkSession, catalog: Catalog) -> None:
    said = {
        "flight_id is text, and no whole number": value(flight_id="one"),
        "flight_id is a number beyond 64 bits": value(flight_id=10**30),
        "cancelled is a whole number, and no boolean": value(cancelled=1),
        "distance_miles is an object, and no whole number": value(distance_miles={"secret": 1}),
        "scheduled_at is a time without a zone": value(scheduled_at="2013-01-01 10:00"),
        "scheduled_at is a whole number, and no time in ISO 8601 with its zone": value(scheduled_at=1357034400),
        "departed_at is text, and no time in ISO 8601 with its zone": value(departed_at="secret"),
        "departed_at is not in the years 1900 to 2199": value(departed_at="2300-01-01T00:00:00Z"),
        "carrier is absent or null": value(carrier=None),
        "carrier is written in another case": value(Carrier="secret"),
        "flight is there twice": value()[:-1] + b', "flight": 2}',
        "distance_miles is no finite number": value(distance_miles=float("inf")),
        "dep_delay_min is more than 2880": value(dep_delay_min=2881),
        "origin is not in its list": value(origin="secret"),
        "scheduled_at is ahead of the arrival time by more than future_skew": value(
            scheduled_at="2013-06-01T00:00:00Z"
        ),
    }
    rows = judged(spark, catalog, [*said.values(), value(), None, value() + b"{}", value(extra=float("nan"))])
    assert [row[DETAIL] for row in rows] == [*said, None, None, None, None]


def test_only_what_reads_as_the_declared_object_decodes(spark: SparkSession, catalog: Catalog) -> None:
    rows = judged(spark, catalog, [value for _, value, _ in CORPUS])
    for (name, _, expected), row in zip(CORPUS, rows, strict=True):
        assert row["decodes"] is (expected not in FAULTS), name


def test_the_raw_table_has_the_times_of_what_decodes(spark: SparkSession, catalog: Catalog) -> None:
    topic, pipeline = catalog.topics["flights"], catalog.pipelines["departures"]
    rows = [("id", 0, n, bytearray(v) if v is not None else None) for n, (_, v, _) in enumerate(CORPUS)]
    kafka = spark.createDataFrame(rows, "_topic_id string, _partition int, _offset long, _value binary").selectExpr(
        "*", "timestamp'2013-01-01' as _timestamp", "binary(null) as _key", "null as _headers"
    )
    stored = raw_rows(kafka, topic)
    known = {row["offset"]: (row["decodes"], row["event_time"]) for row in stored.collect()}
    for row in validate(raw_records(stored), topic.value, pipeline.time).select("_offset", REASON).collect():
        decodes_now, event = known[row["_offset"]]
        assert decodes_now is (row[REASON] not in FAULTS)
        assert event is None or decodes_now
