"""Whatever bytes come: nothing raises, nothing is dropped, and each record has the outcome that an oracle gives it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from sluice.quality.reasons import Outcome, Reason
from sluice.spark.records.validation import OUTCOME, REASON, validate
from sluice.specs.model.model import TopicValue
from sluice.specs.model.sources import TimeRules
from tests.admission_oracle import Declared, Times, judge
from tests.hostile_records import VALUES
from tests.near_json import NearJson

FIELDS = {
    "id": {"type": "long", "required": True, "minimum": 0},
    "place": {"type": "string", "required": True, "one_of": ["EWR", "JFK"]},
    "note": {"type": "string"},
    "speed": {"type": "double", "minimum": -10, "maximum": 10},
    "up": {"type": "boolean"},
    "at": {"type": "timestamp", "required": True},
    "seen": {"type": "timestamp", "required": True},
    "left": {"type": "timestamp"},
    "tick": {"type": "timestamp", "epoch": "milliseconds"},
    "wall": {"type": "timestamp", "zone": "+01:00"},
    "beat": {"type": "boolean"},
}
VALUE = TopicValue.model_validate({"fields": FIELDS, "event_time": "at", "arrival_time": "seen", "heartbeat": "beat"})
DECLARED = Declared(
    types={name: str(said["type"]) for name, said in FIELDS.items()},
    required=("id", "place"),
    event_time="at",
    arrival_time="seen",
    heartbeat="beat",
    minimum={"id": 0, "speed": -10},
    maximum={"speed": 10},
    one_of={"place": ("EWR", "JFK")},
    per_second={"tick": 1000},
    zone={"wall": "+01:00"},
)
RULES = TimeRules(allowed_lateness=timedelta(hours=3), future_skew=timedelta(hours=1))
BROKER = datetime(2013, 1, 1, 9, 55, tzinfo=UTC)
"""As far behind what is good as a producer's clock may be ahead."""
TIMES = Times(RULES.allowed_lateness, RULES.future_skew, RULES.clock_skew, BROKER)
GOOD = {
    "id": 7,
    "place": "JFK",
    "note": "größer 🙂",
    "speed": 1.5,
    "up": True,
    "at": "2013-01-01T10:00:00Z",
    "seen": "2013-01-01T10:05:00Z",
    "left": "2013-01-01 11:00:00.25+01:00",
    "tick": 1357034400123,
    "wall": "2013-01-01T11:00",
    "beat": False,
}


def judged(spark: SparkSession, values: list[bytes | None]) -> list[str]:
    """Return each record's reason, or its outcome; a record that is not there, or there twice, fails."""
    rows = [(n, None if value is None else bytearray(value), BROKER) for n, value in enumerate(values)]
    found = validate(spark.createDataFrame(rows, "n int, _value binary, _timestamp timestamp"), VALUE, RULES)
    outcomes = sorted(found.select("n", OUTCOME, REASON).collect())
    assert [row["n"] for row in outcomes] == list(range(len(values)))
    assert all((row[OUTCOME] == "quarantined") is (row[REASON] is not None) for row in outcomes)
    return [row[REASON] or row[OUTCOME] for row in outcomes]


def agree(spark: SparkSession, seed: int, count: int) -> list[str]:
    """Judge random records by Spark and by the oracle, and return what both say."""
    random = NearJson(seed, GOOD)
    values = [random.value() for _ in range(count)]
    expected = [judge(value, DECLARED, TIMES) for value in values]
    found = judged(spark, values)
    assert [(v, f, e) for v, f, e in zip(values, found, expected, strict=True) if e != f] == []
    return found


def test_a_few_thousand_records_are_judged_as_the_oracle_does(spark: SparkSession) -> None:
    found = agree(spark, seed=1, count=5_000)
    framed = {Reason.BAD_FRAMING, Reason.UNKNOWN_SCHEMA}  # these are bare, and nothing further is expected of them
    everything = {*Reason, *Outcome} - {Outcome.QUARANTINED, Reason.UNEXPECTED} - framed
    assert set(found) == everything


@pytest.mark.verify
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, 51))
def test_a_million_records_are_judged_as_the_oracle_does(spark: SparkSession, seed: int) -> None:
    agree(spark, seed, count=20_000)


def test_what_stops_readers_in_python_is_judged_as_the_oracle_does(spark: SparkSession) -> None:
    expected = [judge(value, DECLARED, TIMES) for value in VALUES.values()]
    assert dict(zip(VALUES, judged(spark, [*VALUES.values()]), strict=True)) == dict(zip(VALUES, expected, strict=True))


def test_a_number_has_at_most_a_thousand_digits(spark: SparkSession) -> None:
    numbers = [
        b"7" * 1000,
        b"7" * 1001,
        b"-" + b"7" * 1000,
        b"0." + b"7" * 999,
        b"0." + b"7" * 1000,
        b"1e" + b"1" * 1000,
    ]
    values = [json.dumps({**GOOD, "x": 0})[:-2].encode() + number + b"}" for number in numbers]
    expected = ["good", "malformed", "good", "good", "malformed", "malformed"]
    assert judged(spark, [*values]) == expected
    assert [judge(value, DECLARED, TIMES) for value in values] == expected


def test_what_is_deep_or_long_is_judged_and_no_more(spark: SparkSession) -> None:
    good = json.dumps(GOOD)
    deep = [f'{good[:-1]},"x":{"[" * depth}{"]" * depth}}}'.encode() for depth in (999, 1000, 100_000)]
    wide = json.dumps({**GOOD, **{f"key_{n}": n for n in range(100_000)}})
    names = [f'{good[:-1]},"{"k" * length}":0}}'.encode() for length in (50_000, 50_001)]
    assert judged(spark, names) == ["good", "malformed"]
    assert judged(spark, [*deep, wide.encode(), f'{wide[:-1]},"key_99999":0}}'.encode()]) == [
        "good",
        "malformed",
        "malformed",
        "good",
        "duplicate_key",
    ]
