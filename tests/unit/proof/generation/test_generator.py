"""Records that are made by a topic's schema decode, keep every rule of their fields, and differ from each other."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from sluice.proof.generation.generator import RecordGenerator
from sluice.proof.generation.made import RecordFate
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.model import TopicSpec
from sluice.topics.declared_time import read_time
from sluice.topics.declared_value import read_fields

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=90)
FLIGHTS = load_catalog(settings().home / "include").topics["flights"]


def topic(fields: dict[str, Any], **more: object) -> TopicSpec:
    value = {"format": "json", "event_time": "at", "arrival_time": "broker", "fields": fields, **more}
    return TopicSpec.model_validate(
        {"name": "things", "partitions": 2, "value": value, "raw": {"table": "things_raw", "driver": "things"}}
    )


def test_the_records_of_a_shipped_topic_keep_its_rules() -> None:
    made = RecordGenerator(FLIGHTS, BEGIN, STEP)
    values = [made.value(number) for number in range(300)]
    assert len(set(values)) == 300
    for number, value in enumerate(values):
        fields = read_fields(value, FLIGHTS.value)
        assert fields is not None
        assert read_time(fields["scheduled_at"]) == BEGIN + number * STEP == made.happens(number)
        assert fields["origin"] in {"EWR", "JFK", "LGA"}
        assert fields["flight_id"] == number
        assert {name for name, field in FLIGHTS.value.fields.items() if field.required} <= fields.keys()
        assert "heartbeat" not in fields


def test_a_heartbeat_moves_both_times_and_says_nothing_else() -> None:
    beat = RecordGenerator(FLIGHTS, BEGIN, STEP).heartbeat(BEGIN)
    assert beat is not None
    at = "2026-01-01T00:00:00Z"
    assert json.loads(beat) == {"heartbeat": True, "scheduled_at": at, "observed_at": at}


def test_bounds_paths_and_ids_are_kept() -> None:
    fields = {
        "at": {"type": "timestamp", "required": True, "epoch": "milliseconds", "path": "$.meta.at"},
        "id": {"type": "string", "required": True},
        "share": {"type": "double", "required": True, "minimum": 0, "maximum": 1},
        "level": {"type": "integer", "required": True, "minimum": -3, "maximum": 3},
        "is_new": {"type": "boolean", "required": True},
        "more": {"type": "array", "items": {"type": "string"}},
    }
    made = RecordGenerator(topic(fields, event_id=["id"]), BEGIN, STEP)
    records = [json.loads(made.value(number)) for number in range(250)]
    assert records[0]["meta"]["at"] == BEGIN.timestamp() * 1000
    assert len({record["id"] for record in records}) == 250
    assert all(0 <= record["share"] <= 1 and -3 <= record["level"] <= 3 for record in records)
    assert {"more" in record for record in records} == {True, False}
    assert made.heartbeat(BEGIN) is None


def test_some_records_are_late_some_are_broken_and_the_others_are_good() -> None:
    lateness = timedelta(hours=3)
    made = RecordGenerator(FLIGHTS, BEGIN, STEP, lateness=lateness, breaks=True)
    records = [made.record(number) for number in range(240)]
    assert len({record.value for record in records}) == 240
    counts = Counter(record.fate for record in records)
    assert counts == {RecordFate.GOOD: 228, RecordFate.LATE: 6, RecordFate.QUARANTINED: 6}
    for record in records:
        if record.fate is RecordFate.QUARANTINED:
            continue
        fields = read_fields(record.value, FLIGHTS.value)
        assert fields is not None
        waited = read_time(fields["observed_at"]) - read_time(fields["scheduled_at"])
        assert (waited > lateness) == (record.fate is RecordFate.LATE)
    broken = [record for record in records if record.fate is RecordFate.QUARANTINED]
    assert [record.reason for record in broken] == [
        *("malformed", "trailing_bytes", "missing_field", "wrong_type", "duplicate_key", "not_finite"),
    ]
    assert [record.value[-2:] == b"{}" for record in broken] == [False, True, *[False] * 4]


def test_where_nothing_can_be_late_or_broken_all_is_good() -> None:
    at = {"at": {"type": "timestamp", "required": True}}
    same = RecordGenerator(topic(at, arrival_time="at"), BEGIN, STEP, lateness=STEP, breaks=False)
    assert {record.fate for record in map(same.record, range(80))} == {RecordFate.GOOD}


def test_where_the_broker_says_when_records_come_they_happen_now() -> None:
    at = {"at": {"type": "timestamp", "required": True}}
    times = (BEGIN + number * timedelta(hours=1) for number in range(100))
    made = RecordGenerator(topic(at), BEGIN, STEP, now=lambda: next(times))
    assert "2026-01-01T00:00:00" in made.value(5).decode()
    assert made.value(5) != made.value(5)


def test_a_field_that_identifies_events_elsewhere_refers_to_them() -> None:
    fields = {"at": {"type": "timestamp", "required": True}, "flight_id": {"type": "long", "required": True}}
    own = topic(fields, arrival_time="at")
    plain = RecordGenerator(own, BEGIN, STEP)
    referring = RecordGenerator(own, BEGIN, STEP, identities=frozenset({"flight_id"}))
    assert [json.loads(made.value(250))["flight_id"] for made in (plain, referring)] == [50, 250]
