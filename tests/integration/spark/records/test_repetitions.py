"""What an output of this project has sent again after a crash counts once where it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from sluice.settings import settings
from sluice.spark.records.pipeline import SourceCode, good_records, sources_of
from sluice.specs.load import load_catalog
from sluice.topics.deduplication import GENERATION, ID, POSITION, Deduplication, DeliveryHeaders

AT = datetime(2013, 1, 1, 10, tzinfo=UTC)
FLIGHT = {"carrier": "UA", "flight": 1, "origin": "EWR", "dest": "LAX", "cancelled": False}
TIMES = {"scheduled_at": "2013-01-01T10:00:00Z", "observed_at": "2013-01-01T10:00:00Z"}
SCHEMA = (
    "_topic_id string, _partition int, _offset bigint, _timestamp timestamp, _key binary, _value binary, "
    "_headers array<struct<key: string, value: binary>>"
)
Delivery = tuple[str, int, int]
"""Id, generation and position."""

SENT: list[tuple[int, int, Delivery | None]] = [
    (0, 1, ("20-a-1", 1, 20)),
    (0, 2, ("20-b-1", 1, 20)),
    (0, 1, ("20-a-1", 2, 20)),  # the next driver sends the batch again
    (0, 2, ("20-b-1", 2, 20)),
    (0, 3, ("20-c-1", 2, 20)),
    (1, 4, ("20-d-1", 2, 20)),
    (0, 1, ("40-a-1", 2, 40)),  # a newer value of the same key is news
    (1, 5, None),
    (1, 5, None),  # by another producer: nothing says that it is the same
]
"""Partition, flight and delivery of each record, in order."""


def row(offset: int, partition: int, flight: int, delivery: Delivery | None) -> tuple[object, ...]:
    names = (ID, GENERATION, POSITION)
    headers = None if delivery is None else [(n, str(v).encode()) for n, v in zip(names, delivery, strict=True)]
    value = json.dumps({"flight_id": flight, **FLIGHT, **TIMES}).encode()
    return ("t", partition, offset, AT, None, bytearray(value), headers)


@pytest.fixture
def records(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([row(number, *each) for number, each in enumerate(SENT)], SCHEMA)


def source(*delivered: str) -> SourceCode:
    catalog = load_catalog(settings().home / "include")
    return sources_of(catalog.pipelines["departures"], catalog.topics, {}, delivered)["flights"]


def offsets(records: DataFrame) -> list[int]:
    return sorted(each["_offset"] for each in records.select("_offset").collect())


def test_a_repetition_counts_once_and_what_says_nothing_of_itself_each_time(records: DataFrame) -> None:
    seen, news = Deduplication(), list[int]()
    for number, (partition, _, delivery) in enumerate(SENT):
        if delivery is None or seen.is_new(partition, DeliveryHeaders(*delivery)):
            news.append(number)
    assert offsets(good_records(records, source("flights"))) == news == [0, 1, 4, 5, 6, 7, 8]


def test_a_topic_that_no_output_fills_is_taken_as_it_is(records: DataFrame) -> None:
    assert offsets(good_records(records, source())) == list(range(len(SENT)))


def test_the_catalog_names_the_topics_that_outputs_fill() -> None:
    catalog = load_catalog(settings().home / "include")
    filled: Mapping[str, object] = catalog.kafka_topics()
    assert catalog.delivered_topics == frozenset(filled) - frozenset(catalog.topics)
