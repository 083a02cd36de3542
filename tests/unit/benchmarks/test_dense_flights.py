"""The records that benchmarks start from: copies of flights, with broken ones among them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import pytest

from benchmarks.dense_flights import broken, lines, value_of
from sluice.feeds.record import FeedRecord
from sluice.settings import settings
from sluice.specs.load import load_catalog
from sluice.specs.model.model import TopicSpec

CLOSING = datetime(2014, 1, 1, tzinfo=UTC)
AT = datetime(2013, 1, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def topic() -> TopicSpec:
    return load_catalog(settings().home / "include").topics["flights"]


def flight(number: int, minute: int) -> FeedRecord:
    when = AT + timedelta(minutes=minute)
    carrier = ("UA", "AA", "DL", "B6")[number % 4]
    value = {"flight_id": number, "carrier": carrier, "flight": 1, "origin": "EWR", "dest": "IAH"}
    return FeedRecord(number, carrier.encode(), value, when, when, date(2013, 1, 1))


def test_offsets_have_no_gaps_and_the_heartbeat_is_last(topic: TopicSpec) -> None:
    found = list(lines((flight(number, number % 60) for number in range(500)), topic, CLOSING))
    for partition in {line["partition"] for line in found}:
        indexes = [line["index"] for line in found if line["partition"] == partition]
        assert indexes == list(range(len(indexes)))
    assert json.loads(value_of(found[-1], 1_000))["heartbeat"] is True
    assert len(found) == 500 + 3 + 1  # a broken record beside every 200th flight


def test_copies_differ_in_their_id_only(topic: TopicSpec) -> None:
    first = next(lines([flight(7, 0)], topic, CLOSING))
    original, copy = json.loads(value_of(first, 0)), json.loads(value_of(first, 336_776))
    assert original == dict(flight(7, 0).value)
    assert copy == original | {"flight_id": 336_783}


def test_broken_records_come_in_six_kinds() -> None:
    found = [broken(flight(7, 0), kind) for kind in range(6)]
    assert len(set(found)) == 6
    assert found == [broken(flight(7, 0), kind) for kind in range(6, 12)]
    with pytest.raises(json.JSONDecodeError):
        json.loads(found[0])
