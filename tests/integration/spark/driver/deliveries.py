"""Pipelines with every kind of output, and reading what they delivered as a consumer does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, TopicPartition

from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.deduplication import deduplicated
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from tests.integration.spark.conftest import DriverPlace

CAP = 600
"""Records per batch: two days make several batches, and no partition drifts so far that records are dropped."""

DELAYS_TRANSFORM = '''\
"""Flights that have departed, with their delay."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def delays(flights: DataFrame) -> DataFrame:
    """Return one row per departure."""
    return flights.where("departed_at is not null").select(
        "flight_id", "carrier", "origin", "scheduled_at", F.col("dep_delay_min").alias("delay")
    )
'''
DELAYS = """\
name: delays
source: flights
transform: delays:delays
time:
  allowed_lateness: 3 hours
  future_skew: 60 minutes
driver: flights
trigger: 1 second
max_records_per_batch: {cap}
spark: {{spark.sluice.collect.records: "0"}}
outputs:
"""
DEPARTURES_OUTPUTS = """\
outputs:
  - kind: intervals
    table: departures
    time_column: hour
    window: 1 hour
    interval: hour
    keys: [origin, carrier]
  - kind: latest
    table: departures_latest
    keys: [hour, origin, carrier]
  - kind: topic
    topic: {topic}
    keys: [hour, origin, carrier]
    create: {{partitions: 2}}
"""


def only_delays(place: DriverPlace, outputs: str) -> DriverPlace:
    """Return the place with one pipeline, which keeps no state."""
    own = place.with_own_project()
    write_delays_alone(own.home, DELAYS.format(cap=CAP) + outputs)
    return _provisioned(own)


def write_delays_alone(home: Path, pipeline: str, transform: str = DELAYS_TRANSFORM) -> None:
    """Put the pipeline `delays` into a copy of the project, in the place of `departures`."""
    for file in ("pipelines/departures.yaml", "expectations/departures.yaml"):
        (home / "include" / file).unlink()
    (home / "spark_jobs" / "transforms" / "delays.py").write_text(transform)
    (home / "include" / "pipelines" / "delays.yaml").write_text(pipeline)


def departures_everywhere(place: DriverPlace, topic: str) -> DriverPlace:
    """Return the place with the pipeline `departures` delivering its open values as well, in several batches."""
    own = place.with_own_project()
    spec = own.home / "include" / "pipelines" / "departures.yaml"
    before, _, rest = spec.read_text().partition("output")
    after = rest[rest.index("driver:") :]
    spec.write_text(before + DEPARTURES_OUTPUTS.format(topic=topic) + after + f"max_records_per_batch: {CAP}\n")
    return _provisioned(own)


def _provisioned(place: DriverPlace) -> DriverPlace:
    project = place.project()
    with KafkaPythonAdministration(project.kafka.bootstrap(), {}) as administration:
        topics = {name: shape for name, shape in project.catalog.kafka_topics().items() if name != "flights"}
        apply(Declared(topics), administration)
    return place


@dataclass(frozen=True)
class Consumed:
    """What is in a topic.

    Attributes:
        records: values, in the order of their offsets within a partition.
        once: those that are left when repetitions are dropped.
    """

    records: list[Mapping[str, Any]]
    once: list[Mapping[str, Any]]

    @property
    def newest(self) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        """The last value per hour, airport and carrier."""
        return {(value["hour"], value["origin"], value["carrier"]): value for value in self.once}


def consumed(bootstrap: str, topic: str) -> Consumed:
    """Read a topic from its beginning to its end."""
    records = list(each_record(bootstrap, topic))
    return Consumed(
        [json.loads(record.value) for record in records], [json.loads(r.value) for r in deduplicated(records)]
    )


def consumed_raw(bootstrap: str, topic: str) -> list[Any]:
    """Read a topic from its beginning to its end, as kafka-python hands its records out."""
    return list(each_record(bootstrap, topic))


def records_of(bootstrap: str, topic: str) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Yield partition, offset and value of every record in a topic whose values are objects in JSON."""
    for record in each_record(bootstrap, topic):
        yield record.partition, record.offset, json.loads(record.value)


def each_record(bootstrap: str, topic: str, *, check_crcs: bool = True) -> Iterator[Any]:
    """Yield what `consumed_raw` returns, without holding all of it.

    Checksums are computed in Python, which takes a tenth of a millisecond for a kilobyte.
    """
    consumer = KafkaConsumer(bootstrap_servers=[bootstrap], enable_auto_commit=False, check_crcs=check_crcs)
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for batch in consumer.poll(timeout_ms=500).values():
                yield from batch
    finally:
        consumer.close()


def record_count(bootstrap: str, topic: str) -> int:
    """Return how many records a topic holds of which none was deleted, without reading them."""
    consumer = KafkaConsumer(bootstrap_servers=[bootstrap], enable_auto_commit=False)
    try:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        return sum(consumer.end_offsets(partitions).values())
    finally:
        consumer.close()


def files_of(table: Path) -> list[Path]:
    return sorted(table.rglob("*.parquet"))
